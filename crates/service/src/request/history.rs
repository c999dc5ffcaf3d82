//! Requests that import, condense and unhide conversations.

use retake_engine::model::{AgentId, DialogId, Millis, ModelMessage};
use retake_engine::{
    AddedMessages, CondenseOutcome, ImportedMessages, PreparedCondense, Project, View,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ProgressFn, ProjectCommand};
use crate::ApiError;

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

impl ProjectCommand for ImportHistory {
    type Answer = AddedMessages;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<AddedMessages, ApiError> {
        // The place is no part of a message's own JSON.
        let messages: Vec<_> = self
            .messages
            .iter()
            .map(|(message, index)| ModelMessage { index: *index, ..message.clone() })
            .collect();
        let imported = ImportedMessages {
            kind: self.kind.as_deref(),
            messages: &messages,
            display: &self.display,
        };
        Ok(project.import_messages(&self.dialog, &self.agent, imported, at)?)
    }
}

/// Lets a summary stand for messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CondenseHistory {
    /// What is shown in their place.
    pub with: PreparedCondense,
}

impl ProjectCommand for CondenseHistory {
    type Answer = CondenseOutcome;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<CondenseOutcome, ApiError> {
        Ok(project.condense(&self.with, at)?)
    }
}

/// Shows what was hidden last again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnhideMessages {
    /// The dialog.
    pub dialog: DialogId,
    /// The agent whose conversation it is.
    pub agent: AgentId,
}

impl ProjectCommand for UnhideMessages {
    type Answer = View;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<View, ApiError> {
        Ok(project.bring_back(&self.dialog, &self.agent, at)?)
    }
}
