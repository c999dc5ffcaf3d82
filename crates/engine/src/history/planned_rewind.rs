//! A rewind of a conversation as a part of a plan.

use retake_model::{AgentId, DialogId, OperationId};
use serde::{Deserialize, Serialize};

use super::{RewindOutcome, RewindTarget};

/// What is done to a conversation with a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRewind {
    /// The dialog.
    pub dialog: DialogId,
    /// Whose conversation it is.
    pub agent: AgentId,
    /// What is done.
    pub how: RewindAction,
    /// What that hides; nothing if it only brings back.
    pub rewound: RewindOutcome,
    /// Whether it was done; `None` while it is only planned.
    pub done: Option<bool>,
    /// Why it was not.
    pub problem: Option<String>,
}

/// What is done to a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindAction {
    /// It is cut before a message.
    Cut {
        /// The dialog.
        dialog: DialogId,
        /// Where.
        to: RewindTarget,
    },
    /// What an operation did to it is taken back.
    TakeBack(OperationId),
}

impl PlannedRewind {
    /// Returns whether it shows again what was hidden, and hides nothing.
    pub fn brings_back(&self) -> bool {
        matches!(self.how, RewindAction::TakeBack(_))
    }
}
