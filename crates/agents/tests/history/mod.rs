//! Conversations in every form: what is read, what is written, and that it is the same.

mod broken;
mod captured;
mod live;
mod made;

use std::fmt::Write as _;

use retake_agents::Agent;
use retake_agents::history::{Conversation, Form, read};
use retake_model::{ModelMessage, Role};
use serde_json::Value;

use crate::support;

/// A file that an agent wrote.
struct Sample {
    form: Form,
    name: String,
    bytes: Vec<u8>,
}

/// Every captured conversation.
fn samples() -> Vec<Sample> {
    let forms = [
        (Form::ClaudeCode, Agent::ClaudeCode),
        (Form::Codex, Agent::Codex),
        (Form::Gemini, Agent::Gemini),
        (Form::Opencode, Agent::Opencode),
        (Form::Copilot, Agent::Copilot),
        (Form::Cline, Agent::Cline),
    ];
    let of = |(form, agent): (Form, Agent)| {
        let files = support::transcripts(agent).into_iter();
        files.map(move |file| Sample { form, name: file.name, bytes: file.bytes })
    };
    forms.into_iter().flat_map(of).collect()
}

fn read_whole(form: Form, bytes: &[u8]) -> Conversation {
    let conversation = read(form, bytes).unwrap_or_else(|error| panic!("{form}: {error}"));
    assert_eq!(conversation.problems, [], "{form}");
    conversation
}

/// A message in one line.
fn show(messages: &[ModelMessage]) -> String {
    let mut shown = String::new();
    for message in messages {
        let index = message.index.map_or_else(|| "-".to_owned(), |index| index.to_string());
        let role = if message.role == Role::User { "user" } else { "assistant" };
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
