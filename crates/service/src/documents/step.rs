//! The steps that undo and redo go through.

use retake_engine::{self as engine, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Masking;

/// A step of undo, or of redo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = UndoStep)]
pub struct StepDocument {
    /// `turn`, or the kind of the operation: `restore`, `rollback`, `redo`, …; of redo, `undo`.
    pub kind: String,
    /// Its place in the project's order.
    pub place: u64,
    /// What it is called, for people.
    pub title: String,
    /// When: of a turn, its newest change.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// The dialog, if it is of one.
    pub dialog: Option<String>,
    /// The turn's number in its dialog, if it is one.
    pub turn: Option<u64>,
    /// The agent's product, for example `claude-code`, if it is a turn.
    pub agent: Option<String>,
    /// The person's message that began the turn, if it is known.
    pub prompt: Option<String>,
    /// The operation, if it is one.
    pub operation: Option<String>,
    /// Number of files.
    pub files: u64,
    /// Whether it is undone: redo brings it back.
    pub undone: bool,
    /// `next` (what undo or redo would do now), `later`, or why it is passed over:
    /// `taken_back_by_git`, `left` (by an earlier undo) or `nothing_to_do`.
    #[schema(example = "next")]
    pub state: String,
    /// Why it is passed over, in words.
    pub reason: Option<String>,
}

impl StepDocument {
    fn new(listed: &engine::ListedStep, undone: bool, masking: Masking) -> Self {
        let title = listed.step.describe();
        Self {
            kind: listed.step.kind_name().to_owned(),
            place: listed.place,
            title: masking.mask_text(&title).into_owned(),
            timestamp: iso_8601(listed.at),
            dialog: listed.dialog.as_ref().map(|id| id.0.clone()),
            turn: listed.step.turn(),
            agent: listed.agent_kind.clone(),
            prompt: masking.mask_optional(listed.prompt.as_deref()),
            operation: listed.step.operation().map(|id| id.to_string()),
            files: listed.files,
            undone,
            state: listed.state.as_str().to_owned(),
            reason: listed.state.why_passed().map(ToOwned::to_owned),
        }
    }
}

/// The steps that undo and redo go through, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Steps)]
pub struct StepList {
    /// What undo goes through.
    pub undo: Vec<StepDocument>,
    /// What redo goes through: each is an undo that it takes back.
    pub redo: Vec<StepDocument>,
    /// Send it as `before` for the next page; null if this is the last.
    pub next: Option<u64>,
}

impl StepList {
    /// These steps, without secrets.
    pub fn new(lists: &engine::StepLists, masking: Masking) -> Self {
        let documents = |steps: &[engine::ListedStep], undone| {
            steps.iter().map(|step| StepDocument::new(step, undone, masking)).collect()
        };
        Self {
            undo: documents(&lists.undo, false),
            redo: documents(&lists.redo, true),
            next: lists.next_page,
        }
    }
}
