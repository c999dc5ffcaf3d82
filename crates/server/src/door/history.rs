//! Requests that import, condense and unhide conversations.

use retake_engine::model::{AgentId, DialogId, Millis, ModelMessage};
use retake_engine::{Added, Condensation, Condensed, Project, View};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Progress, Verb};
use crate::Failure;

/// Takes in a conversation that was written down elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportHistory {
    /// The dialog.
    pub dialog: DialogId,
    /// The agent whose conversation it is.
    pub agent: AgentId,
    /// The agent's product.
    pub kind: Option<String>,
    /// What the model gets, each with its place among what was said.
    pub messages: Vec<(ModelMessage, Option<u64>)>,
    /// What people are shown.
    pub display: Vec<Value>,
}

impl Verb for ImportHistory {
    type Answer = Added;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Added, Failure> {
        // The place is no part of a message's own JSON.
        let messages: Vec<_> = self
            .messages
            .iter()
            .map(|(message, index)| ModelMessage { index: *index, ..message.clone() })
            .collect();
        let both = (messages.as_slice(), self.display.as_slice());
        Ok(project.import_messages(&self.dialog, &self.agent, self.kind.as_deref(), both, at)?)
    }
}

/// Lets a summary stand for messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Condense {
    /// What is shown in their place.
    pub with: Condensation,
}

impl Verb for Condense {
    type Answer = Condensed;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Condensed, Failure> {
        Ok(project.condense(&self.with, at)?)
    }
}

/// Shows what was hidden last again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BringBack {
    /// The dialog.
    pub dialog: DialogId,
    /// The agent whose conversation it is.
    pub agent: AgentId,
}

impl Verb for BringBack {
    type Answer = View;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<View, Failure> {
        Ok(project.bring_back(&self.dialog, &self.agent, at)?)
    }
}
