//! `api_conversation_history.json`: `[{role, content, ts, isSummary?}]`, and nothing else (DM-14).
//!
//! The legacy `claude_messages.json` has the same form (HIST-6).

use retake_model::ModelMessage;
use serde_json::Value;

use super::writer::{ConversationWriter, file_session_id};
use super::{Conversation, FormatReader, FormatSpec, HistoryFormat, has_element};
use crate::AgentKind;
use crate::cline::history::read_messages;

pub(super) const FORMAT: FormatSpec = FormatSpec {
    format: HistoryFormat::ApiHistory,
    name: "api_conversation_history",
    counts_like: AgentKind::Cline,
    is_anthropic: true,
    matches,
    matches_name: |name| matches!(name, "api_conversation_history.json" | "claude_messages.json"),
    session_id: file_session_id,
    file_name: |_| "api_conversation_history.json".to_owned(),
    read: FormatReader::Document(read),
    write,
};

fn matches(value: &Value) -> bool {
    has_element(value, |message| message.get("role").is_some() && message.get("content").is_some())
}

fn read(document: &Value) -> Conversation {
    read_messages(document.as_array().map_or(&[], Vec::as_slice))
}

fn write(writer: &ConversationWriter) -> String {
    let messages: Vec<ModelMessage> = writer
        .messages()
        .map(|encodable| ModelMessage { content: encodable.content, ..encodable.message.clone() })
        .collect();
    // Values that were JSON before are JSON again.
    serde_json::to_string_pretty(&messages).unwrap_or_default() + "\n"
}
