//! The formats of a conversation, the list of their rows, and format detection.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Conversation;
use super::reader::HistoryLineReader;
use super::writer::ConversationWriter;
use crate::{AgentKind, claude_code, cline, codex, copilot, gemini, opencode, wire};

/// File format of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HistoryFormat {
    /// A session of Claude Code.
    #[serde(rename = "claude-code")]
    ClaudeCode,
    /// A rollout of Codex.
    #[serde(rename = "codex")]
    Codex,
    /// A chat of Gemini CLI.
    #[serde(rename = "gemini")]
    Gemini,
    /// What `opencode export` prints.
    #[serde(rename = "opencode")]
    Opencode,
    /// The events of a session of Copilot CLI.
    #[serde(rename = "copilot")]
    Copilot,
    /// The messages of a session of Cline.
    #[serde(rename = "cline")]
    Cline,
    /// `api_conversation_history.json`: messages as the model gets them.
    #[serde(rename = "api_conversation_history")]
    ApiHistory,
    /// `ui_messages.json`: messages as a person sees them.
    #[serde(rename = "ui_messages")]
    UiMessages,
}

/// A name that stands for no form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no form of a conversation; these are: {list}", list = format_names())]
pub struct UnknownFormat(String);

/// The row of each format, in the order of [`HistoryFormat`]. Detection tries them in this order.
const FORMATS: [&FormatSpec; 8] = [
    &claude_code::history::FORMAT,
    &codex::history::FORMAT,
    &gemini::history::FORMAT,
    &opencode::history::FORMAT,
    &copilot::history::FORMAT,
    &cline::history::FORMAT,
    &super::api::FORMAT,
    &super::display::FORMAT,
];

/// How conversations are read and written in one format.
pub(crate) struct FormatSpec {
    pub(crate) format: HistoryFormat,
    /// The stable name, in commands and in JSON.
    pub(crate) name: &'static str,
    /// The agent whose rule decides what counts as a message.
    pub(crate) counts_like: AgentKind,
    /// Whether messages consist of Anthropic's blocks.
    pub(crate) is_anthropic: bool,
    /// Returns true if a line, or a whole document, is of this format.
    pub(crate) matches: fn(&Value) -> bool,
    /// Returns true if a file of this name is probably of this format.
    pub(crate) matches_name: fn(&str) -> bool,
    /// Makes the id of a conversation: the dialog's own, if that is valid in this format.
    pub(crate) session_id: fn(&str) -> String,
    /// Makes the usual file name of a conversation with this id.
    pub(crate) file_name: fn(&str) -> String,
    pub(crate) read: FormatReader,
    pub(crate) write: fn(&ConversationWriter) -> String,
}

/// How a file of a format is read.
#[derive(Clone, Copy)]
pub(crate) enum FormatReader {
    /// One JSON document on each line.
    Lines(HistoryLineReader),
    /// One JSON document.
    Document(fn(&Value) -> Conversation),
}

impl HistoryFormat {
    /// Every form.
    pub const ALL: [Self; FORMATS.len()] = {
        let mut all = [Self::ClaudeCode; FORMATS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = FORMATS[at].format;
            assert!(all[at] as usize == at, "rows are in the order of the variants");
            at += 1;
        }
        all
    };

    pub(super) fn spec(self) -> &'static FormatSpec {
        FORMATS[self as usize]
    }

    /// Returns the stable name, in commands and in JSON.
    pub fn as_str(self) -> &'static str {
        self.spec().name
    }

    /// Returns the usual file name of this format.
    ///
    /// Names of Codex and Gemini also hold a time, which here says nothing.
    pub fn file_name(self, dialog: &str) -> String {
        let FormatSpec { session_id, file_name, .. } = self.spec();
        file_name(&session_id(dialog))
    }

    /// Returns true if its messages consist of Anthropic's blocks.
    pub(super) fn is_anthropic(self) -> bool {
        self.spec().is_anthropic
    }

    /// Returns true if a line, or a whole document, is of this form.
    pub(super) fn matches(self, value: &Value) -> bool {
        (self.spec().matches)(value)
    }

    /// Returns true if a file of this form is one JSON document; else it has one on each line.
    fn is_document(self) -> bool {
        matches!(self.spec().read, FormatReader::Document(_))
    }
}

fn format_names() -> String {
    HistoryFormat::ALL.map(HistoryFormat::as_str).join(", ")
}

impl fmt::Display for HistoryFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for HistoryFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == text);
        found.ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// Detects the format of a file: by its content, else by its name.
pub fn detect_format(file_name: &str, bytes: &[u8]) -> Option<HistoryFormat> {
    detect_by_content(bytes).or_else(|| detect_by_name(file_name))
}

fn detect_by_content(bytes: &[u8]) -> Option<HistoryFormat> {
    if let Ok(document) = wire::parse(bytes) {
        return matching_format(&document, true).or_else(|| matching_format(&document, false));
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| wire::parse(line).ok()).find_map(|line| matching_format(&line, false))
}

/// The form that a document or a line is of.
fn matching_format(value: &Value, is_document: bool) -> Option<HistoryFormat> {
    HistoryFormat::ALL
        .into_iter()
        .find(|format| format.is_document() == is_document && format.matches(value))
}

fn detect_by_name(name: &str) -> Option<HistoryFormat> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    FORMATS.iter().find(|spec| (spec.matches_name)(name)).map(|spec| spec.format)
}

/// Returns the name of a file with one document on each line, without the extension.
pub(crate) fn jsonl_stem(name: &str) -> Option<&str> {
    name.strip_suffix(".jsonl")
}

/// Returns true if a list has an element like this.
pub(crate) fn has_element(value: &Value, is_wanted: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|all| all.iter().any(is_wanted))
}

/// Returns true if a text looks as a UUID does.
pub(crate) fn is_uuid(text: &str) -> bool {
    let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |at: usize, byte: u8| if dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(|(at, byte)| fits(at, byte))
}
