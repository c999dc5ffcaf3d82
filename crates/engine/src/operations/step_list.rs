//! Lists the steps that undo and redo go through, not only the next one.
//!
//! Invariant: the step that is `Next` is the one that [`Project::plan_undo`] or
//! [`Project::plan_redo`] would take on the record as it is, found by the same code. What comes
//! after it is not planned: whether it can be taken back depends on the steps before it.

use std::collections::BTreeSet;

use retake_model::{DialogId, Millis, OperationId, OperationKind};
use retake_store::StoreError;

use crate::error::OperationError;
use crate::operations::steps::{NextUndo, UndoStep};
use crate::plan::take_back::TakeBackOptions;
use crate::project::Project;

/// Which steps are listed.
#[derive(Clone, Copy, Debug)]
pub struct StepPage {
    /// Only steps before this place in the order; all if `None`.
    pub before: Option<u64>,
    /// Maximum number of undo steps, and of redo steps.
    pub limit: usize,
}

/// The steps of undo and redo, newest first.
#[derive(Clone, Debug)]
pub struct StepLists {
    /// What undo goes through.
    pub undo: Vec<ListedStep>,
    /// What redo goes through.
    pub redo: Vec<ListedStep>,
    /// There are more steps before this place.
    pub next_page: Option<u64>,
}

/// One step of undo or redo.
#[derive(Clone, Debug)]
pub struct ListedStep {
    /// The step; of redo, the undo that would be taken back.
    pub step: UndoStep,
    /// Its place in the order: its newest change in effect, or the operation.
    pub place: u64,
    /// Whether it is the next one.
    pub state: StepState,
    /// The dialog, if it is of one.
    pub dialog: Option<DialogId>,
    /// The product of the agent, if it is an agent's.
    pub agent_kind: Option<String>,
    /// The person's message that began the turn, if it is known.
    pub prompt: Option<String>,
    /// Number of files that it changed.
    pub files: u64,
    /// When.
    pub at: Millis,
}

/// How a step stands to the next undo or redo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It is the next one.
    Next,
    /// It comes after the next one.
    Later,
    /// It is passed over: git took it back.
    TakenBackByGit,
    /// It is passed over: an undo left it.
    Left,
    /// It is passed over: nothing of it is in the files.
    NothingToDo,
}

impl StepState {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Later => "later",
            Self::TakenBackByGit => "taken_back_by_git",
            Self::Left => "left",
            Self::NothingToDo => "nothing_to_do",
        }
    }

    /// Returns why it is passed over, for people.
    pub fn why_passed(self) -> Option<&'static str> {
        match self {
            Self::Next | Self::Later => None,
            Self::TakenBackByGit => Some("git took it back; it counts again if git brings it back"),
            Self::Left => Some("an undo left it; it is tried again once its files change"),
            Self::NothingToDo => Some("nothing of it is in the files"),
        }
    }
}

/// A step before its details are read.
struct PlacedStep {
    step: UndoStep,
    place: u64,
    is_left: bool,
}

impl Project {
    /// Lists the steps of undo and redo, of the record as it is.
    pub fn steps(&self, page: StepPage) -> Result<StepLists, OperationError> {
        let _snapshot = self.store().snapshot()?;
        let (undo, has_more_undo) = self.undo_steps(page)?;
        let (redo, has_more_redo) = self.redo_steps(page)?;
        let last = |steps: &[ListedStep], has_more: bool| {
            steps.last().filter(|_| has_more).map(|step| step.place)
        };
        let next_page = last(&undo, has_more_undo).max(last(&redo, has_more_redo));
        let in_page = |step: &ListedStep| next_page.is_none_or(|last| step.place >= last);
        Ok(StepLists {
            undo: undo.into_iter().filter(in_page).collect(),
            redo: redo.into_iter().filter(in_page).collect(),
            next_page,
        })
    }

    /// The undo steps of a page, and whether there are more.
    fn undo_steps(&self, page: StepPage) -> Result<(Vec<ListedStep>, bool), OperationError> {
        let next = self.next_step(TakeBackOptions::default())?;
        let mut is_after_next = false;
        let mut listed = Vec::new();
        for placed in self.placed_steps(page)? {
            let is_next = next.step.as_ref().is_some_and(|(step, _)| is_same(step, &placed.step));
            is_after_next |= is_next;
            if page.before.is_some_and(|before| placed.place >= before) {
                continue;
            }
            if listed.len() == page.limit {
                return Ok((listed, true));
            }
            let state = state_of(&placed, &next, is_next, is_after_next);
            listed.push(self.listed_step(placed, state)?);
        }
        Ok((listed, false))
    }

    /// All steps down to the end of a page and one more, newest first.
    fn placed_steps(&self, page: StepPage) -> Result<Vec<PlacedStep>, OperationError> {
        let mut turns = page.limit.saturating_add(1);
        loop {
            let (placed, is_all) = self.placed_steps_down_to(turns)?;
            let in_page = |step: &&PlacedStep| page.before.is_none_or(|before| step.place < before);
            if is_all || placed.iter().filter(in_page).count() > page.limit {
                return Ok(placed);
            }
            turns = turns.saturating_mul(4);
        }
    }

    fn placed_steps_down_to(&self, turns: usize) -> Result<(Vec<PlacedStep>, bool), StoreError> {
        let (candidates, is_all) = self.step_candidates(turns, false)?;
        let mut placed = Vec::new();
        for candidate in candidates {
            let place = candidate.place();
            let step = self.resolve_step(candidate)?;
            placed.extend(step.map(|step| PlacedStep { step, place, is_left: false }));
        }
        let end = placed.last().filter(|_| !is_all).map_or(0, |step| step.place);
        let counted: BTreeSet<_> =
            placed.iter().filter_map(|placed| turn_of(&placed.step)).collect();
        let mut left = Vec::new();
        for (dialog, turn, place) in self.store().turns_in_effect(turns, true)? {
            if place >= end && !counted.contains(&(dialog.clone(), turn)) {
                left.push(PlacedStep { step: self.turn_step(dialog, turn)?, place, is_left: true });
            }
        }
        placed.extend(left);
        placed.sort_by_key(|step| std::cmp::Reverse(step.place));
        Ok((placed, is_all))
    }

    /// The redo steps of a page, and whether there are more.
    fn redo_steps(&self, page: StepPage) -> Result<(Vec<ListedStep>, bool), OperationError> {
        let next = self.next_redo(TakeBackOptions::default())?.map(|(operation, _)| operation.id);
        let mut listed = Vec::new();
        for operation in self.redo_candidates()? {
            if page.before.is_some_and(|before| operation.id.0 >= before) {
                continue;
            }
            if listed.len() == page.limit {
                return Ok((listed, true));
            }
            let state = match next {
                Some(next) if operation.id == next => StepState::Next,
                Some(next) if operation.id < next => StepState::Later,
                _ => StepState::NothingToDo,
            };
            let place = operation.id.0;
            let step = UndoStep::Operation(operation);
            listed.push(self.listed_step(PlacedStep { step, place, is_left: false }, state)?);
        }
        Ok((listed, false))
    }

    /// Reads what is shown of a step.
    fn listed_step(&self, placed: PlacedStep, state: StepState) -> Result<ListedStep, StoreError> {
        let PlacedStep { step, place, .. } = placed;
        let store = self.store();
        let turn = turn_of(&step);
        let prompt = match &turn {
            Some((dialog, number)) => store.message_of_turn(dialog, *number)?.map(|said| said.text),
            None => None,
        };
        let (files, at, agent_kind, dialog) = match &step {
            UndoStep::Turn { dialog, turn, .. } => {
                let newest = store.change(retake_model::ChangeId(place))?;
                let at = newest.as_ref().map_or(0, |change| change.at);
                let kind = newest.and_then(|change| change.kind);
                (store.turn_file_count(dialog, *turn)?, at, kind, Some(dialog.clone()))
            }
            UndoStep::Redone { redo: operation, .. } | UndoStep::Operation(operation) => {
                let files = store.step_count(operation.id)?;
                (files, operation.at, None, operation.dialog.clone())
            }
        };
        Ok(ListedStep { step, place, state, dialog, agent_kind, prompt, files, at })
    }
}

fn state_of(placed: &PlacedStep, next: &NextUndo, is_next: bool, is_after_next: bool) -> StepState {
    if is_next {
        StepState::Next
    } else if placed.is_left {
        StepState::Left
    } else if is_after_next {
        StepState::Later
    } else if next.by_git.iter().any(|step| is_same(step, &placed.step)) {
        StepState::TakenBackByGit
    } else {
        StepState::NothingToDo
    }
}

/// The turn of a step that is one.
fn turn_of(step: &UndoStep) -> Option<(DialogId, u64)> {
    match step {
        UndoStep::Turn { dialog, turn, .. } => Some((dialog.clone(), *turn)),
        UndoStep::Redone { .. } | UndoStep::Operation(_) => None,
    }
}

fn operation_of(step: &UndoStep) -> Option<OperationId> {
    match step {
        UndoStep::Turn { .. } => None,
        UndoStep::Redone { redo: operation, .. } | UndoStep::Operation(operation) => {
            Some(operation.id)
        }
    }
}

fn is_same(a: &UndoStep, b: &UndoStep) -> bool {
    turn_of(a) == turn_of(b) && operation_of(a) == operation_of(b)
}

impl UndoStep {
    /// The kind of the step, stable in JSON: `turn`, `redone`, or the operation's kind.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Turn { .. } => "turn",
            Self::Redone { .. } => OperationKind::Redo.as_str(),
            Self::Operation(operation) => operation.kind.as_str(),
        }
    }

    /// The turn's number, if it is one, or brings one back.
    pub fn turn(&self) -> Option<u64> {
        match self {
            Self::Turn { turn, .. } | Self::Redone { turn: Some((_, turn)), .. } => Some(*turn),
            Self::Redone { .. } | Self::Operation(_) => None,
        }
    }

    /// The operation, if it is one.
    pub fn operation(&self) -> Option<OperationId> {
        operation_of(self)
    }
}
