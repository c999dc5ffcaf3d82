//! Gemini CLI: a header, then one line per message, or a patch (`$set`) that may hold messages.
//!
//! A message is written again under its id, and the last one counts: first it has the words, then
//! the calls with their results. Live, the results also come as a message of the user. Thoughts,
//! and parts that are neither words nor images, are opaque.

use std::collections::BTreeMap;

use retake_model::{MessageRole, ModelMessage};
use serde_json::{Value, json};

use crate::AgentKind;
use crate::history::reader::HistoryReader;
use crate::history::writer::{
    ConversationWriter, EncodableMessage, ToolResult, json_lines, rfc3339, sha256_hex,
    uuid_session_id,
};
use crate::history::{FormatReader, FormatSpec, HistoryFormat, block, jsonl_stem};
use crate::wire::{is_true, list, parse_embedded, text};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    format: HistoryFormat::Gemini,
    name: "gemini",
    counts_like: AgentKind::Gemini,
    is_anthropic: false,
    matches,
    matches_name: |name| jsonl_stem(name).is_some_and(|stem| stem.starts_with("session-")),
    session_id: uuid_session_id,
    file_name: |id| format!("session-2000-01-01T00-00-{}.jsonl", &id[..8]),
    read: FormatReader::Lines(read_line),
    write,
};

pub(crate) fn matches(line: &Value) -> bool {
    let is_header = line.get("sessionId").is_some() && line.get("projectHash").is_some();
    let kind = text(line, "/type").unwrap_or_default();
    let is_message = matches!(kind, "user" | "gemini" | "info" | "error" | "warning")
        && line.get("id").is_some()
        && line.get("content").is_some();
    is_header || is_message || line.get("$set").is_some()
}

fn read_line(reader: &mut HistoryReader, line: &Value) {
    if line.get("projectHash").is_some() {
        read_header(reader, line);
    }
    // Early versions had one document, with a list of messages.
    let listed = list(line, "/$set/messages").iter().chain(list(line, "/messages"));
    listed.for_each(|one| read_message(reader, one));
    read_message(reader, line);
}

/// A subagent's file names itself; its session is the name of its folder.
fn read_header(reader: &mut HistoryReader, header: &Value) {
    reader.header.fill_from(header, "/sessionId", "/directories/0");
    if text(header, "/kind") == Some("subagent") {
        reader.header.subagent = reader.header.dialog.take().map(|id| id.as_str().into());
    }
}

fn read_message(reader: &mut HistoryReader, line: &Value) {
    let index = reader.count_line(line).map(|counted| counted.index);
    let Some(id) = text(line, "/id") else {
        return;
    };
    let role = match text(line, "/type") {
        Some("user") => MessageRole::User,
        Some("gemini") => MessageRole::Assistant,
        _ => return,
    };
    let (content, ts) = (line_blocks(line), block::time_at(line, "/timestamp"));
    let known = reader.place_of_id(id);
    if content.iter().any(|block| block::is_type(block, "tool_result")) {
        if let Some(place) = known {
            return reader.set_results(place, content);
        }
        let place = reader.add_results(content, ts);
        return reader.remember_id(id, place);
    }
    let is_summary = is_true(line, "/isSummary");
    let message = ModelMessage { role, content, ts, is_summary, index };
    let place = if let Some(place) = known {
        reader.replace(place, message);
        place
    } else {
        let place = reader.add_message(message);
        reader.remember_id(id, place);
        place
    };
    let answers = result_blocks(line);
    // What older messages' tools answered stands in a line of its own.
    if !answers.is_empty() && reader.is_last_reply(place) {
        let ended =
            list(line, "/toolCalls").iter().find_map(|call| block::time_at(call, "/timestamp"));
        reader.add_results(answers, ended.or(ts));
    }
}

/// The blocks that a line stands for, without the results of its calls.
fn line_blocks(line: &Value) -> Vec<Value> {
    if let Some(blocks) = block::exact_blocks(line) {
        return blocks;
    }
    let content = line.get("content").unwrap_or(&Value::Null);
    if text(line, "/type") == Some("user") {
        return content_blocks(content);
    }
    let thoughts = line.get("thoughts").filter(|_| !list(line, "/thoughts").is_empty());
    let thoughts = thoughts
        .map(|thoughts| block::opaque(HistoryFormat::Gemini, json!({"thoughts": thoughts})));
    let calls = list(line, "/toolCalls").iter().filter_map(|call| {
        let input = call.get("args").map_or(Value::Null, parse_embedded);
        Some(block::tool_use(call_id(call)?, text(call, "/name")?, input))
    });
    thoughts.into_iter().chain(content_blocks(content)).chain(calls).collect()
}

fn call_id(call: &Value) -> Option<&str> {
    text(call, "/id").or_else(|| text(call, "/name"))
}

/// Content: a text, a part, or parts.
fn content_blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(words) if words.is_empty() => vec![],
        Value::String(words) => vec![block::text(words)],
        Value::Array(parts) => {
            let injected = |part: &Value| {
                text(part, "/text")
                    .is_some_and(|text| text.trim_start().starts_with("<session_context>"))
            };
            if parts.first().is_some_and(injected) {
                return vec![block::opaque(HistoryFormat::Gemini, json!({"content": parts}))];
            }
            parts.iter().map(part_block).collect()
        }
        Value::Object(_) => vec![part_block(content)],
        _ => vec![],
    }
}

fn part_block(part: &Value) -> Value {
    let response = part.get("functionResponse");
    let inline = |key: &str| text(part, &format!("/inlineData/{key}"));
    match (text(part, "/text"), response, inline("mimeType"), inline("data")) {
        (Some(words), None, None, None) if !is_true(part, "/thought") => block::text(words),
        (None, Some(response), ..) => result_block(response),
        (None, None, Some(media), Some(data)) if media.starts_with("image/") => {
            block::image(media, data)
        }
        _ => block::opaque(HistoryFormat::Gemini, json!({"part": part})),
    }
}

fn result_block(response: &Value) -> Value {
    let id = call_id(response).unwrap_or_default();
    let answer = response.get("response").unwrap_or(&Value::Null);
    let only = answer.as_object().is_some_and(|answer| answer.len() == 1);
    match (text(answer, "/output"), text(answer, "/error")) {
        (Some(output), _) if only => block::tool_result(id, output.into(), false),
        (_, Some(error)) if only => block::tool_result(id, error.into(), true),
        _ => block::tool_result(id, answer.to_string().into(), false),
    }
}

/// Returns the results of the calls of a line.
fn result_blocks(line: &Value) -> Vec<Value> {
    list(line, "/toolCalls").iter().flat_map(call_results).collect()
}

fn call_results(call: &Value) -> Vec<Value> {
    if let Some(blocks) = block::exact_blocks(call) {
        return blocks;
    }
    if let (Some(id), Some(output)) = (call_id(call), text(call, "/result")) {
        return vec![block::tool_result(id, output.into(), false)];
    }
    let responses = list(call, "/result").iter().filter_map(|part| part.get("functionResponse"));
    responses.map(result_block).collect()
}

fn write(writer: &ConversationWriter) -> String {
    let (answers, tools) = (writer.tool_results(), writer.tool_names());
    let subagent = writer.conversation.subagent.as_ref().map(|id| id.0.as_str());
    let mut header = json!({
        "sessionId": subagent.unwrap_or(&writer.session_id),
        "projectHash": sha256_hex(writer.folder()),
        "startTime": rfc3339(writer.started_at()),
        "lastUpdated": rfc3339(writer.ended_at()),
        "kind": if subagent.is_some() { "subagent" } else { "main" },
    });
    if let Some(folder) = &writer.conversation.cwd {
        header["directories"] = json!([folder]);
    }
    let mut written = vec![header];
    for mut encodable in writer.messages() {
        // Results stand with their calls; the model would get them twice.
        if !ConversationWriter::drop_paired_results(&mut encodable, &tools) {
            continue;
        }
        let line = match encodable.message.role {
            MessageRole::User => user(&encodable, &tools),
            MessageRole::Assistant => assistant(&encodable, &answers),
        };
        let mut line = block::with_exact_blocks(line, &encodable.content, line_blocks);
        line["id"] = writer.uuid("message", encodable.place).into();
        line["timestamp"] = rfc3339(encodable.at).into();
        if encodable.message.is_summary {
            line["isSummary"] = true.into();
        }
        written.push(line);
    }
    json_lines(&written)
}

fn user(encodable: &EncodableMessage, tools: &BTreeMap<&str, &str>) -> Value {
    if let [only] = encodable.content.as_slice()
        && let Some(item) = block::own_item(HistoryFormat::Gemini, only)
        && let Some(content) = item.get("content")
    {
        return json!({"type": "user", "content": content});
    }
    let parts = encodable.content.iter().filter_map(|block| written_part(block, tools));
    json!({"type": "user", "content": parts.collect::<Vec<_>>()})
}

fn assistant(encodable: &EncodableMessage, answers: &BTreeMap<&str, ToolResult>) -> Value {
    let texts = encodable.content.iter().filter(|block| block::is_type(block, "text"));
    let texts: Vec<&str> = texts.filter_map(|block| text(block, "/text")).collect();
    let content = match texts.as_slice() {
        [] => json!(""),
        [one] => json!(one),
        several => several.iter().map(|words| json!({"text": words})).collect(),
    };
    let own =
        encodable.content.iter().filter_map(|block| block::own_item(HistoryFormat::Gemini, block));
    let thoughts: Vec<&Value> = own.flat_map(|item| list(item, "/thoughts")).collect();
    let calls = encodable.content.iter().filter(|block| block::is_type(block, "tool_use"));
    let calls: Vec<Value> = calls.map(|call| written_call(call, answers)).collect();
    let mut line = json!({"type": "gemini", "content": content, "thoughts": thoughts});
    if !calls.is_empty() {
        line["toolCalls"] = calls.into();
    }
    line
}

fn written_call(call: &Value, answers: &BTreeMap<&str, ToolResult>) -> Value {
    let (id, name) = (text(call, "/id").unwrap_or_default(), text(call, "/name"));
    let mut written = json!({"id": id, "name": name, "args": call.get("input")});
    let Some(ToolResult { block, at }) = answers.get(id) else {
        written["status"] = "cancelled".into();
        return written;
    };
    let failed = is_true(block, "/is_error");
    written["status"] = if failed { "error" } else { "success" }.into();
    written["timestamp"] = rfc3339(*at).into();
    written["result"] = json!([function_response(block, name.unwrap_or_default())]);
    block::with_exact_blocks(written, std::slice::from_ref(*block), call_results)
}

fn function_response(block: &Value, tool: &str) -> Value {
    let key = if is_true(block, "/is_error") { "error" } else { "output" };
    let answer = block::plain_text(block.get("content").unwrap_or(&Value::Null));
    let id = block.get("tool_use_id");
    json!({"functionResponse": {"id": id, "name": tool, "response": {key: answer}}})
}

fn written_part(block: &Value, tools: &BTreeMap<&str, &str>) -> Option<Value> {
    let own =
        block::own_item(HistoryFormat::Gemini, block).and_then(|item| item.get("part").cloned());
    match text(block, "/type") {
        Some("text") => Some(json!({"text": text(block, "/text").unwrap_or_default()})),
        Some("image") => block::image_parts(block)
            .map(|(media, data)| json!({"inlineData": {"mimeType": media, "data": data}})),
        Some("tool_result") => {
            let id = text(block, "/tool_use_id").unwrap_or_default();
            Some(function_response(block, tools.get(id).copied().unwrap_or("unknown")))
        }
        _ => own,
    }
}
