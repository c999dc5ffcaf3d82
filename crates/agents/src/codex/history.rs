//! Codex: one line per item that the model gets (`response_item`), and events for the person.
//!
//! Messages that Codex injects as the user's or developer's, and the model's reasoning, are opaque.
//! A person's text is counted by the event that follows it.

use std::collections::BTreeSet;

use retake_model::{MessageRole, Millis};
use serde_json::{Value, json};

use crate::AgentKind;
use crate::history::reader::HistoryReader;
use crate::history::writer::{
    ConversationWriter, EncodableMessage, json_lines, rfc3339, uuid_session_id,
};
use crate::history::{FormatReader, FormatSpec, HistoryFormat, block, jsonl_stem};
use crate::prompt::Prompt;
use crate::wire::{list, parse_embedded, text};

/// Codex version that this format was derived from.
const CODEX_VERSION: &str = "0.166.0";

/// Prefixes of texts that Codex injects as the user's, for versions that do not mark them.
const INJECTED_PREFIXES: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions for ",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
];

/// The types of lines.
const LINE_TYPES: [&str; 5] =
    ["session_meta", "response_item", "event_msg", "compacted", "turn_context"];

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    format: HistoryFormat::Codex,
    name: "codex",
    counts_like: AgentKind::Codex,
    is_anthropic: false,
    matches,
    matches_name: |name| jsonl_stem(name).is_some_and(|stem| stem.starts_with("rollout-")),
    session_id: uuid_session_id,
    file_name: |id| format!("rollout-2000-01-01T00-00-00-{id}.jsonl"),
    read: FormatReader::Lines(read_line),
    write,
};

fn matches(line: &Value) -> bool {
    let is_typed = text(line, "/type").is_some_and(|kind| LINE_TYPES.contains(&kind));
    is_typed && line.get("payload").is_some_and(Value::is_object)
}

fn read_line(reader: &mut HistoryReader, line: &Value) {
    let counted = reader.count_line(line);
    let Some(payload) = line.get("payload") else {
        return;
    };
    let ts = block::time_at(line, "/timestamp");
    match text(line, "/type") {
        Some("session_meta") if reader.header.dialog.is_none() => read_header(reader, payload),
        Some("response_item") => {
            read_item(reader, payload, ts, counted.map(|counted| counted.index));
        }
        Some("compacted") => drop(reader.add_summary(item_blocks(payload), ts)),
        Some("event_msg") => {
            if let Some(counted) = counted {
                reader.assign_index(&counted);
            }
        }
        _ => {}
    }
}

fn read_header(reader: &mut HistoryReader, meta: &Value) {
    reader.header.fill_from(meta, "/session_id", "/cwd");
    reader.header.fill_from(meta, "/id", "/cwd");
    let thread = text(meta, "/id").filter(|id| Some(*id) != reader.header.dialog.as_deref());
    reader.header.subagent = thread.map(Into::into);
}

fn read_item(reader: &mut HistoryReader, item: &Value, ts: Option<Millis>, index: Option<u64>) {
    let content = item_blocks(item);
    match (index, text(item, "/type")) {
        (Some(index), _) => drop(reader.add_assistant(index, content, ts)),
        (None, Some("message")) if content.iter().all(is_text_or_image) => {
            reader.add_prompt(content, ts);
        }
        (None, _) if content.iter().any(|block| block::is_type(block, "tool_result")) => {
            reader.add_results(content, ts);
        }
        _ => drop(reader.add_user(content, ts, None)),
    }
}

/// The blocks that an item stands for.
fn item_blocks(item: &Value) -> Vec<Value> {
    if let Some(blocks) = block::exact_blocks(item) {
        return blocks;
    }
    let id = text(item, "/call_id");
    let found = match (text(item, "/type").unwrap_or_default(), id) {
        ("message", _) if !is_injected(item) => {
            Some(list(item, "/content").iter().filter_map(content_block).collect())
        }
        ("function_call", Some(id)) => {
            call_block(item, id, item.get("arguments").map_or(Value::Null, parse_embedded))
                .map(|call| vec![call])
        }
        ("custom_tool_call", Some(id)) => {
            call_block(item, id, text(item, "/input").unwrap_or_default().into())
                .map(|call| vec![call])
        }
        ("local_shell_call", Some(id)) => {
            let action = item.get("action").cloned().unwrap_or_default();
            Some(vec![block::tool_use(id, "local_shell", action)])
        }
        ("function_call_output" | "custom_tool_call_output", Some(id)) => {
            let output = item.get("output").unwrap_or(&Value::Null);
            Some(vec![block::tool_result(id, answer_content(output), false)])
        }
        // A line `compacted`.
        ("", _) => text(item, "/message").map(|summary| vec![block::text(summary)]),
        _ => None,
    };
    found.unwrap_or_else(|| vec![block::opaque(HistoryFormat::Codex, item.clone())])
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
    INJECTED_PREFIXES.iter().any(|mark| start.starts_with(mark))
}

fn content_block(content: &Value) -> Option<Value> {
    let image = text(content, "/image_url").and_then(block::image_from_address);
    image.or_else(|| text(content, "/text").map(block::text))
}

/// A call; arguments that are no object are the tool's one text.
fn call_block(item: &Value, id: &str, input: Value) -> Option<Value> {
    let input = if input.is_object() { input } else { json!({"input": input}) };
    let mut call = block::tool_use(id, text(item, "/name")?, input);
    if let Some(namespace) = item.get("namespace").filter(|namespace| !namespace.is_null()) {
        call["namespace"] = namespace.clone();
    }
    Some(call)
}

fn answer_content(output: &Value) -> Value {
    match output {
        Value::Array(items) => items.iter().filter_map(content_block).collect(),
        // Early versions wrapped the text.
        Value::Object(wrapped) => wrapped.get("content").cloned().unwrap_or_default(),
        text => text.clone(),
    }
}

fn write(writer: &ConversationWriter) -> String {
    let blocks = writer.conversation.messages.iter().flat_map(|message| &message.content);
    let custom = blocks.filter(|block| only_text(block).is_some());
    let custom = custom.filter_map(|call| text(call, "/id")).collect();
    let mut written = vec![session_line(writer)];
    for encodable in writer.messages() {
        write_message(&mut written, &encodable, &custom);
    }
    json_lines(&written)
}

fn session_line(writer: &ConversationWriter) -> Value {
    let begin = rfc3339(writer.started_at());
    // A subagent's file names its own thread, and the session that it belongs to.
    let thread =
        writer.conversation.subagent.as_ref().map_or(writer.session_id.as_str(), |id| &id.0);
    let meta = json!({
        "id": thread,
        "session_id": writer.session_id,
        "timestamp": begin,
        "cwd": writer.folder(),
        "originator": "codex_cli_rs",
        "cli_version": CODEX_VERSION,
        "source": "cli",
    });
    json!({"timestamp": begin, "type": "session_meta", "payload": meta})
}

fn write_message(written: &mut Vec<Value>, encodable: &EncodableMessage, custom: &BTreeSet<&str>) {
    let mut push = |kind: &str, payload: Value| {
        written.push(json!({"timestamp": rfc3339(encodable.at), "type": kind, "payload": payload}));
    };
    if encodable.message.is_summary {
        let summary = json!({"message": block::spoken_text(&encodable.content)});
        return push(
            "compacted",
            block::with_exact_blocks(summary, &encodable.content, item_blocks),
        );
    }
    let (words, items): (Vec<&Value>, Vec<&Value>) =
        encodable.content.iter().partition(|block| is_text_or_image(block));
    if encodable.message.role == MessageRole::Assistant {
        for block in &encodable.content {
            push("response_item", written_item(block, custom));
            if block::is_type(block, "text") {
                let words = text(block, "/text").unwrap_or_default();
                push("event_msg", json!({"type": "agent_message", "message": words}));
            }
        }
        if encodable.content.is_empty() {
            push("response_item", message_item("assistant", &[]));
        }
        return;
    }
    for block in &items {
        push("response_item", written_item(block, custom));
    }
    if items.is_empty() || !words.is_empty() {
        let words: Vec<Value> = words.into_iter().cloned().collect();
        let spoken = block::spoken_text(&words);
        push("response_item", message_item("user", &words));
        if Prompt::of(&spoken).message().is_some() {
            push("event_msg", json!({"type": "user_message", "message": spoken, "images": []}));
        }
    }
}

/// The item of one block; `custom` are the calls of tools that take one text.
fn written_item(block: &Value, custom: &BTreeSet<&str>) -> Value {
    if let Some(item) = block::own_item(HistoryFormat::Codex, block) {
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
        _ => return message_item("assistant", one),
    };
    block::with_exact_blocks(item, one, item_blocks)
}

/// The text of a call whose tool takes nothing else.
fn only_text(call: &Value) -> Option<&str> {
    let only = call.get("input")?.as_object()?.len() == 1;
    text(call, "/input/input").filter(|_| only && block::is_type(call, "tool_use"))
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
        Some(blocks) if blocks.iter().all(is_text_or_image) => written_words("input_text", blocks),
        _ => block::plain_text(content).into(),
    }
}

fn is_text_or_image(block: &Value) -> bool {
    block::is_type(block, "text") || block::is_type(block, "image")
}

fn message_item(role: &str, words: &[Value]) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    let item = json!({"type": "message", "role": role, "content": written_words(kind, words)});
    block::with_exact_blocks(item, words, item_blocks)
}

fn written_words(kind: &str, words: &[Value]) -> Value {
    let written = |block: &Value| match block::image_address(block) {
        Some(address) => json!({"type": "input_image", "image_url": address}),
        None => json!({"type": kind, "text": text(block, "/text").unwrap_or_default()}),
    };
    words.iter().map(written).collect()
}
