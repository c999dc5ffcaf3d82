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

use super::{Reader, Speaker, called, texts};
use crate::prompt::Prompt;
use crate::wire::{fingerprint, text};

/// A message that was just counted. Some versions write both forms of the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Echo {
    form: Form,
    text: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Item,
    Message,
}

pub(super) fn line(reader: &mut Reader, line: &Value) {
    let Some(payload) = line.get("payload") else {
        return;
    };
    match (text(line, "/type"), text(payload, "/type")) {
        (Some("response_item"), Some(kind)) => item(reader, kind, payload),
        (Some("event_msg"), Some("item_completed")) => {
            completed(reader, payload.get("item").unwrap_or(&Value::Null));
        }
        (Some("event_msg"), Some("user_message")) => {
            prompt(reader, Form::Message, text(payload, "/message").unwrap_or_default());
        }
        _ => {}
    }
}

fn item(reader: &mut Reader, kind: &str, item: &Value) {
    match (kind, text(item, "/role")) {
        ("message", Some("assistant")) => {
            assistant(reader, &texts(item.get("content").unwrap_or(&Value::Null)), None);
        }
        ("message", Some("user")) => end_of_run(reader),
        ("reasoning", _) => assistant(reader, &[], None),
        (kind, _) if kind.ends_with("_call") => assistant(reader, &[], text(item, "/call_id")),
        (kind, _) if kind.ends_with("_output") => end_of_run(reader),
        _ => {}
    }
}

fn assistant(reader: &mut Reader, texts: &[&str], call: Option<&str>) {
    reader.state.echo = None;
    // A run has no name of its own; its end is what parts it from the next.
    reader.grow(0, texts, call.map(called).into_iter().collect());
}

fn end_of_run(reader: &mut Reader) {
    if let Some(open) = &mut reader.open {
        open.over = true;
    }
}

fn completed(reader: &mut Reader, item: &Value) {
    if text(item, "/type") == Some("UserMessage") {
        let words = texts(item.get("content").unwrap_or(&Value::Null)).join("\n");
        prompt(reader, Form::Item, &words);
    } else if let Some(id) = text(item, "/id").filter(|id| id.starts_with("exec-")) {
        reader.add(&[], vec![called(id)]);
    }
}

fn prompt(reader: &mut Reader, form: Form, words: &str) {
    end_of_run(reader);
    let now = Echo { form, text: fingerprint(words) };
    let before = reader.state.echo.replace(now.clone());
    if before.is_some_and(|before| before.text == now.text && before.form != now.form) {
        reader.state.echo = None;
    } else if let Some(words) = Prompt::of(words).message() {
        reader.say(Speaker::User, words, vec![]);
    }
}
