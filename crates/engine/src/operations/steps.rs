//! Finds the step that the next undo takes back.
//!
//! A step is a turn of a dialog that changed files, or an operation; its place in the order is
//! that of its newest change that is in effect, or of the operation. A redo is a step of its own:
//! undoing it takes back just the changes that it brought back, not the rest of the turn.
//!
//! Invariant: each undo takes a step back, tries it and leaves it, or finds that there is none.
//! A step that was left is passed over until its files change or it is tried with other options,
//! and so is one that git took back, for as long as that holds. So undo is never stuck.

use std::collections::{BTreeSet, VecDeque};

use retake_model::{
    Actor, Change, ChangeId, ChangeStatus, DialogId, Operation, OperationId, OperationKind,
    OperationState,
};
use retake_store::{ChangeFilter, StatusMark, StoreError};
use serde::{Deserialize, Serialize};

use crate::error::OperationError;
use crate::plan::take_back::TakeBackOptions;
use crate::plan::{Plan, PlanReason};
use crate::project::Project;

/// One step that `undo` takes back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum UndoStep {
    /// One dialog's work from one message to the next.
    Turn {
        /// The dialog.
        dialog: DialogId,
        /// The turn's number; 0 is what came before the first message.
        turn: u64,
        /// The turn in words.
        title: String,
    },
    /// The changes that a redo brought back.
    Redone {
        /// The redo.
        redo: Operation,
        /// The turn that it brought something of back, if it was one.
        turn: Option<(DialogId, u64)>,
        /// The first operation of the chain: what was done again, if it was no turn.
        root: OperationId,
        /// Whether something else of that turn is in effect, or the redo left something.
        is_part: bool,
    },
    /// One act of Retake.
    Operation(Operation),
}

impl UndoStep {
    /// Describes the step for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Turn { title, .. } => title.clone(),
            Self::Redone { redo, is_part, .. } => {
                let what = redo.title.strip_prefix(REDO_TITLE_PREFIX).unwrap_or(&redo.title);
                let what = what.strip_prefix(REDONE_TITLE_PREFIX).unwrap_or(what);
                if *is_part { format!("{REDONE_TITLE_PREFIX}{what}") } else { what.to_owned() }
            }
            Self::Operation(operation) => format!("{} ({})", operation.id, operation.title),
        }
    }
}

/// Prefix of a redo's title.
pub(crate) const REDO_TITLE_PREFIX: &str = "redo of ";
/// Prefix for a redo that brought back only a part of a turn.
const REDONE_TITLE_PREFIX: &str = "what was redone of ";

/// The next step, and the steps that were passed over.
#[derive(Default)]
pub(super) struct NextUndo {
    pub(super) step: Option<(UndoStep, Plan)>,
    /// Newer turns that git took back, newest first.
    pub(super) by_git: Vec<UndoStep>,
}

/// A step that may be the next one.
pub(super) enum StepCandidate {
    Turn { dialog: DialogId, turn: u64, place: u64 },
    Operation(Operation),
}

impl StepCandidate {
    /// Its place in the order.
    pub(super) fn place(&self) -> u64 {
        match self {
            Self::Turn { place, .. } => *place,
            Self::Operation(operation) => operation.id.0,
        }
    }
}

/// Maximum number of operations that are searched for the next step.
const MAX_OPERATIONS_SEARCHED: usize = 1000;
/// Number of turns that are loaded first; each further page is four times as large.
const FIRST_TURN_PAGE: usize = 50;

impl Project {
    /// The step that an undo would take back now.
    pub fn next_undo(&self, options: TakeBackOptions) -> Result<Option<UndoStep>, OperationError> {
        Ok(self.next_step(options)?.step.map(|(step, _)| step))
    }

    /// The newest step of which there is something to take back, with the plan for it.
    pub(super) fn next_step(&self, options: TakeBackOptions) -> Result<NextUndo, OperationError> {
        // With other options, a step that was left may succeed.
        let again = options != TakeBackOptions::default();
        let (mut next, mut seen, mut count) = (NextUndo::default(), 0, FIRST_TURN_PAGE);
        loop {
            let (candidates, is_all) = self.step_candidates(count, again)?;
            for candidate in candidates.into_iter().skip(seen) {
                seen += 1;
                let Some(step) = self.resolve_step(candidate)? else { continue };
                let title = format!("undo of {}", step.describe());
                let plan = self.plan_step(OperationKind::Undo, title, &step, options)?;
                if self.is_worthwhile(&plan, again)? {
                    next.step = Some((step, plan));
                    return Ok(next);
                }
                let by_git =
                    plan.files.iter().any(|file| file.reason == PlanReason::TakenBackByGit);
                if by_git && !matches!(step, UndoStep::Redone { .. }) {
                    next.by_git.push(step);
                }
            }
            if is_all {
                return Ok(next);
            }
            count *= 4;
        }
    }

    /// The turns that an undo left and that are passed over, newest first.
    pub(super) fn left_turns(&self, limit: usize) -> Result<Vec<(DialogId, u64)>, StoreError> {
        let turns = |with_left| self.store().turns_in_effect(limit, with_left);
        let name = |(dialog, turn, _): (DialogId, u64, u64)| (dialog, turn);
        let not_left: BTreeSet<_> = turns(false)?.into_iter().map(name).collect();
        Ok(turns(true)?.into_iter().map(name).filter(|turn| !not_left.contains(turn)).collect())
    }

    /// The steps down to the `turns`th turn, newest first, and whether these are all. With more
    /// turns the list goes on, and begins as it did.
    pub(super) fn step_candidates(
        &self,
        turns: usize,
        again: bool,
    ) -> Result<(Vec<StepCandidate>, bool), StoreError> {
        let is_step =
            |one: &Operation| !matches!(one.kind, OperationKind::Undo | OperationKind::Abort);
        let operations = self.store().operations(MAX_OPERATIONS_SEARCHED)?.into_iter();
        let mut operations: VecDeque<Operation> =
            operations.filter(|one| is_step(one) && one.undone_by.is_none()).collect();
        let found = self.store().turns_in_effect(turns, again)?;
        let is_all = found.len() < turns;
        let mut candidates = Vec::new();
        for (dialog, turn, place) in found {
            while operations.front().is_some_and(|one| one.id.0 > place) {
                candidates.extend(operations.pop_front().map(StepCandidate::Operation));
            }
            candidates.push(StepCandidate::Turn { dialog, turn, place });
        }
        if is_all {
            candidates.extend(operations.into_iter().map(StepCandidate::Operation));
        }
        Ok((candidates, is_all))
    }

    /// Returns whether a plan is worth offering: it does something, or leaves changes not yet
    /// tried.
    fn is_worthwhile(&self, plan: &Plan, again: bool) -> Result<bool, StoreError> {
        if plan.does_something() || (again && !plan.is_whole()) {
            return Ok(true);
        }
        for file in plan.left() {
            for change in &file.changes {
                if !self.store().was_left_by_undo(*change)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    pub(super) fn resolve_step(
        &self,
        candidate: StepCandidate,
    ) -> Result<Option<UndoStep>, StoreError> {
        match candidate {
            StepCandidate::Turn { dialog, turn, .. } => self.turn_step(dialog, turn).map(Some),
            StepCandidate::Operation(one) if !self.has_effect(one.id)? => Ok(None),
            StepCandidate::Operation(one) if one.kind == OperationKind::Redo => {
                self.redone_step(one)
            }
            StepCandidate::Operation(one) => Ok(Some(UndoStep::Operation(one))),
        }
    }

    pub(super) fn turn_step(&self, dialog: DialogId, turn: u64) -> Result<UndoStep, StoreError> {
        let title = self.describe_turn(&dialog, turn)?;
        Ok(UndoStep::Turn { dialog, turn, title })
    }

    /// Makes the step of a redo; `None` if its changes were taken back since with their turn.
    fn redone_step(&self, redo: Operation) -> Result<Option<UndoStep>, StoreError> {
        let marks = self.store().marks(redo.id, true)?;
        if !self.are_in_effect(&marks)? {
            return Ok(None);
        }
        let brought_back: BTreeSet<ChangeId> = marks.iter().map(|mark| mark.change).collect();
        let (root, kind) = self.first_of_chain(&redo)?;
        let mut turn = None;
        // The first undo of a chain took a turn back, unless there is an operation beneath it.
        if kind == OperationKind::Undo {
            for id in &brought_back {
                let change = self.store().change(*id)?;
                let agents = change.filter(|change| change.actor == Actor::Agent);
                turn = turn.or(agents.and_then(|change| change.dialog.zip(change.turn)));
            }
        }
        let mut is_part = redo.state == OperationState::Partial;
        if let Some((dialog, number)) = &turn {
            let others = self.changes_of_turn(dialog, *number)?;
            is_part |= others.iter().any(|change| !brought_back.contains(&change.id));
        }
        Ok(Some(UndoStep::Redone { redo, turn, root, is_part }))
    }

    /// Returns whether a change that these marks brought back is in effect or, if they brought none
    /// back, whether a status is still as they set it.
    fn are_in_effect(&self, marks: &[StatusMark]) -> Result<bool, StoreError> {
        let brings_back =
            |mark: &StatusMark| matches!(mark.new, ChangeStatus::Pending | ChangeStatus::Accepted);
        let any = marks.iter().any(brings_back);
        for mark in marks.iter().filter(|mark| !any || brings_back(mark)) {
            let stands = |change: Change| {
                if any { change.is_effective() } else { change.status == mark.new }
            };
            if self.store().change(mark.change)?.is_some_and(stands) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the first operation of a chain of undo and redo.
    fn first_of_chain(&self, redo: &Operation) -> Result<(OperationId, OperationKind), StoreError> {
        let mut root = (redo.id, redo.kind);
        while let Some(&undone) = self.store().operations_undone_by(root.0)?.first() {
            let Some(operation) = self.store().operation(undone)? else { break };
            root = (operation.id, operation.kind);
        }
        Ok(root)
    }

    /// Loads the changes of a turn that are in effect, oldest first, without those shared by
    /// dialogs.
    pub(super) fn changes_of_turn(
        &self,
        dialog: &DialogId,
        turn: u64,
    ) -> Result<Vec<Change>, StoreError> {
        let filter = ChangeFilter {
            dialogs: vec![dialog.clone()],
            turn: Some(turn),
            actors: vec![Actor::Agent],
            oldest_first: true,
            ..ChangeFilter::default()
        };
        let mut changes = self.store().changes(&filter)?;
        changes.retain(|change| change.is_effective() && change.dialog.as_ref() == Some(dialog));
        Ok(changes)
    }
}
