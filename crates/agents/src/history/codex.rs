//! Codex: one line per item that the model gets (`response_item`), and events for the person.
//!
//! Messages that Codex injects as the user's or developer's, and the model's reasoning, are opaque.
//! A person's text is counted by the event that follows it.

use std::collections::BTreeSet;

use retake_model::{Millis, Role};
use serde_json::{Value, json};

use super::pen::{Carried, Pen, clock, lines};
use super::reader::Reader;
use super::{Form, block};
use crate::prompt::Prompt;
use crate::wire::{list, text, unquoted};

/// Codex version that this format was derived from.
const VERSION: &str = "0.166.0";

/// Prefixes of texts that Codex injects as the user's, for versions that do not mark them.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions for ",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
];

pub(super) fn line(reader: &mut Reader, line: &Value) {
    let spoken = reader.hear(line);
    let Some(payload) = line.get("payload") else {
        return;
    };
    let ts = block::time(line, "/timestamp");
    match text(line, "/type") {
        Some("session_meta") if reader.about.dialog.is_none() => about(reader, payload),
        Some("response_item") => item(reader, payload, ts, spoken.map(|spoken| spoken.index)),
        Some("compacted") => drop(reader.summary(blocks(payload), ts)),
        Some("event_msg") => {
            if let Some(spoken) = spoken {
                reader.counted(&spoken);
            }
        }
        _ => {}
    }
}

fn about(reader: &mut Reader, meta: &Value) {
    reader.about.learn(meta, "/session_id", "/cwd");
    reader.about.learn(meta, "/id", "/cwd");
    let thread = text(meta, "/id").filter(|id| Some(*id) != reader.about.dialog.as_deref());
    reader.about.subagent = thread.map(Into::into);
}

fn item(reader: &mut Reader, item: &Value, ts: Option<Millis>, said: Option<u64>) {
    let content = blocks(item);
    match (said, text(item, "/type")) {
        (Some(index), _) => drop(reader.assistant(index, content, ts)),
        (None, Some("message")) if content.iter().all(is_word) => reader.prompt(content, ts),
        (None, _) if content.iter().any(|block| block::is(block, "tool_result")) => {
            reader.results(content, ts);
        }
        _ => drop(reader.user(content, ts, None)),
    }
}

/// The blocks that an item stands for.
fn blocks(item: &Value) -> Vec<Value> {
    if let Some(blocks) = block::kept(item) {
        return blocks;
    }
    let id = text(item, "/call_id");
    let found = match (text(item, "/type").unwrap_or_default(), id) {
        ("message", _) if !is_injected(item) => {
            Some(list(item, "/content").iter().filter_map(content).collect())
        }
        ("function_call", Some(id)) => {
            call(item, id, item.get("arguments").map_or(Value::Null, unquoted))
                .map(|call| vec![call])
        }
        ("custom_tool_call", Some(id)) => {
            call(item, id, text(item, "/input").unwrap_or_default().into()).map(|call| vec![call])
        }
        ("local_shell_call", Some(id)) => {
            let action = item.get("action").cloned().unwrap_or_default();
            Some(vec![block::tool_use(id, "local_shell", action)])
        }
        ("function_call_output" | "custom_tool_call_output", Some(id)) => {
            let output = item.get("output").unwrap_or(&Value::Null);
            Some(vec![block::tool_result(id, answer(output), false)])
        }
        // A line `compacted`.
        ("", _) => text(item, "/message").map(|summary| vec![block::text(summary)]),
        _ => None,
    };
    found.unwrap_or_else(|| vec![block::opaque(Form::Codex, item.clone())])
}

/// Returns whether Codex injected this message.
fn is_injected(message: &Value) -> bool {
    match text(message, "/role") {
        Some("assistant") => return false,
        Some("user") => {}
        _ => return true,
    }
    let kinds = list(message, "/internal_chat_message_metadata_passthrough/content_item_kinds");
    if !kinds.is_empty() {
        let of_user = |kind: &Value| kind.as_str().is_some_and(|kind| kind.starts_with("user."));
        return !kinds.iter().any(of_user);
    }
    let start = text(message, "/content/0/text").unwrap_or_default().trim_start();
    INJECTED.iter().any(|mark| start.starts_with(mark))
}

fn content(content: &Value) -> Option<Value> {
    let image = text(content, "/image_url").and_then(block::image_from_address);
    image.or_else(|| text(content, "/text").map(block::text))
}

/// A call; arguments that are no object are the tool's one text.
fn call(item: &Value, id: &str, input: Value) -> Option<Value> {
    let input = if input.is_object() { input } else { json!({"input": input}) };
    let mut call = block::tool_use(id, text(item, "/name")?, input);
    if let Some(namespace) = item.get("namespace").filter(|namespace| !namespace.is_null()) {
        call["namespace"] = namespace.clone();
    }
    Some(call)
}

fn answer(output: &Value) -> Value {
    match output {
        Value::Array(items) => items.iter().filter_map(content).collect(),
        // Early versions wrapped the text.
        Value::Object(wrapped) => wrapped.get("content").cloned().unwrap_or_default(),
        text => text.clone(),
    }
}

pub(super) fn write(pen: &Pen) -> String {
    let blocks = pen.conversation.messages.iter().flat_map(|message| &message.content);
    let custom = blocks.filter(|block| only_text(block).is_some());
    let custom = custom.filter_map(|call| text(call, "/id")).collect();
    let mut written = vec![session(pen)];
    for carried in pen.messages() {
        message(&mut written, &carried, &custom);
    }
    lines(&written)
}

fn session(pen: &Pen) -> Value {
    let begin = clock(pen.begin());
    // A subagent's file names its own thread, and the session that it belongs to.
    let thread = pen.conversation.subagent.as_ref().map_or(pen.session.as_str(), |id| &id.0);
    let meta = json!({
        "id": thread,
        "session_id": pen.session,
        "timestamp": begin,
        "cwd": pen.folder(),
        "originator": "codex_cli_rs",
        "cli_version": VERSION,
        "source": "cli",
    });
    json!({"timestamp": begin, "type": "session_meta", "payload": meta})
}

fn message(written: &mut Vec<Value>, carried: &Carried, custom: &BTreeSet<&str>) {
    let mut push = |kind: &str, payload: Value| {
        written.push(json!({"timestamp": clock(carried.at), "type": kind, "payload": payload}));
    };
    if carried.message.is_summary {
        let summary = json!({"message": block::spoken(&carried.content)});
        return push("compacted", block::exact(summary, &carried.content, blocks));
    }
    let (words, items): (Vec<&Value>, Vec<&Value>) =
        carried.content.iter().partition(|block| is_word(block));
    if carried.message.role == Role::Assistant {
        for block in &carried.content {
            push("response_item", written_item(block, custom));
            if block::is(block, "text") {
                let words = text(block, "/text").unwrap_or_default();
                push("event_msg", json!({"type": "agent_message", "message": words}));
            }
        }
        if carried.content.is_empty() {
            push("response_item", said("assistant", &[]));
        }
        return;
    }
    for block in &items {
        push("response_item", written_item(block, custom));
    }
    if items.is_empty() || !words.is_empty() {
        let words: Vec<Value> = words.into_iter().cloned().collect();
        let spoken = block::spoken(&words);
        push("response_item", said("user", &words));
        if Prompt::of(&spoken).message().is_some() {
            push("event_msg", json!({"type": "user_message", "message": spoken, "images": []}));
        }
    }
}

/// The item of one block; `custom` are the calls of tools that take one text.
fn written_item(block: &Value, custom: &BTreeSet<&str>) -> Value {
    if let Some(item) = block::own_item(Form::Codex, block) {
        return item.clone();
    }
    let one = std::slice::from_ref(block);
    let item = match text(block, "/type") {
        Some("tool_use") => written_call(block),
        Some("tool_result") => {
            let custom = text(block, "/tool_use_id").is_some_and(|id| custom.contains(id));
            let kind = if custom { "custom_tool_call_output" } else { "function_call_output" };
            let output = written_answer(block.get("content").unwrap_or(&Value::Null));
            json!({"type": kind, "call_id": block.get("tool_use_id"), "output": output})
        }
        _ => return said("assistant", one),
    };
    block::exact(item, one, blocks)
}

/// The text of a call whose tool takes nothing else.
fn only_text(call: &Value) -> Option<&str> {
    let only = call.get("input")?.as_object()?.len() == 1;
    text(call, "/input/input").filter(|_| only && block::is(call, "tool_use"))
}

fn written_call(block: &Value) -> Value {
    let input = block.get("input").unwrap_or(&Value::Null);
    let mut item = match only_text(block) {
        Some(input) => json!({"type": "custom_tool_call", "input": input}),
        None => json!({"type": "function_call", "arguments": input.to_string()}),
    };
    item["call_id"] = block.get("id").cloned().unwrap_or_default();
    item["name"] = block.get("name").cloned().unwrap_or_default();
    if let Some(namespace) = block.get("namespace") {
        item["namespace"] = namespace.clone();
    }
    item
}

fn written_answer(content: &Value) -> Value {
    match content.as_array() {
        Some(blocks) if blocks.iter().all(is_word) => written_words("input_text", blocks),
        _ => block::words(content).into(),
    }
}

fn is_word(block: &Value) -> bool {
    block::is(block, "text") || block::is(block, "image")
}

fn said(role: &str, words: &[Value]) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    let item = json!({"type": "message", "role": role, "content": written_words(kind, words)});
    block::exact(item, words, blocks)
}

fn written_words(kind: &str, words: &[Value]) -> Value {
    let written = |block: &Value| match block::image_address(block) {
        Some(address) => json!({"type": "input_image", "image_url": address}),
        None => json!({"type": kind, "text": text(block, "/text").unwrap_or_default()}),
    };
    words.iter().map(written).collect()
}
