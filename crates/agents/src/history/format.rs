//! The formats of a conversation, their names, and format detection.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::writer::session_id;
use crate::wire::{self, list, text};

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

impl HistoryFormat {
    /// Every form.
    pub const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Copilot,
        Self::Cline,
        Self::ApiHistory,
        Self::UiMessages,
    ];

    /// The stable name, in commands and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Cline => "cline",
            Self::ApiHistory => "api_conversation_history",
            Self::UiMessages => "ui_messages",
        }
    }

    /// Returns the usual file name of this format.
    ///
    /// Names of Codex and Gemini also hold a time, which here says nothing.
    pub fn file_name(self, dialog: &str) -> String {
        let id = session_id(self, Some(dialog));
        match self {
            Self::ClaudeCode => format!("{id}.jsonl"),
            Self::Codex => format!("rollout-2000-01-01T00-00-00-{id}.jsonl"),
            Self::Gemini => format!("session-2000-01-01T00-00-{}.jsonl", &id[..8]),
            Self::Opencode => format!("{id}.json"),
            Self::Copilot => "events.jsonl".to_owned(),
            Self::Cline => format!("{id}.messages.json"),
            Self::ApiHistory => "api_conversation_history.json".to_owned(),
            Self::UiMessages => "ui_messages.json".to_owned(),
        }
    }

    /// Returns whether its messages consist of Anthropic's blocks.
    pub(super) fn is_anthropic(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Cline | Self::ApiHistory)
    }

    /// Returns whether a line, or a whole document, is of this form.
    pub(super) fn matches(self, value: &Value) -> bool {
        let kind = text(value, "/type").unwrap_or_default();
        let entry =
            |wanted: fn(&Value) -> bool| value.as_array().is_some_and(|all| all.iter().any(wanted));
        match self {
            Self::ClaudeCode => {
                let named = value.get("sessionId").is_some() || value.get("uuid").is_some();
                !kind.is_empty() && (named || value.pointer("/message/role").is_some())
            }
            Self::Codex => {
                let kinds =
                    ["session_meta", "response_item", "event_msg", "compacted", "turn_context"];
                kinds.contains(&kind) && value.get("payload").is_some_and(Value::is_object)
            }
            Self::Gemini => {
                let header = value.get("sessionId").is_some() && value.get("projectHash").is_some();
                let message = matches!(kind, "user" | "gemini" | "info" | "error" | "warning")
                    && value.get("id").is_some()
                    && value.get("content").is_some();
                header || message || value.get("$set").is_some()
            }
            Self::Copilot => kind.contains('.') && value.get("data").is_some_and(Value::is_object),
            Self::Opencode => {
                let message = |one: &Value| one.get("info").is_some() && one.get("parts").is_some();
                let listed = value.get("messages").is_some_and(Value::is_array);
                entry(message) || (value.get("info").is_some_and(Value::is_object) && listed)
            }
            Self::Cline => {
                let listed = value.get("messages").is_some_and(Value::is_array);
                let gemini = Self::Gemini.matches(value);
                listed
                    && !gemini
                    && !list(value, "/messages").iter().any(|one| one.get("info").is_some())
            }
            Self::ApiHistory => {
                entry(|one| one.get("role").is_some() && one.get("content").is_some())
            }
            Self::UiMessages => entry(|one| matches!(text(one, "/type"), Some("say" | "ask"))),
        }
    }

    /// Returns whether a file of this form is one JSON document; else it has one on each line.
    pub(super) fn is_document(self) -> bool {
        matches!(self, Self::Opencode | Self::Cline | Self::ApiHistory | Self::UiMessages)
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
        let found = Self::ALL.into_iter().find(|form| form.as_str() == text);
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
fn matching_format(value: &Value, document: bool) -> Option<HistoryFormat> {
    HistoryFormat::ALL
        .into_iter()
        .find(|form| form.is_document() == document && form.matches(value))
}

fn detect_by_name(name: &str) -> Option<HistoryFormat> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = name.strip_suffix(".jsonl");
    match name {
        "api_conversation_history.json" | "claude_messages.json" => Some(HistoryFormat::ApiHistory),
        "ui_messages.json" => Some(HistoryFormat::UiMessages),
        "events.jsonl" => Some(HistoryFormat::Copilot),
        _ if name.ends_with(".messages.json") => Some(HistoryFormat::Cline),
        _ if stem.is_none() && name.starts_with("ses_") => Some(HistoryFormat::Opencode),
        _ => match stem? {
            stem if stem.starts_with("rollout-") => Some(HistoryFormat::Codex),
            stem if stem.starts_with("session-") => Some(HistoryFormat::Gemini),
            stem if stem.starts_with("agent-") || is_uuid(stem) => Some(HistoryFormat::ClaudeCode),
            _ => None,
        },
    }
}

/// Returns whether a text looks as a UUID does.
pub(super) fn is_uuid(text: &str) -> bool {
    let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits =
        |(at, byte): (usize, u8)| if dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}
