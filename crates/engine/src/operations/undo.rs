//! Undo and redo: steps back and forth.
//!
//! An undo is an operation too, but no step (see [`super::steps`]): undoing again goes further
//! back, and redo takes the newest undo back.

use std::collections::{HashMap, HashSet};

use retake_model::{
    Actor, Change, ChangeStatus, Confidence, Gap, Millis, Operation, OperationId, OperationKind,
};
use retake_store::{CallWithoutChanges, ChangeFilter, StatusMark, StoreError};

use crate::apply::{AppliedPlan, OperationControl};
use crate::error::OperationError;
use crate::operations::steps::{REDO_TITLE_PREFIX, UndoStep};
use crate::plan::net_change::PathBond;
use crate::plan::take_back::{TakeBackOptions, TakeBackRequest, take_back};
use crate::plan::{Plan, PlanReason, PlannedFile};
use crate::project::Project;
use crate::tool::{ToolKind, kind_of};

/// Explains why there is nothing to undo although agents were at work.
#[derive(Clone, Debug, Default)]
pub struct NothingToUndo {
    /// The newest calls that could have changed files and to which no change is ascribed.
    pub calls: Vec<CallWithoutChanges>,
    /// Gaps since they began: changes of these paths are unknown.
    pub gaps: Vec<Gap>,
    /// The turns that git took back; they count again if git brings them back.
    pub taken_back_by_git: Vec<String>,
    /// The newest turns that an undo left, and that are passed over since.
    pub left: Vec<String>,
    /// Unreviewed changes that agents of several dialogs can have made, so that they are of no turn.
    pub shared: Vec<Change>,
}

impl NothingToUndo {
    /// Returns whether there are no gaps, turns that an undo left, or shared changes.
    pub fn is_whole(&self) -> bool {
        self.gaps.is_empty() && self.left.is_empty() && self.shared.is_empty()
    }
}

/// The part number of marks that need no file of the plan.
const NO_PART: u64 = u64::MAX;
/// Maximum number of operations that are searched for one to redo.
const MAX_OPERATIONS_SEARCHED: usize = 1000;
/// Maximum number of left turns listed when there is nothing to undo.
const MAX_LEFT_TURNS: usize = 10;
/// Maximum number of calls listed when there is nothing to undo.
const MAX_IDLE_CALLS: usize = 10;

impl Project {
    /// Plans to take back the newest step.
    pub fn plan_undo(
        &self,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<(Plan, UndoStep), OperationError> {
        let mut undone = None;
        let plan = self.make_plan(at, |project| {
            let next = project.next_step(options)?;
            let (step, mut plan) = next.step.ok_or(OperationError::NothingTo("undo"))?;
            plan.passed = next.by_git.iter().map(UndoStep::describe).collect();
            undone = Some(step);
            Ok(plan)
        })?;
        Ok((plan, undone.ok_or(OperationError::NothingTo("undo"))?))
    }

    /// Explains why [`Project::plan_undo`] finds nothing.
    pub fn nothing_to_undo(&self) -> Result<NothingToUndo, OperationError> {
        let could_change = |call: &CallWithoutChanges| kind_of(&call.tool) != ToolKind::Read;
        let calls = self.store().calls_without_changes(MAX_IDLE_CALLS)?;
        let calls: Vec<_> = calls.into_iter().filter(could_change).collect();
        let began = calls.first().map_or(Millis::MAX, |first| first.begin_at);
        let is_since = |(_, since): &(Gap, Millis)| *since >= began;
        let gaps = self.store().gaps()?.into_iter().filter(is_since).map(|(gap, _)| gap).collect();
        let by_git = self.next_step(TakeBackOptions::default())?.by_git;
        let taken_back_by_git = by_git.iter().map(UndoStep::describe).collect();
        let name = |(dialog, turn)| self.describe_turn(&dialog, turn);
        let left = self.left_turns(MAX_LEFT_TURNS)?.into_iter().map(name);
        let left = left.collect::<Result<_, _>>()?;
        let shared = self.unreviewed_shared_changes()?;
        Ok(NothingToUndo { calls, gaps, taken_back_by_git, left, shared })
    }

    fn unreviewed_shared_changes(&self) -> Result<Vec<Change>, StoreError> {
        let filter = ChangeFilter {
            actors: vec![Actor::Agent],
            confidences: vec![Confidence::Shared],
            statuses: vec![ChangeStatus::Pending],
            oldest_first: true,
            ..ChangeFilter::default()
        };
        let mut changes = self.store().changes(&filter)?;
        changes.retain(|change| change.dialog.is_none() && change.is_effective());
        let by_git = self.taken_back_by_git(&changes)?;
        changes.retain(|change| !by_git.contains(&change.id));
        Ok(changes)
    }

    /// Plans to bring back what the newest undo took back.
    pub fn plan_redo(
        &self,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<(Plan, Operation), OperationError> {
        let mut undone = None;
        let plan = self.make_plan(at, |project| {
            let next = project.next_redo(options)?;
            let (operation, plan) = next.ok_or(OperationError::NothingTo("redo"))?;
            undone = Some(operation);
            Ok(plan)
        })?;
        let undone = undone.ok_or(OperationError::NothingTo("redo"))?;
        Ok((plan, undone))
    }

    /// The newest undo of which there is something to bring back, with the plan for it.
    pub(super) fn next_redo(
        &self,
        options: TakeBackOptions,
    ) -> Result<Option<(Operation, Plan)>, OperationError> {
        for operation in self.redo_candidates()? {
            let what = operation.title.strip_prefix("undo of ").unwrap_or(&operation.title);
            let title = format!("{REDO_TITLE_PREFIX}{what}");
            let step = UndoStep::Operation(operation.clone());
            let plan = self.plan_step(OperationKind::Redo, title, &step, options)?;
            if plan.does_something() || !plan.is_whole() {
                return Ok(Some((operation, plan)));
            }
        }
        Ok(None)
    }

    /// The undos that are in effect, newest first.
    pub(super) fn redo_candidates(&self) -> Result<Vec<Operation>, StoreError> {
        let is_undo = |operation: &Operation| {
            operation.kind == OperationKind::Undo && operation.undone_by.is_none()
        };
        let operations = self.store().operations(MAX_OPERATIONS_SEARCHED)?;
        let mut candidates = Vec::new();
        for operation in operations.into_iter().filter(is_undo) {
            if self.has_effect(operation.id)? {
                candidates.push(operation);
            }
        }
        Ok(candidates)
    }

    /// Plans to take one operation back, whatever was done after it.
    pub fn plan_undo_of(
        &self,
        id: OperationId,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        self.make_plan(at, |project| project.plan_undo_operation(id, options))
    }

    /// Takes an operation back at once; the caller holds the lock and has scanned.
    pub(crate) fn undo_operation(
        &self,
        id: OperationId,
        at: Millis,
    ) -> Result<AppliedPlan, OperationError> {
        // Changes by git in between do not matter here.
        let options = TakeBackOptions { across_git: true, ..TakeBackOptions::default() };
        let mut plan = self.plan_undo_operation(id, options)?;
        self.remember_approved(&mut plan)?;
        self.apply_locked(plan, at, &OperationControl::default())
    }

    fn plan_undo_operation(
        &self,
        id: OperationId,
        options: TakeBackOptions,
    ) -> Result<Plan, OperationError> {
        let operation = self.store().operation(id)?.ok_or(OperationError::UnknownOperation(id))?;
        let title = format!("undo of {} ({})", operation.id, operation.title);
        self.plan_step(OperationKind::Undo, title, &UndoStep::Operation(operation), options)
    }

    /// Plans to take one step back.
    pub(super) fn plan_step(
        &self,
        kind: OperationKind,
        title: String,
        step: &UndoStep,
        options: TakeBackOptions,
    ) -> Result<Plan, OperationError> {
        let (mut plan, store) = (Plan::new(kind, title), self.store());
        let status = ChangeStatus::Reverted;
        match step {
            UndoStep::Turn { dialog, turn, .. } => {
                plan.dialog = Some(dialog.clone());
                let changes = self.changes_of_turn(dialog, *turn)?;
                let request = TakeBackRequest::new(&changes, status, options);
                take_back(store, &mut plan, request)?;
            }
            UndoStep::Operation(operation) | UndoStep::Redone { redo: operation, .. } => {
                plan.dialog.clone_from(&operation.dialog);
                plan.undoes.push(operation.id);
                let (changes, bonds) =
                    (self.changes_made_by(operation.id)?, self.path_bonds(operation.id)?);
                let request = TakeBackRequest { changes: &changes, bonds: &bonds, status, options };
                take_back(store, &mut plan, request)?;
                self.restore_statuses(&mut plan, operation)?;
            }
        }
        Ok(plan)
    }

    /// Restores the statuses that the undone operation had changed.
    fn restore_statuses(&self, plan: &mut Plan, undone: &Operation) -> Result<(), StoreError> {
        let steps = self.store().operation_steps(undone.id)?;
        let planned: HashMap<_, _> =
            plan.files.iter().map(|file| (&file.path, file.part)).collect();
        let mut parts = HashMap::new();
        for step in &steps {
            parts.extend(planned.get(&step.path).map(|part| (step.part, *part)));
        }
        // Changes of a redo that git took back may come back, like the turn that was redone.
        let stays = |file: &&PlannedFile| {
            let by_git = file.reason == PlanReason::TakenBackByGit;
            file.is_left() || (by_git && undone.kind == OperationKind::Redo)
        };
        let left: HashSet<u64> = plan.files.iter().filter(stays).map(|file| file.part).collect();
        let marked: HashSet<_> = plan.marks.iter().map(|mark| mark.change).collect();
        for mark in self.store().marks(undone.id, true)? {
            let part = parts.get(&mark.part).copied().unwrap_or(NO_PART);
            if marked.contains(&mark.change) || left.contains(&part) {
                continue; // A part that is left keeps its statuses.
            }
            let Some(change) = self.store().change(mark.change)? else { continue };
            // A later decision stays; but a change that was only accepted goes with its lines.
            let came_back = matches!(mark.new, ChangeStatus::Pending | ChangeStatus::Accepted);
            if change.status == mark.new || (came_back && change.is_effective()) {
                let (old, new) = (change.status, mark.old);
                plan.marks.push(StatusMark { change: change.id, part, old, new });
            }
        }
        Ok(())
    }

    /// Loads the changes that an operation wrote and that are still in effect.
    fn changes_made_by(&self, id: OperationId) -> Result<Vec<Change>, StoreError> {
        let filter =
            ChangeFilter { made_by: Some(id), oldest_first: true, ..ChangeFilter::default() };
        let mut changes = self.store().changes(&filter)?;
        changes.retain(Change::is_effective);
        Ok(changes)
    }

    /// Returns whether an operation has a change that is in effect, or set a status.
    pub(super) fn has_effect(&self, id: OperationId) -> Result<bool, StoreError> {
        let store = self.store();
        Ok(store.has_effect(id)? || store.has_marks(id)?)
    }

    /// Returns the pairs of paths that one part of an operation wrote: they are undone together.
    fn path_bonds(&self, id: OperationId) -> Result<Vec<PathBond>, StoreError> {
        let mut firsts = HashMap::new();
        let mut bonds = Vec::new();
        for step in self.store().operation_steps(id)? {
            let first = firsts.entry(step.part).or_insert_with(|| step.path.clone());
            if *first != step.path {
                bonds.push((first.clone(), step.path));
            }
        }
        Ok(bonds)
    }
}
