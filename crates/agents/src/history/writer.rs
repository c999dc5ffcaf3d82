//! Common parts of writing a conversation: ids and times.
//!
//! Invariant: output is deterministic. Ids are derived from the dialog and the place; times are the
//! messages' own, or the one that is passed in.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use retake_model::{Millis, ModelMessage};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::format::is_uuid;
use super::{Conversation, HistoryFormat, block};
use crate::wire::{is_safe_file_name, text};

/// Context of every writer.
pub(super) struct ConversationWriter<'a> {
    form: HistoryFormat,
    pub(super) conversation: &'a Conversation,
    /// The conversation's id as the form wants it.
    pub(super) session_id: String,
    at: Millis,
}

/// The parts of a message that a format can express.
pub(super) struct EncodableMessage<'a> {
    /// Where it stands in the conversation.
    pub(super) place: usize,
    pub(super) message: &'a ModelMessage,
    pub(super) content: Vec<Value>,
    /// When it was sent.
    pub(super) at: Millis,
}

/// A tool result and its time.
pub(super) struct ToolResult<'a> {
    pub(super) block: &'a Value,
    pub(super) at: Millis,
}

impl<'a> ConversationWriter<'a> {
    pub(super) fn new(form: HistoryFormat, conversation: &'a Conversation, at: Millis) -> Self {
        let session_id = session_id(form, conversation.dialog.as_deref());
        Self { form, conversation, session_id, at }
    }

    /// The messages that the form can carry.
    pub(super) fn messages(&self) -> impl Iterator<Item = EncodableMessage<'a>> {
        let conversation = self.conversation;
        conversation.messages.iter().enumerate().filter_map(|(place, message)| {
            let content = block::encodable_blocks(self.form, &message.content)?;
            Some(EncodableMessage { place, message, content, at: message.ts.unwrap_or(self.at) })
        })
    }

    /// Returns the tool results, by the ids of their calls.
    pub(super) fn tool_results(&self) -> BTreeMap<&'a str, ToolResult<'a>> {
        let answers = self.conversation.messages.iter().flat_map(|message| {
            let at = message.ts.unwrap_or(self.at);
            let results =
                message.content.iter().filter(|block| block::is_type(block, "tool_result"));
            results.filter_map(move |block| {
                Some((text(block, "/tool_use_id")?, ToolResult { block, at }))
            })
        });
        answers.collect()
    }

    /// The names of the tools, by the ids of their calls.
    pub(super) fn tool_names(&self) -> BTreeMap<&'a str, &'a str> {
        let blocks = self.conversation.messages.iter().flat_map(|message| &message.content);
        let calls = blocks.filter(|block| block::is_type(block, "tool_use"));
        calls.filter_map(|call| Some((text(call, "/id")?, text(call, "/name")?))).collect()
    }

    /// Drops the results of a message that are written with their calls; returns whether anything
    /// is left to write.
    pub(super) fn drop_paired_results(
        carried: &mut EncodableMessage,
        calls: &BTreeMap<&str, &str>,
    ) -> bool {
        let was_empty = carried.content.is_empty();
        carried.content.retain(|block| {
            let call = text(block, "/tool_use_id").filter(|_| block::is_type(block, "tool_result"));
            !call.is_some_and(|call| calls.contains_key(call))
        });
        was_empty || !carried.content.is_empty()
    }

    /// Derives a stable id.
    pub(super) fn uuid(&self, what: &str, place: usize) -> String {
        uuid_of(&format!("{}/{what}/{place}", self.session_id))
    }

    /// Returns when the conversation began.
    pub(super) fn started_at(&self) -> Millis {
        self.conversation.messages.iter().find_map(|message| message.ts).unwrap_or(self.at)
    }

    /// Returns when the conversation ended.
    pub(super) fn ended_at(&self) -> Millis {
        self.conversation.messages.iter().rev().find_map(|message| message.ts).unwrap_or(self.at)
    }

    /// The folder that the conversation was about.
    pub(super) fn folder(&self) -> &'a str {
        self.conversation.cwd.as_deref().unwrap_or("/")
    }
}

/// A time as of RFC 3339.
pub(super) fn rfc3339(at: Millis) -> String {
    let time = Timestamp::from_millisecond(at).unwrap_or_default();
    format!("{time:.3}")
}

/// One document on each line.
pub(super) fn json_lines(lines: &[Value]) -> String {
    let mut text = String::new();
    for line in lines {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

/// A document, indented by two spaces.
pub(super) fn pretty_json(document: &Value) -> String {
    format!("{document:#}\n")
}

/// Returns the id of a conversation in a format: its own, if that is valid there.
pub(super) fn session_id(form: HistoryFormat, dialog: Option<&str>) -> String {
    let dialog = dialog.unwrap_or("retake");
    let taken = match form {
        HistoryFormat::ClaudeCode
        | HistoryFormat::Codex
        | HistoryFormat::Gemini
        | HistoryFormat::Copilot => is_uuid(dialog),
        HistoryFormat::Opencode => dialog.starts_with("ses_") && is_safe_file_name(dialog),
        HistoryFormat::Cline | HistoryFormat::ApiHistory | HistoryFormat::UiMessages => {
            is_safe_file_name(dialog)
        }
    };
    match form {
        _ if taken => dialog.to_owned(),
        HistoryFormat::Opencode => format!("ses_{}", &uuid_of(dialog).replace('-', "")[..26]),
        _ => uuid_of(dialog),
    }
}

/// The SHA-256 of a text, in hexadecimal.
pub(super) fn sha256_hex(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        // Writing into a text cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn uuid_of(seed: &str) -> String {
    let hex = sha256_hex(seed);
    // Version 8: custom.
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}
