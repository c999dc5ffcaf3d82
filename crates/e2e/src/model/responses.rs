//! OpenAI's Responses, as Codex speaks it, with and without code mode.
//!
//! In code mode the model has one tool, `exec`, which runs JavaScript; the other tools are
//! functions in it. The calls of a step then become one script.

use serde_json::{Value, json};

use super::conversation::{ConversationTurn, ModelRequest, names, text_of};
use super::tools::ToolInput;
use super::wire::{ModelReply, RequestedCall, WireAnswer, WireEvent, unique_id};

pub(crate) fn read(body: &Value) -> ModelRequest {
    let items = body["input"].as_array().into_iter().flatten();
    ModelRequest {
        turns: items.filter_map(turn).collect(),
        tools: declared_tools(body).flat_map(tool_names).collect(),
        is_stream: body["stream"] == true,
        schema: body["text"]["format"].get("schema").cloned(),
    }
}

fn turn(item: &Value) -> Option<ConversationTurn> {
    match item["type"].as_str().unwrap_or("message") {
        "message" if item["role"] == "user" => {
            Some(ConversationTurn::Person(text_of(&item["content"])))
        }
        "agent_message" => Some(ConversationTurn::Person(agent_message(item))),
        "function_call" | "custom_tool_call" => {
            Some(ConversationTurn::Model(vec![item["call_id"].as_str()?.to_owned()]))
        }
        _ => None,
    }
}

/// A message of one agent to another: a header, and the text in a part that is only called
/// encrypted.
fn agent_message(message: &Value) -> String {
    names(&message["content"], "encrypted_content").collect()
}

/// The tools of a request; newer models get theirs as an item of the conversation.
fn declared_tools(body: &Value) -> impl Iterator<Item = &Value> {
    let later = body["input"].as_array().into_iter().flatten();
    let later = later.filter(|item| item["type"] == "additional_tools");
    let later = later.flat_map(|item| item["tools"].as_array().into_iter().flatten());
    body["tools"].as_array().into_iter().flatten().chain(later)
}

fn tool_names(tool: &Value) -> Vec<String> {
    match tool["type"].as_str() {
        Some("namespace") => names(&tool["tools"], "name").collect(),
        _ => tool["name"].as_str().map(str::to_owned).into_iter().collect(),
    }
}

/// Returns `true` if all calls that change files have to go through `exec`.
fn is_code_mode(asked: &ModelRequest) -> bool {
    asked.offers("exec") && !asked.offers("exec_command")
}

pub(crate) fn answer(reply: &ModelReply, asked: &ModelRequest, model: &Value) -> WireAnswer {
    let mut items = vec![json!({
        "type": "message", "role": "assistant", "id": unique_id("msg_"), "status": "completed",
        "content": [{ "type": "output_text", "text": reply.text, "annotations": [] }],
    })];
    let in_code = |call: &&RequestedCall| is_code_mode(asked) && call.group.is_none();
    let nested: Vec<_> = reply.calls.iter().filter(in_code).collect();
    items.extend(reply.calls.iter().filter(|call| !in_code(call)).map(item));
    items.extend((!nested.is_empty()).then(|| code_item(&nested)));
    let whole = json!({
        "id": unique_id("resp_"), "object": "response", "created_at": 0, "model": model,
        "status": "completed", "output": items, "error": null, "incomplete_details": null,
        "usage": { "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": 120 },
    });
    if asked.is_stream { WireAnswer::Stream(events(&whole)) } else { WireAnswer::Json(whole) }
}

fn item(call: &RequestedCall) -> Value {
    let call_id = format!("call_{}", call.id);
    match &call.input {
        ToolInput::Text(text) => {
            json!({ "type": "custom_tool_call", "id": format!("ctc_{}", call.id),
            "call_id": call_id, "name": call.tool, "input": text, "status": "completed" })
        }
        ToolInput::Named(input) => {
            let mut item = json!({ "type": "function_call", "id": format!("fc_{}", call.id),
                "call_id": call_id, "name": call.tool, "arguments": input.to_string(),
                "status": "completed" });
            if let Some(group) = call.group {
                item["namespace"] = group.into();
            }
            item
        }
    }
}

/// The calls of a step as one piece of JavaScript, which has the id of the first of them.
fn code_item(calls: &[&RequestedCall]) -> Value {
    let call = |call: &&RequestedCall| match &call.input {
        ToolInput::Text(text) => format!("tools.{}({})", call.tool, Value::from(text.as_str())),
        ToolInput::Named(input) => format!("tools.{}({input})", call.tool),
    };
    let list = calls.iter().map(call).collect::<Vec<_>>().join(",\n  ");
    let code = format!("const r = await Promise.all([\n  {list}\n]);\ntext(JSON.stringify(r));");
    item(&RequestedCall {
        id: calls[0].id.clone(),
        tool: "exec".to_owned(),
        input: ToolInput::Text(code),
        group: None,
    })
}

fn events(whole: &Value) -> Vec<WireEvent> {
    let mut created = whole.clone();
    created["status"] = "in_progress".into();
    created["output"] = json!([]);
    created["usage"] = Value::Null;
    let mut steps = vec![("response.created", json!({ "response": created }))];
    for (index, item) in whole["output"].as_array().into_iter().flatten().enumerate() {
        steps.extend(item_events(index, item));
    }
    steps.push(("response.completed", json!({ "response": whole })));
    let number = |(sequence, (name, mut data)): (usize, (&'static str, Value))| {
        data["sequence_number"] = sequence.into();
        WireEvent::typed(name, data)
    };
    steps.into_iter().enumerate().map(number).collect()
}

/// An item announced empty, filled by one delta, and closed.
fn item_events(index: usize, item: &Value) -> Vec<(&'static str, Value)> {
    let (field, delta, change) = match item["type"].as_str() {
        Some("message") => {
            let text = &item["content"][0]["text"];
            ("content", "response.output_text.delta", json!({ "content_index": 0, "delta": text }))
        }
        Some("function_call") => (
            "arguments",
            "response.function_call_arguments.delta",
            json!({ "delta": item["arguments"] }),
        ),
        _ => ("input", "response.custom_tool_call_input.delta", json!({ "delta": item["input"] })),
    };
    let mut empty = item.clone();
    empty["status"] = "in_progress".into();
    empty[field] = if field == "content" { json!([]) } else { "".into() };
    let mut change = change;
    change["item_id"] = item["id"].clone();
    change["output_index"] = index.into();
    vec![
        ("response.output_item.added", json!({ "output_index": index, "item": empty })),
        (delta, change),
        ("response.output_item.done", json!({ "output_index": index, "item": item })),
    ]
}
