//! A message of a conversation as the model gets it (DM-14).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Millis;
use crate::text_enum::text_enum;

text_enum! {
    /// Who speaks in a [`ModelMessage`].
    MessageRole {
        /// The person, or a tool's result.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

text_enum! {
    /// One of the two histories of a conversation (HIST-1).
    HistoryKind {
        /// What the model gets.
        Model = "model",
        /// What people are shown.
        Display = "display",
    }
}

text_enum! {
    /// Why a conversation is shown otherwise than it was told.
    ViewReason {
        /// The agent, or the program around it, has another list now.
        Saved = "saved",
        /// A summary stands for a part of it.
        Condensed = "condensed",
        /// It was cut before a message.
        Rewound = "rewound",
        /// What was hidden is shown again.
        BroughtBack = "brought_back",
    }
}

text_enum! {
    /// What goes back to an earlier state.
    RewindScope {
        /// The files.
        Files = "files",
        /// What is shown of the conversation.
        Conversation = "conversation",
        /// The files, and then the conversation.
        Both = "both",
    }
}

/// One message as the model gets it; in JSON an entry of `api_conversation_history.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// Who speaks.
    pub role: MessageRole,
    /// The blocks, in Anthropic's form: `text`, `tool_use`, `tool_result`, `thinking`, `image`, …
    /// What another agent has that fits none of them is a block `opaque`, which keeps it as it was.
    pub content: Vec<Value>,
    /// When it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Millis>,
    /// Whether it stands for messages before it.
    #[serde(default, rename = "isSummary", skip_serializing_if = "is_false")]
    pub is_summary: bool,
    /// The place among what was said (`message_index` of events); none for results of tools.
    #[serde(skip)]
    pub index: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}
