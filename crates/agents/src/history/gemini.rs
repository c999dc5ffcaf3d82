//! Gemini CLI: a header, then one line per message, or a patch (`$set`) that may hold messages.
//!
//! A message is written again under its id, and the last one counts: first it has the words, then
//! the calls with their results. Live, the results also come as a message of the user. Thoughts, and
//! parts that are neither words nor images, are opaque.

use std::collections::BTreeMap;

use retake_model::{ModelMessage, Role};
use serde_json::{Value, json};

use super::pen::{Answer, Carried, Pen, clock, digest, lines};
use super::reader::Reader;
use super::{Form, block};
use crate::wire::{is_true, list, text, unquoted};

pub(super) fn line(reader: &mut Reader, line: &Value) {
    if line.get("projectHash").is_some() {
        about(reader, line);
    }
    // Early versions had one document, with a list of messages.
    let listed = list(line, "/$set/messages").iter().chain(list(line, "/messages"));
    listed.for_each(|one| message(reader, one));
    message(reader, line);
}

/// A subagent's file names itself; its session is the name of its folder.
fn about(reader: &mut Reader, header: &Value) {
    reader.about.learn(header, "/sessionId", "/directories/0");
    if text(header, "/kind") == Some("subagent") {
        reader.about.subagent = reader.about.dialog.take().map(|id| id.as_str().into());
    }
}

fn message(reader: &mut Reader, line: &Value) {
    let index = reader.hear(line).map(|spoken| spoken.index);
    let Some(id) = text(line, "/id") else {
        return;
    };
    let role = match text(line, "/type") {
        Some("user") => Role::User,
        Some("gemini") => Role::Assistant,
        _ => return,
    };
    let (content, ts) = (blocks(line), block::time(line, "/timestamp"));
    let known = reader.known(id);
    if content.iter().any(|block| block::is(block, "tool_result")) {
        if let Some(place) = known {
            return reader.answer(place, content);
        }
        let place = reader.results(content, ts);
        return reader.remember(id, place);
    }
    let is_summary = is_true(line, "/isSummary");
    let message = ModelMessage { role, content, ts, is_summary, index };
    let place = if let Some(place) = known {
        reader.replace(place, message);
        place
    } else {
        let place = reader.add(message);
        reader.remember(id, place);
        place
    };
    let answers = results(line);
    // What older messages' tools answered stands in a line of its own.
    if !answers.is_empty() && reader.is_last(place) {
        let ended =
            list(line, "/toolCalls").iter().find_map(|call| block::time(call, "/timestamp"));
        reader.results(answers, ended.or(ts));
    }
}

/// The blocks that a line stands for, without the results of its calls.
fn blocks(line: &Value) -> Vec<Value> {
    if let Some(blocks) = block::kept(line) {
        return blocks;
    }
    let content = line.get("content").unwrap_or(&Value::Null);
    if text(line, "/type") == Some("user") {
        return words(content);
    }
    let thoughts = line.get("thoughts").filter(|_| !list(line, "/thoughts").is_empty());
    let thoughts =
        thoughts.map(|thoughts| block::opaque(Form::Gemini, json!({"thoughts": thoughts})));
    let calls = list(line, "/toolCalls").iter().filter_map(|call| {
        let input = call.get("args").map_or(Value::Null, unquoted);
        Some(block::tool_use(called(call)?, text(call, "/name")?, input))
    });
    thoughts.into_iter().chain(words(content)).chain(calls).collect()
}

fn called(call: &Value) -> Option<&str> {
    text(call, "/id").or_else(|| text(call, "/name"))
}

/// Content: a text, a part, or parts.
fn words(content: &Value) -> Vec<Value> {
    match content {
        Value::String(words) if words.is_empty() => vec![],
        Value::String(words) => vec![block::text(words)],
        Value::Array(parts) => {
            let injected = |part: &Value| {
                text(part, "/text")
                    .is_some_and(|text| text.trim_start().starts_with("<session_context>"))
            };
            if parts.first().is_some_and(injected) {
                return vec![block::opaque(Form::Gemini, json!({"content": parts}))];
            }
            parts.iter().map(part).collect()
        }
        Value::Object(_) => vec![part(content)],
        _ => vec![],
    }
}

fn part(part: &Value) -> Value {
    let response = part.get("functionResponse");
    let inline = |key: &str| text(part, &format!("/inlineData/{key}"));
    match (text(part, "/text"), response, inline("mimeType"), inline("data")) {
        (Some(words), None, None, None) if !is_true(part, "/thought") => block::text(words),
        (None, Some(response), ..) => result(response),
        (None, None, Some(media), Some(data)) if media.starts_with("image/") => {
            block::image(media, data)
        }
        _ => block::opaque(Form::Gemini, json!({"part": part})),
    }
}

fn result(response: &Value) -> Value {
    let id = called(response).unwrap_or_default();
    let answer = response.get("response").unwrap_or(&Value::Null);
    let only = answer.as_object().is_some_and(|answer| answer.len() == 1);
    match (text(answer, "/output"), text(answer, "/error")) {
        (Some(output), _) if only => block::tool_result(id, output.into(), false),
        (_, Some(error)) if only => block::tool_result(id, error.into(), true),
        _ => block::tool_result(id, answer.to_string().into(), false),
    }
}

/// Returns the results of the calls of a line.
fn results(line: &Value) -> Vec<Value> {
    list(line, "/toolCalls").iter().flat_map(answer).collect()
}

fn answer(call: &Value) -> Vec<Value> {
    if let Some(blocks) = block::kept(call) {
        return blocks;
    }
    if let (Some(id), Some(output)) = (called(call), text(call, "/result")) {
        return vec![block::tool_result(id, output.into(), false)];
    }
    let responses = list(call, "/result").iter().filter_map(|part| part.get("functionResponse"));
    responses.map(result).collect()
}

pub(super) fn write(pen: &Pen) -> String {
    let (answers, tools) = (pen.answers(), pen.tools());
    let subagent = pen.conversation.subagent.as_ref().map(|id| id.0.as_str());
    let mut header = json!({
        "sessionId": subagent.unwrap_or(&pen.session),
        "projectHash": digest(pen.folder()),
        "startTime": clock(pen.begin()),
        "lastUpdated": clock(pen.end()),
        "kind": if subagent.is_some() { "subagent" } else { "main" },
    });
    if let Some(folder) = &pen.conversation.cwd {
        header["directories"] = json!([folder]);
    }
    let mut written = vec![header];
    for mut carried in pen.messages() {
        // Results stand with their calls; the model would get them twice.
        if !Pen::leave_to_calls(&mut carried, &tools) {
            continue;
        }
        let line = match carried.message.role {
            Role::User => user(&carried, &tools),
            Role::Assistant => assistant(&carried, &answers),
        };
        let mut line = block::exact(line, &carried.content, blocks);
        line["id"] = pen.uuid("message", carried.place).into();
        line["timestamp"] = clock(carried.at).into();
        if carried.message.is_summary {
            line["isSummary"] = true.into();
        }
        written.push(line);
    }
    lines(&written)
}

fn user(carried: &Carried, tools: &BTreeMap<&str, &str>) -> Value {
    if let [only] = carried.content.as_slice()
        && let Some(item) = block::own_item(Form::Gemini, only)
        && let Some(content) = item.get("content")
    {
        return json!({"type": "user", "content": content});
    }
    let parts = carried.content.iter().filter_map(|block| written_part(block, tools));
    json!({"type": "user", "content": parts.collect::<Vec<_>>()})
}

fn assistant(carried: &Carried, answers: &BTreeMap<&str, Answer>) -> Value {
    let texts = carried.content.iter().filter(|block| block::is(block, "text"));
    let texts: Vec<&str> = texts.filter_map(|block| text(block, "/text")).collect();
    let content = match texts.as_slice() {
        [] => json!(""),
        [one] => json!(one),
        several => several.iter().map(|words| json!({"text": words})).collect(),
    };
    let own = carried.content.iter().filter_map(|block| block::own_item(Form::Gemini, block));
    let thoughts: Vec<&Value> = own.flat_map(|item| list(item, "/thoughts")).collect();
    let calls = carried.content.iter().filter(|block| block::is(block, "tool_use"));
    let calls: Vec<Value> = calls.map(|call| written_call(call, answers)).collect();
    let mut line = json!({"type": "gemini", "content": content, "thoughts": thoughts});
    if !calls.is_empty() {
        line["toolCalls"] = calls.into();
    }
    line
}

fn written_call(call: &Value, answers: &BTreeMap<&str, Answer>) -> Value {
    let (id, name) = (text(call, "/id").unwrap_or_default(), text(call, "/name"));
    let mut written = json!({"id": id, "name": name, "args": call.get("input")});
    let Some(Answer { block, at }) = answers.get(id) else {
        written["status"] = "cancelled".into();
        return written;
    };
    let failed = is_true(block, "/is_error");
    written["status"] = if failed { "error" } else { "success" }.into();
    written["timestamp"] = clock(*at).into();
    written["result"] = json!([response(block, name.unwrap_or_default())]);
    block::exact(written, std::slice::from_ref(*block), answer)
}

fn response(block: &Value, tool: &str) -> Value {
    let key = if is_true(block, "/is_error") { "error" } else { "output" };
    let answer = block::words(block.get("content").unwrap_or(&Value::Null));
    let id = block.get("tool_use_id");
    json!({"functionResponse": {"id": id, "name": tool, "response": {key: answer}}})
}

fn written_part(block: &Value, tools: &BTreeMap<&str, &str>) -> Option<Value> {
    let own = block::own_item(Form::Gemini, block).and_then(|item| item.get("part").cloned());
    match text(block, "/type") {
        Some("text") => Some(json!({"text": text(block, "/text").unwrap_or_default()})),
        Some("image") => block::image_parts(block)
            .map(|(media, data)| json!({"inlineData": {"mimeType": media, "data": data}})),
        Some("tool_result") => {
            let id = text(block, "/tool_use_id").unwrap_or_default();
            Some(response(block, tools.get(id).copied().unwrap_or("unknown")))
        }
        _ => own,
    }
}
