//! Restore: puts the files into the state of a checkpoint.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{
    Change, ChangeStatus, Checkpoint, DialogId, Millis, OperationKind, PathState, ProjectPath,
};
use retake_store::{ChangeFilter, StoreError};

use crate::error::OperationError;
use crate::plan::go_to::{GoToOptions, go_to};
use crate::plan::{FollowUp, Plan, PlanReason, PlannedFile};
use crate::project::Project;

/// Turns by dialog.
type UndoneTurns = BTreeMap<DialogId, BTreeSet<u64>>;

impl Project {
    /// Plans to put the files into the state of a checkpoint (RSTR-1, docs/design/undo.md).
    pub fn plan_restore(
        &self,
        checkpoint: &Checkpoint,
        options: &GoToOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        if let Some(dialog) = &options.dialog {
            self.known_dialog(dialog)?;
        }
        self.make_plan(at, |project| {
            let unknown = project.unknown_paths(&options.paths, checkpoint.seq)?;
            if !unknown.is_empty() && unknown.len() == options.paths.len() {
                return Err(OperationError::unknown_paths(&unknown));
            }
            let mut plan = Plan::new(OperationKind::Restore, title(project, checkpoint, options)?);
            let dialog = options.dialog.as_ref().or(checkpoint.dialog.as_ref());
            plan.dialog = dialog.cloned();
            go_to(project.store(), &mut plan, checkpoint.seq, dialog, options)?;
            project.find_undone_turns(&mut plan)?;
            if plan.writes().next().is_some() {
                let dialog = dialog.map(|dialog| dialog.0.clone());
                plan.follow_up = FollowUp::Restored { to: checkpoint.id, dialog };
            }
            for path in unknown {
                let mut file = PlannedFile::left(path, PathState::Absent, PlanReason::NotOnRecord);
                file.part = u64::MAX;
                plan.files.push(file);
            }
            Ok(plan)
        })
    }

    /// Finds the turns of which the plan takes out of the files what is in effect, all or a part of it.
    fn find_undone_turns(&self, plan: &mut Plan) -> Result<(), StoreError> {
        let taken: BTreeSet<_> = plan.writes().flat_map(|file| file.changes.clone()).collect();
        let mut turns = UndoneTurns::new();
        for id in &taken {
            let change = self.store().change(*id)?.filter(Change::is_effective);
            if let Some((dialog, turn)) = change.and_then(|change| change.dialog.zip(change.turn)) {
                turns.entry(dialog).or_default().insert(turn);
            }
        }
        // What is in no file by then goes, too, without a file that is written.
        let marks = plan.marks.iter().filter(|mark| mark.new == ChangeStatus::Reverted);
        let taken: BTreeSet<_> = taken.into_iter().chain(marks.map(|mark| mark.change)).collect();
        for (dialog, numbers) in turns {
            for turn in numbers {
                let filter = ChangeFilter {
                    dialogs: vec![dialog.clone()],
                    turn: Some(turn),
                    ..ChangeFilter::default()
                };
                let changes = self.store().changes(&filter)?;
                let stays = |change: &Change| {
                    // Others can be those of several dialogs.
                    let is_its = change.dialog.as_ref() == Some(&dialog);
                    is_its && change.is_effective() && !taken.contains(&change.id)
                };
                let part = if changes.iter().any(stays) {
                    &mut plan.partly_undone_turns
                } else {
                    &mut plan.undone_turns
                };
                part.entry(dialog.clone()).or_default().insert(turn);
            }
        }
        Ok(())
    }

    /// Returns the paths at and beneath which nothing is tracked now, and nothing was at `seq`:
    /// a file of that time is still tracked, or has changed since.
    fn unknown_paths(
        &self,
        paths: &[ProjectPath],
        seq: u64,
    ) -> Result<Vec<ProjectPath>, StoreError> {
        let store = self.store();
        let mut unknown = Vec::new();
        for path in paths {
            let since = ChangeFilter {
                path: Some(path.clone()),
                after: Some(seq),
                limit: Some(1),
                ..ChangeFilter::default()
            };
            let is_known = store.manifest_entry(path)?.is_some()
                || !store.tracked_beneath(path)?.is_empty()
                || !store.changes(&since)?.is_empty();
            if !is_known {
                unknown.push(path.clone());
            }
        }
        Ok(unknown)
    }
}

fn title(
    project: &Project,
    checkpoint: &Checkpoint,
    options: &GoToOptions,
) -> Result<String, StoreError> {
    let of = match &options.dialog {
        Some(dialog) => format!(" of what {} changed", project.dialog_name(dialog)?),
        None => String::new(),
    };
    Ok(format!("restore{of} to '{}'", checkpoint.message))
}
