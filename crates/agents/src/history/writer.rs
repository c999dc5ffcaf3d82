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

use super::{Conversation, HistoryFormat, block, is_uuid};
use crate::wire::{is_safe_file_name, text};

/// Context of every writer.
pub(crate) struct ConversationWriter<'a> {
    format: HistoryFormat,
    pub(crate) conversation: &'a Conversation,
    /// The conversation's id as the format wants it.
    pub(crate) session_id: String,
    at: Millis,
}

/// The parts of a message that a format can express.
pub(crate) struct EncodableMessage<'a> {
    /// Where it stands in the conversation.
    pub(crate) place: usize,
    pub(crate) message: &'a ModelMessage,
    pub(crate) content: Vec<Value>,
    /// When it was sent.
    pub(crate) at: Millis,
}

/// A tool result and its time.
pub(crate) struct ToolResult<'a> {
    pub(crate) block: &'a Value,
    pub(crate) at: Millis,
}

impl<'a> ConversationWriter<'a> {
    pub(crate) fn new(format: HistoryFormat, conversation: &'a Conversation, at: Millis) -> Self {
        let dialog = conversation.dialog.as_deref().unwrap_or("retake");
        let session_id = (format.spec().session_id)(dialog);
        Self { format, conversation, session_id, at }
    }

    /// The messages that the format can carry.
    pub(crate) fn messages(&self) -> impl Iterator<Item = EncodableMessage<'a>> {
        let conversation = self.conversation;
        conversation.messages.iter().enumerate().filter_map(|(place, message)| {
            let content = block::encodable_blocks(self.format, &message.content)?;
            Some(EncodableMessage { place, message, content, at: message.ts.unwrap_or(self.at) })
        })
    }

    /// Returns the tool results, by the ids of their calls.
    pub(crate) fn tool_results(&self) -> BTreeMap<&'a str, ToolResult<'a>> {
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
    pub(crate) fn tool_names(&self) -> BTreeMap<&'a str, &'a str> {
        let blocks = self.conversation.messages.iter().flat_map(|message| &message.content);
        let calls = blocks.filter(|block| block::is_type(block, "tool_use"));
        calls.filter_map(|call| Some((text(call, "/id")?, text(call, "/name")?))).collect()
    }

    /// Drops the results of a message that are written with their calls; returns whether anything
    /// is left to write.
    pub(crate) fn drop_paired_results(
        encodable: &mut EncodableMessage,
        calls: &BTreeMap<&str, &str>,
    ) -> bool {
        let was_empty = encodable.content.is_empty();
        encodable.content.retain(|block| {
            let call = text(block, "/tool_use_id").filter(|_| block::is_type(block, "tool_result"));
            !call.is_some_and(|call| calls.contains_key(call))
        });
        was_empty || !encodable.content.is_empty()
    }

    /// Derives a stable id.
    pub(crate) fn uuid(&self, what: &str, place: usize) -> String {
        uuid_of(&format!("{}/{what}/{place}", self.session_id))
    }

    /// Returns when the conversation began.
    pub(crate) fn started_at(&self) -> Millis {
        self.conversation.messages.iter().find_map(|message| message.ts).unwrap_or(self.at)
    }

    /// Returns when the conversation ended.
    pub(crate) fn ended_at(&self) -> Millis {
        self.conversation.messages.iter().rev().find_map(|message| message.ts).unwrap_or(self.at)
    }

    /// The folder that the conversation was about.
    pub(crate) fn folder(&self) -> &'a str {
        self.conversation.cwd.as_deref().unwrap_or("/")
    }
}

/// A time as of RFC 3339.
pub(crate) fn rfc3339(at: Millis) -> String {
    let time = Timestamp::from_millisecond(at).unwrap_or_default();
    format!("{time:.3}")
}

/// One document on each line.
pub(crate) fn json_lines(lines: &[Value]) -> String {
    let mut text = String::new();
    for line in lines {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

/// A document, indented by two spaces.
pub(crate) fn pretty_json(document: &Value) -> String {
    format!("{document:#}\n")
}

/// The id of a conversation in a format whose ids are UUIDs.
pub(crate) fn uuid_session_id(dialog: &str) -> String {
    if is_uuid(dialog) { dialog.to_owned() } else { uuid_of(dialog) }
}

/// The id of a conversation in a format whose ids name files.
pub(crate) fn file_session_id(dialog: &str) -> String {
    if is_safe_file_name(dialog) { dialog.to_owned() } else { uuid_of(dialog) }
}

/// The SHA-256 of a text, in hexadecimal.
pub(crate) fn sha256_hex(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        // Writing into a text cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A UUID derived from a text.
pub(crate) fn uuid_of(seed: &str) -> String {
    let hex = sha256_hex(seed);
    // Version 8: custom.
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}
