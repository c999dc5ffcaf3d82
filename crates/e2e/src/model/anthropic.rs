//! Anthropic's Messages, as Claude Code speaks it.

use serde_json::{Value, json};

use super::conversation::{ConversationTurn, ModelRequest, names, text_of};
use super::tools::ToolInput;
use super::wire::{ModelReply, WireAnswer, WireEvent, unique_id};

pub(crate) fn read(body: &Value) -> ModelRequest {
    let messages = body["messages"].as_array().into_iter().flatten();
    ModelRequest {
        turns: messages.filter_map(turn).collect(),
        tools: names(&body["tools"], "name").collect(),
        is_stream: body["stream"] == true,
        schema: body["output_config"]["format"].get("schema").cloned(),
    }
}

fn turn(message: &Value) -> Option<ConversationTurn> {
    let content = &message["content"];
    if message["role"] == "user" {
        return Some(ConversationTurn::Person(text_of(content)));
    }
    let uses = content.as_array()?.iter().filter(|block| block["type"] == "tool_use");
    let ids: Vec<_> = uses.filter_map(|block| block["id"].as_str().map(str::to_owned)).collect();
    (!ids.is_empty()).then_some(ConversationTurn::Model(ids))
}

pub(crate) fn answer(reply: &ModelReply, asked: &ModelRequest, model: &Value) -> WireAnswer {
    let blocks = blocks(reply);
    let stop = if reply.calls.is_empty() { "end_turn" } else { "tool_use" };
    let message = json!({
        "id": unique_id("msg_"), "type": "message", "role": "assistant", "model": model,
        "content": blocks, "stop_reason": stop, "stop_sequence": null,
        "usage": { "input_tokens": 100, "output_tokens": 20,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 },
    });
    if asked.is_stream { WireAnswer::Stream(events(message)) } else { WireAnswer::Json(message) }
}

fn blocks(reply: &ModelReply) -> Vec<Value> {
    let text = json!({ "type": "text", "text": reply.text });
    let uses = reply.calls.iter().map(|call| {
        let ToolInput::Named(input) = &call.input else { unreachable!("Claude has no free text") };
        json!({ "type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.tool, "input": input })
    });
    std::iter::once(text).chain(uses).collect()
}

fn events(mut message: Value) -> Vec<WireEvent> {
    let blocks = std::mem::replace(&mut message["content"], json!([]));
    let stop = message["stop_reason"].take();
    let mut events = vec![WireEvent::typed("message_start", json!({ "message": message }))];
    for (index, block) in blocks.as_array().into_iter().flatten().enumerate() {
        let (empty, delta) = beginning(block);
        events.extend([
            WireEvent::typed(
                "content_block_start",
                json!({ "index": index, "content_block": empty }),
            ),
            WireEvent::typed("content_block_delta", json!({ "index": index, "delta": delta })),
            WireEvent::typed("content_block_stop", json!({ "index": index })),
        ]);
    }
    let end = json!({ "delta": { "stop_reason": stop, "stop_sequence": null },
        "usage": { "output_tokens": 20 } });
    events.extend([
        WireEvent::typed("message_delta", end),
        WireEvent::typed("message_stop", json!({})),
    ]);
    events
}

/// A block as it is announced, still empty, and the one delta that fills it.
fn beginning(block: &Value) -> (Value, Value) {
    let mut empty = block.clone();
    if block["type"] == "text" {
        empty["text"] = "".into();
        return (empty, json!({ "type": "text_delta", "text": block["text"] }));
    }
    empty["input"] = json!({});
    let partial = block["input"].to_string();
    (empty, json!({ "type": "input_json_delta", "partial_json": partial }))
}
