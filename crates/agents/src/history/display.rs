//! Messages as a person sees them: `ui_messages.json`, as Cline and Roo have it (HIST-1).

use retake_model::{MessageRole, Millis, ModelMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::writer::{ConversationWriter, file_session_id};
use super::{
    Conversation, FormatReader, FormatSpec, HistoryFormat, ReadProblem, block, has_element,
};
use crate::AgentKind;
use crate::cline::transcript::unwrap_user_input;
use crate::wire::{list, text};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    format: HistoryFormat::UiMessages,
    name: "ui_messages",
    counts_like: AgentKind::Cline,
    is_anthropic: false,
    matches: |value| {
        has_element(value, |message| matches!(text(message, "/type"), Some("say" | "ask")))
    },
    matches_name: |name| name == "ui_messages.json",
    session_id: file_session_id,
    file_name: |_| "ui_messages.json".to_owned(),
    read: FormatReader::Document(read),
    write,
};

/// Maximum characters shown of a command or a list.
const MAX_SUMMARY_CHARS: usize = 120;

/// Whether a message tells or asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisplayKind {
    /// It tells.
    Say,
    /// It asks, and waits for an answer.
    Ask,
}

/// One message as a person sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DisplayMessage {
    /// When it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Millis>,
    /// Whether it tells or asks.
    #[serde(rename = "type")]
    pub kind: DisplayKind,
    /// What it tells: `text`, `tool`, `user_feedback`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// What it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// The words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What else the message has.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Derives a conversation's display messages: its text, and one line for each call. The first text
/// is the task.
pub fn display_messages(messages: &[ModelMessage]) -> Vec<DisplayMessage> {
    let mut shown = Vec::new();
    for message in messages {
        let say = match message.role {
            MessageRole::User if shown.is_empty() => "text",
            MessageRole::User => "user_feedback",
            MessageRole::Assistant => "text",
        };
        // Injected messages are not shown; a summary is of use only to the model.
        if message.index.is_none() {
            continue;
        }
        let words = block::spoken_text(&message.content);
        let words =
            if message.role == MessageRole::User { unwrap_user_input(&words) } else { &words };
        let is_call = |block: &&Value| block::is_type(block, "tool_use");
        if !words.is_empty() {
            shown.push(say_message(message.ts, say, words.to_owned()));
        }
        let calls = message.content.iter().filter(is_call);
        shown.extend(calls.map(|call| say_message(message.ts, "tool", describe_call(call))));
    }
    shown
}

fn say_message(ts: Option<Millis>, say: &str, text: String) -> DisplayMessage {
    let (say, text) = (Some(say.to_owned()), Some(text));
    DisplayMessage { ts, kind: DisplayKind::Say, say, ask: None, text, more: Map::new() }
}

/// A call in one line.
fn describe_call(call: &Value) -> String {
    let tool = text(call, "/name").unwrap_or("tool");
    let input = call.get("input").unwrap_or(&Value::Null);
    let verb = match tool.to_ascii_lowercase().as_str() {
        "write" | "write_file" | "write_to_file" | "create" => "Write",
        "edit" | "multiedit" | "replace" | "editor" | "str_replace" | "notebookedit" => "Edit",
        "read" | "read_file" | "read_files" | "view" => "Read",
        _ => tool,
    };
    let first = |pointers: &[&str]| pointers.iter().find_map(|pointer| text(input, pointer));
    let command = first(&["/command", "/cmd", "/commands/0"]);
    let command = command.map(str::to_owned).or_else(|| join_words(list(input, "/command")));
    let patch =
        first(&["/input", "/patchText"]).map(patched_paths).filter(|paths| !paths.is_empty());
    let subject = first(&[
        "/file_path",
        "/filePath",
        "/path",
        "/notebook_path",
        "/files/0/path",
        "/pattern",
        "/query",
        "/url",
        "/description",
        "/prompt",
    ]);
    match (command, patch, subject) {
        (_, Some(paths), _) => format!("Patch {}", short_first_line(&paths.join(", "))),
        (Some(command), ..) => format!("Run: {}", short_first_line(&command)),
        (.., Some(subject)) => format!("{verb} {}", short_first_line(subject)),
        _ => verb.to_owned(),
    }
}

fn join_words(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The paths that a patch names.
fn patched_paths(patch: &str) -> Vec<&str> {
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let named = |line| marks.iter().find_map(|mark| str::strip_prefix(line, mark));
    patch.lines().filter_map(named).collect()
}

/// The first line, as far as it fits.
fn short_first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let start: String = line.chars().take(MAX_SUMMARY_CHARS).collect();
    if start.len() < text.trim().len() { start + "…" } else { start }
}

fn read(document: &Value) -> Conversation {
    let mut read = Conversation::default();
    for (number, one) in document.as_array().into_iter().flatten().enumerate() {
        match DisplayMessage::deserialize(one) {
            Ok(message) => read.display.push(message),
            Err(error) => {
                let place = format!("message {number}");
                read.problems.push(ReadProblem { place, why: error.to_string() });
            }
        }
    }
    read
}

fn write(writer: &ConversationWriter) -> String {
    let derived = display_messages(&writer.conversation.messages);
    let shown = &writer.conversation.display;
    let mut messages = if shown.is_empty() { derived } else { shown.clone() };
    for message in &mut messages {
        message.ts.get_or_insert(writer.started_at());
    }
    // Values that were JSON before are JSON again.
    serde_json::to_string_pretty(&messages).unwrap_or_default() + "\n"
}
