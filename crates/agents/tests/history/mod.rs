//! Conversations in every form: what is read, what is written, and that it is the same.

mod broken;
mod captured;
mod live;
mod made;

use std::fmt::Write as _;

use retake_agents::AgentKind;
use retake_agents::history::{Conversation, HistoryFormat, read};
use retake_model::{MessageRole, ModelMessage};
use serde_json::Value;

use crate::support;

/// A file that an agent wrote.
struct Sample {
    form: HistoryFormat,
    name: String,
    bytes: Vec<u8>,
}

/// Every captured conversation.
fn samples() -> Vec<Sample> {
    let forms = [
        (HistoryFormat::ClaudeCode, AgentKind::ClaudeCode),
        (HistoryFormat::Codex, AgentKind::Codex),
        (HistoryFormat::Gemini, AgentKind::Gemini),
        (HistoryFormat::Opencode, AgentKind::Opencode),
        (HistoryFormat::Copilot, AgentKind::Copilot),
        (HistoryFormat::Cline, AgentKind::Cline),
    ];
    let of = |(form, agent): (HistoryFormat, AgentKind)| {
        let files = support::transcripts(agent).into_iter();
        files.map(move |file| Sample { form, name: file.name, bytes: file.bytes })
    };
    forms.into_iter().flat_map(of).collect()
}

fn read_whole(form: HistoryFormat, bytes: &[u8]) -> Conversation {
    let conversation = read(form, bytes).unwrap_or_else(|error| panic!("{form}: {error}"));
    assert_eq!(conversation.problems, [], "{form}");
    conversation
}

/// A message in one line.
fn show(messages: &[ModelMessage]) -> String {
    let mut shown = String::new();
    for message in messages {
        let index = message.index.map_or_else(|| "-".to_owned(), |index| index.to_string());
        let role = if message.role == MessageRole::User { "user" } else { "assistant" };
        let summary = if message.is_summary { " summary" } else { "" };
        let blocks: Vec<String> = message.content.iter().map(block).collect();
        writeln!(shown, "{index} {role}{summary}: {}", blocks.join(" | ")).unwrap();
    }
    shown
}

fn block(block: &Value) -> String {
    let start = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.replace('\n', "⏎").chars().take(40).collect::<String>()
    };
    match block["type"].as_str().unwrap_or_default() {
        "text" => start(&block["text"]),
        "tool_use" => format!("{}({})", start(&block["name"]), start(&block["input"])),
        "tool_result" => {
            let error = if block["is_error"] == true { "!" } else { "" };
            format!("→{error} {}", start(&block["content"]))
        }
        "opaque" => format!("opaque {}", start(&block["item"])),
        other => other.to_owned(),
    }
}
