//! `api_conversation_history.json`: `[{role, content, ts, isSummary?}]`, and nothing else (DM-14).
//!
//! The legacy `claude_messages.json` has the same form (HIST-6).

use retake_model::ModelMessage;
use serde_json::Value;

use super::writer::ConversationWriter;
use super::{Conversation, cline};

pub(super) fn read(document: &Value) -> Conversation {
    cline::read_messages(document.as_array().map_or(&[], Vec::as_slice))
}

pub(super) fn write(pen: &ConversationWriter) -> String {
    let messages: Vec<ModelMessage> = pen
        .messages()
        .map(|carried| ModelMessage { content: carried.content, ..carried.message.clone() })
        .collect();
    // Values that were JSON before are JSON again.
    serde_json::to_string_pretty(&messages).unwrap_or_default() + "\n"
}
