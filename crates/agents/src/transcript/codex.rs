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

use super::{Speaker, TranscriptParser, call_by_id, texts};
use crate::prompt::Prompt;
use crate::wire::{fingerprint, text};

/// A message that was just counted. Some versions write both forms of the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CountedPrompt {
    form: PromptForm,
    text: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PromptForm {
    Item,
    Message,
}

pub(super) fn read_line(reader: &mut TranscriptParser, line: &Value) {
    let Some(payload) = line.get("payload") else {
        return;
    };
    match (text(line, "/type"), text(payload, "/type")) {
        (Some("response_item"), Some(kind)) => read_item(reader, kind, payload),
        (Some("event_msg"), Some("item_completed")) => {
            read_completed(reader, payload.get("item").unwrap_or(&Value::Null));
        }
        (Some("event_msg"), Some("user_message")) => {
            read_prompt(reader, PromptForm::Message, text(payload, "/message").unwrap_or_default());
        }
        _ => {}
    }
}

fn read_item(reader: &mut TranscriptParser, kind: &str, item: &Value) {
    match (kind, text(item, "/role")) {
        ("message", Some("assistant")) => {
            extend_run(reader, &texts(item.get("content").unwrap_or(&Value::Null)), None);
        }
        ("message", Some("user")) => end_run(reader),
        ("reasoning", _) => extend_run(reader, &[], None),
        (kind, _) if kind.ends_with("_call") => extend_run(reader, &[], text(item, "/call_id")),
        (kind, _) if kind.ends_with("_output") => end_run(reader),
        _ => {}
    }
}

fn extend_run(reader: &mut TranscriptParser, texts: &[&str], call: Option<&str>) {
    reader.state.echo = None;
    // A run has no name of its own; its end is what parts it from the next.
    reader.grow_assistant(0, texts, call.map(call_by_id).into_iter().collect());
}

fn end_run(reader: &mut TranscriptParser) {
    if let Some(open) = &mut reader.open {
        open.is_over = true;
    }
}

fn read_completed(reader: &mut TranscriptParser, item: &Value) {
    if text(item, "/type") == Some("UserMessage") {
        let words = texts(item.get("content").unwrap_or(&Value::Null)).join("\n");
        read_prompt(reader, PromptForm::Item, &words);
    } else if let Some(id) = text(item, "/id").filter(|id| id.starts_with("exec-")) {
        reader.extend_assistant(&[], vec![call_by_id(id)]);
    }
}

fn read_prompt(reader: &mut TranscriptParser, form: PromptForm, words: &str) {
    end_run(reader);
    let now = CountedPrompt { form, text: fingerprint(words) };
    let before = reader.state.echo.replace(now.clone());
    if before.is_some_and(|before| before.text == now.text && before.form != now.form) {
        reader.state.echo = None;
    } else if let Some(words) = Prompt::of(words).message() {
        reader.add_message(Speaker::User, words, vec![]);
    }
}
