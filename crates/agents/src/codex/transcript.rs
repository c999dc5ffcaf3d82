//! Codex: `~/.codex/sessions/Y/M/D/rollout-….jsonl`, one line per item or event.
//!
//! An assistant message is a run of its items (words, reasoning, calls) up to the next result or
//! message. In code mode the model calls one tool, `exec`, whose script makes the calls that hooks
//! tell; their ids (`exec-…`) stand only in the events of the completed items.
//!
//! Injected context looks like a message of the user among the items; the events have only what
//! the person sent, so messages are taken from there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::prompt::Prompt;
use crate::transcript::{Speaker, TranscriptParser, call_by_id, texts};
use crate::wire::{fingerprint, text};

/// A message that was just counted. Some versions write both forms of the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CountedPrompt {
    form: PromptForm,
    text: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PromptForm {
    Item,
    Message,
}

pub(crate) fn read_line(parser: &mut TranscriptParser, line: &Value) {
    let Some(payload) = line.get("payload") else {
        return;
    };
    match (text(line, "/type"), text(payload, "/type")) {
        (Some("response_item"), Some(kind)) => read_item(parser, kind, payload),
        (Some("event_msg"), Some("item_completed")) => {
            read_completed(parser, payload.get("item").unwrap_or(&Value::Null));
        }
        (Some("event_msg"), Some("user_message")) => {
            read_prompt(parser, PromptForm::Message, text(payload, "/message").unwrap_or_default());
        }
        _ => {}
    }
}

fn read_item(parser: &mut TranscriptParser, kind: &str, item: &Value) {
    match (kind, text(item, "/role")) {
        ("message", Some("assistant")) => {
            extend_run(parser, &texts(item.get("content").unwrap_or(&Value::Null)), None);
        }
        ("message", Some("user")) => end_run(parser),
        ("reasoning", _) => extend_run(parser, &[], None),
        (kind, _) if kind.ends_with("_call") => extend_run(parser, &[], text(item, "/call_id")),
        (kind, _) if kind.ends_with("_output") => end_run(parser),
        _ => {}
    }
}

fn extend_run(parser: &mut TranscriptParser, texts: &[&str], call: Option<&str>) {
    parser.state.echo = None;
    // A run has no name of its own; its end is what parts it from the next.
    parser.grow_assistant(0, texts, call.map(call_by_id).into_iter().collect());
}

fn end_run(parser: &mut TranscriptParser) {
    if let Some(open) = &mut parser.open {
        open.is_over = true;
    }
}

fn read_completed(parser: &mut TranscriptParser, item: &Value) {
    if text(item, "/type") == Some("UserMessage") {
        let words = texts(item.get("content").unwrap_or(&Value::Null)).join("\n");
        read_prompt(parser, PromptForm::Item, &words);
    } else if let Some(id) = text(item, "/id").filter(|id| id.starts_with("exec-")) {
        parser.extend_assistant(&[], vec![call_by_id(id)]);
    }
}

fn read_prompt(parser: &mut TranscriptParser, form: PromptForm, words: &str) {
    end_run(parser);
    let now = CountedPrompt { form, text: fingerprint(words) };
    let before = parser.state.echo.replace(now.clone());
    if before.is_some_and(|before| before.text == now.text && before.form != now.form) {
        parser.state.echo = None;
    } else if let Some(words) = Prompt::of(words).message() {
        parser.add_message(Speaker::User, words, vec![]);
    }
}
