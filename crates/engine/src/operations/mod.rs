//! The operations that change files or decide on changes: each is a selection for one
//! of the two primitives in [`crate::plan`], or a decision that writes no file.

pub(crate) mod begin;
pub(crate) mod edit;
pub(crate) mod restore;
pub(crate) mod review;
pub(crate) mod rollback;
pub(crate) mod session;
pub(crate) mod stage;
pub(crate) mod step_list;
pub(crate) mod steps;
pub(crate) mod undo;
mod with_conversation;

use std::collections::HashSet;

use retake_model::{Change, Millis, ProjectPath};
use retake_store::StoreError;

use crate::apply::links::paths_needing_own_file;
use crate::error::OperationError;
use crate::plan::draft::Draft;
use crate::plan::selection::SelectedChanges;
use crate::plan::{FileAction, Plan, PlanReason, PlannedFile};
use crate::project::Project;

impl Project {
    /// Makes a plan from the files as they are now; in a [rehearsal](crate::Rehearsal) from the
    /// rehearsed state, without checks on disk.
    pub(crate) fn make_plan(
        &self,
        at: Millis,
        make: impl FnOnce(&Self) -> Result<Plan, OperationError>,
    ) -> Result<Plan, OperationError> {
        let lock = if self.store().is_in_group() { None } else { Some(self.lock_and_refresh(at)?) };
        self.plan_from_record(at, lock.is_some(), make)
    }

    /// Makes a plan from the record; with `on_disk` it is also checked against the files.
    pub(crate) fn plan_from_record(
        &self,
        at: Millis,
        on_disk: bool,
        make: impl FnOnce(&Self) -> Result<Plan, OperationError>,
    ) -> Result<Plan, OperationError> {
        let _snapshot = self.store().snapshot()?;
        let mut plan = make(self)?;
        plan.made_at = at;
        if on_disk {
            self.leave_unwritable(&mut plan, &|_| false);
            self.add_warnings(&mut plan, &|_| false);
        }
        self.remember_approved(&mut plan)?;
        plan.not_covered = self.store().gaps()?.into_iter().map(|(gap, _)| gap).collect();
        Ok(plan)
    }

    /// Remembers which changes are approved, so that a later approval is detected on apply.
    pub(crate) fn remember_approved(&self, plan: &mut Plan) -> Result<(), StoreError> {
        for mark in &plan.marks {
            let change = self.store().change(mark.change)?;
            let approved = change.filter(|change| change.approved.is_some());
            plan.approved.extend(approved.map(|change| change.id));
        }
        Ok(())
    }

    /// Adds warnings for the person. Paths that `is_settled` were rehearsed and are not checked on
    /// disk.
    pub(crate) fn add_warnings(&self, plan: &mut Plan, is_settled: &dyn Fn(&ProjectPath) -> bool) {
        let is_mode =
            |file: &&PlannedFile| file.action == FileAction::Mode && !is_settled(&file.path);
        let modes = plan.writes().filter(is_mode);
        let modes = modes.map(|file| (&file.path, &file.then));
        let own: HashSet<_> =
            paths_needing_own_file(self.workspace(), modes).into_iter().cloned().collect();
        for file in plan.files.iter_mut().filter(|file| own.contains(&file.path)) {
            file.warn("it becomes a file of its own; its other hard links keep their mode");
        }
        let is_open =
            |file: &&mut PlannedFile| file.action == FileAction::Write && !is_settled(&file.path);
        for file in plan.files.iter_mut().filter(is_open) {
            match self.workspace().link_count(&file.path).unwrap_or(1) {
                0 | 1 => {}
                2 => file.warn("its other hard link keeps the old content"),
                links => {
                    file.warn(&format!("its {} other hard links keep the old content", links - 1));
                }
            }
            let attributes = self.workspace().extended_attributes(&file.path);
            if !attributes.is_empty() {
                let lost = attributes.join(", ");
                file.warn(&format!("its extended attributes are lost: {lost}"));
            }
        }
    }

    /// Adds the selected changes that are not taken back to the plan, with the reason.
    fn list_left_changes(
        &self,
        plan: &mut Plan,
        selected: &SelectedChanges,
    ) -> Result<(), StoreError> {
        let draft = Draft::new(self.store());
        let mut leave = |change: &Change, reason| {
            let now = draft.now(&change.path)?;
            let mut file = PlannedFile::left(change.path.clone(), now, reason);
            file.part = u64::MAX;
            file.changes = vec![change.id];
            plan.files.push(file);
            Ok::<_, StoreError>(())
        };
        for change in &selected.shared {
            leave(change, PlanReason::Shared)?;
        }
        for change in &selected.taken_back {
            leave(change, PlanReason::Decided(change.status))?;
        }
        Ok(())
    }
}
