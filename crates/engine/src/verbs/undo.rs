//! Undo and redo: steps back and forth.
//!
//! A step is a turn of a dialog that changed files, or an operation. An undo is an
//! operation too, but no step: undoing again goes further back, and redo takes
//! the newest undo back.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

use retake_model::{
    Actor, Change, ChangeStatus, DialogId, Gap, Millis, Operation, OperationId, OperationKind,
};
use retake_store::{ChangeFilter, IdleCall, Mark, StoreError};

use crate::apply::Applied;
use crate::plan::Plan;
use crate::plan::take_back::{Bond, TakeBackOptions, take_back};
use crate::project::Project;
use crate::tool::{ToolKind, kind_of};
use crate::verb::VerbError;

/// What `undo` steps over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum UndoStep {
    /// One dialog's work from one message to the next.
    Turn {
        /// The dialog.
        dialog: DialogId,
        /// The turn's number; 0 is what came before the first message.
        turn: u64,
        /// Its changes that are in effect, oldest first.
        changes: Vec<Change>,
    },
    /// One act of Retake.
    Operation(Operation),
}

impl UndoStep {
    /// What it is called, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Turn { dialog, turn, .. } => format!("turn {turn} of dialog {dialog}"),
            Self::Operation(operation) => format!("{} ({})", operation.id, operation.title),
        }
    }
}

/// Why there is nothing to undo, although agents were at work.
#[derive(Clone, Debug, Default)]
pub struct NothingToUndo {
    /// The newest calls that could have changed files and to which no change is ascribed.
    pub calls: Vec<IdleCall>,
    /// What was not protected since they began: changes of it are not known.
    pub gaps: Vec<Gap>,
}

/// Marks that need no file of the plan.
const NO_PART: u64 = u64::MAX;
/// So many operations are looked through for the next step.
const OPERATIONS: usize = 1000;
/// So many turns are, too.
const TURNS: usize = 50;
/// So many calls are told where there is nothing to undo.
const CALLS: usize = 10;

impl Project {
    /// The step that `undo` takes back: the newest that has not been tried yet.
    ///
    /// What was redone is as new as its redo. A turn that an undo could take back only in part is
    /// passed over, unless it is tried `again` in another way.
    pub fn next_undo(&self, again: bool) -> Result<Option<UndoStep>, StoreError> {
        let store = self.store();
        let mut turns = Vec::new();
        for (dialog, turn, last) in store.turns_in_effect(TURNS)? {
            let (tried, redone) = store.undo_marks_of(&dialog, turn)?;
            if again || tried.is_none_or(|tried| tried < last) {
                turns.push((redone.unwrap_or(0).max(last), (dialog, turn)));
            }
        }
        let newest_turn = turns.into_iter().max_by_key(|(place, _)| *place);
        match (self.newest_operation()?, newest_turn) {
            (Some((place, operation)), turn) if turn.as_ref().is_none_or(|(at, _)| place > *at) => {
                Ok(Some(UndoStep::Operation(operation)))
            }
            (_, Some((_, (dialog, turn)))) => {
                let changes = self.turn(&dialog, turn)?;
                Ok(Some(UndoStep::Turn { dialog, turn, changes }))
            }
            (_, None) => Ok(None),
        }
    }

    /// The newest operation that can be undone, with its place.
    fn newest_operation(&self) -> Result<Option<(u64, Operation)>, StoreError> {
        use OperationKind::{Abort, Redo, Undo};
        let store = self.store();
        let mut operations = Vec::new();
        for operation in store.operations(OPERATIONS)? {
            let is_step = !matches!(operation.kind, Undo | Redo | Abort);
            if is_step && operation.undone_by.is_none() {
                let redone = store.redone_by(operation.id)?.map_or(0, |by| by.0);
                operations.push((redone.max(operation.id.0), operation));
            }
        }
        operations.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        for (place, operation) in operations {
            if self.has_effect(operation.id)? {
                return Ok(Some((place, operation)));
            }
        }
        Ok(None)
    }

    /// Plans to take back the newest step.
    pub fn plan_undo(
        &self,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<(Plan, UndoStep), VerbError> {
        let mut taken = None;
        let plan = self.planned(at, |project| {
            let again = options != TakeBackOptions::default();
            let step = project.next_undo(again)?.ok_or(VerbError::NothingTo("undo"))?;
            let title = format!("undo of {}", step.describe());
            let plan = project.plan_step(OperationKind::Undo, title, &step, options);
            taken = Some(step);
            plan
        })?;
        Ok((plan, taken.ok_or(VerbError::NothingTo("undo"))?))
    }

    /// What was considered where [`Project::plan_undo`] finds nothing.
    pub fn nothing_to_undo(&self) -> Result<NothingToUndo, StoreError> {
        let could_change = |call: &IdleCall| kind_of(&call.tool) != ToolKind::Read;
        let calls = self.store().calls_without_changes(CALLS)?;
        let calls: Vec<_> = calls.into_iter().filter(could_change).collect();
        let Some(first) = calls.first() else { return Ok(NothingToUndo::default()) };
        let is_since = |(_, since): &(Gap, Millis)| *since >= first.begin_at;
        let gaps = self.store().gaps()?.into_iter().filter(is_since).map(|(gap, _)| gap).collect();
        Ok(NothingToUndo { calls, gaps })
    }

    /// Plans to bring back what the newest undo took back.
    pub fn plan_redo(
        &self,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<(Plan, Operation), VerbError> {
        let mut undone = None;
        let plan = self.planned(at, |project| {
            let operations = project.store().operations(OPERATIONS)?;
            let is_next = |operation: &Operation| {
                operation.kind == OperationKind::Undo && operation.undone_by.is_none()
            };
            for operation in operations.into_iter().filter(is_next) {
                if project.has_effect(operation.id)? {
                    undone = Some(operation);
                    break;
                }
            }
            let operation = undone.clone().ok_or(VerbError::NothingTo("redo"))?;
            let what = operation.title.strip_prefix("undo of ").unwrap_or(&operation.title);
            let title = format!("redo of {what}");
            let step = UndoStep::Operation(operation);
            project.plan_step(OperationKind::Redo, title, &step, options)
        })?;
        let undone = undone.ok_or(VerbError::NothingTo("redo"))?;
        Ok((plan, undone))
    }

    /// Takes an operation back at once; the caller holds the lock and has looked.
    pub(crate) fn undo_operation(&self, id: OperationId, at: Millis) -> Result<Applied, VerbError> {
        let operation = self.store().operation(id)?.ok_or(VerbError::UnknownOperation(id))?;
        let title = format!("undo of {} ({})", operation.id, operation.title);
        let step = UndoStep::Operation(operation);
        // What git did in between is not what was asked about here.
        let options = TakeBackOptions { across_git: true, ..TakeBackOptions::default() };
        let mut plan = self.plan_step(OperationKind::Undo, title, &step, options)?;
        self.note_approved(&mut plan)?;
        self.apply_settled(&plan, at)
    }

    fn plan_step(
        &self,
        kind: OperationKind,
        title: String,
        step: &UndoStep,
        options: TakeBackOptions,
    ) -> Result<Plan, VerbError> {
        let (mut plan, store) = (Plan::new(kind, title), self.store());
        let status = ChangeStatus::Reverted;
        match step {
            UndoStep::Turn { dialog, changes, .. } => {
                plan.dialog = Some(dialog.clone());
                take_back(store, &mut plan, (changes, &[]), status, options)?;
            }
            UndoStep::Operation(operation) => {
                plan.dialog.clone_from(&operation.dialog);
                plan.undoes.push(operation.id);
                let (changes, bonds) = (self.made_by(operation.id)?, self.bonds(operation.id)?);
                take_back(store, &mut plan, (&changes, &bonds), status, options)?;
                self.bring_back_statuses(&mut plan, operation.id)?;
            }
        }
        Ok(plan)
    }

    /// With an operation go the statuses that it had set.
    fn bring_back_statuses(&self, plan: &mut Plan, undone: OperationId) -> Result<(), StoreError> {
        let steps = self.store().steps(undone)?;
        let planned: HashMap<_, _> =
            plan.files.iter().map(|file| (&file.path, file.part)).collect();
        let mut parts = HashMap::new();
        for step in &steps {
            parts.extend(planned.get(&step.path).map(|part| (step.part, *part)));
        }
        let left: HashSet<u64> =
            plan.files.iter().filter(|file| file.is_left()).map(|file| file.part).collect();
        let marked: HashSet<_> = plan.marks.iter().map(|mark| mark.change).collect();
        for mark in self.store().marks(undone, true)? {
            let part = parts.get(&mark.part).copied().unwrap_or(NO_PART);
            // A part that is left keeps its statuses, and so does what was decided on since.
            let change = self.store().change(mark.change)?;
            let stands = change.is_some_and(|change| change.status == mark.new);
            if stands && !marked.contains(&mark.change) && !left.contains(&part) {
                let Mark { change, old, new, .. } = mark;
                plan.marks.push(Mark { change, part, old: new, new: old });
            }
        }
        Ok(())
    }

    /// What an operation wrote and is still in effect.
    fn made_by(&self, id: OperationId) -> Result<Vec<Change>, StoreError> {
        let filter =
            ChangeFilter { made_by: Some(id), oldest_first: true, ..ChangeFilter::default() };
        let mut changes = self.store().changes(&filter)?;
        changes.retain(Change::is_effective);
        Ok(changes)
    }

    fn has_effect(&self, id: OperationId) -> Result<bool, StoreError> {
        let store = self.store();
        Ok(store.has_effect(id)? || store.has_marks(id)?)
    }

    /// What one part of an operation wrote goes together.
    fn bonds(&self, id: OperationId) -> Result<Vec<Bond>, StoreError> {
        let mut firsts = HashMap::new();
        let mut bonds = Vec::new();
        for step in self.store().steps(id)? {
            let first = firsts.entry(step.part).or_insert_with(|| step.path.clone());
            if *first != step.path {
                bonds.push((first.clone(), step.path));
            }
        }
        Ok(bonds)
    }

    /// The changes of a turn that are in effect, oldest first. One that dialogs share is no one's.
    fn turn(&self, dialog: &DialogId, turn: u64) -> Result<Vec<Change>, StoreError> {
        let filter = ChangeFilter {
            dialog: Some(dialog.clone()),
            turn: Some(turn),
            actor: Some(Actor::Agent),
            oldest_first: true,
            ..ChangeFilter::default()
        };
        let mut changes = self.store().changes(&filter)?;
        changes.retain(|change| change.is_effective() && change.dialog.as_ref() == Some(dialog));
        Ok(changes)
    }
}
