//! OpenAI's Chat Completions, as opencode, Copilot and Cline speak it.

use serde_json::{Value, json};

use super::conversation::{ConversationTurn, ModelRequest, text_of};
use super::tools::ToolInput;
use super::wire::{ModelReply, WireAnswer, WireEvent, unique_id};

pub(crate) fn read(body: &Value) -> ModelRequest {
    let messages = body["messages"].as_array().into_iter().flatten();
    let tools = body["tools"].as_array().into_iter().flatten();
    let name = |tool: &Value| tool["function"]["name"].as_str().map(str::to_owned);
    ModelRequest {
        turns: messages.filter_map(turn).collect(),
        tools: tools.filter_map(name).collect(),
        is_stream: body["stream"] == true,
        schema: None,
    }
}

fn turn(message: &Value) -> Option<ConversationTurn> {
    if message["role"] == "user" {
        return Some(ConversationTurn::Person(text_of(&message["content"])));
    }
    let calls = message["tool_calls"].as_array()?.iter();
    let ids: Vec<_> = calls.filter_map(|call| call["id"].as_str().map(str::to_owned)).collect();
    (!ids.is_empty()).then_some(ConversationTurn::Model(ids))
}

pub(crate) fn answer(reply: &ModelReply, asked: &ModelRequest, model: &Value) -> WireAnswer {
    let calls = calls(reply);
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 });
    let base = json!({ "id": unique_id("chatcmpl-"), "created": 0, "model": model });
    if asked.is_stream {
        return WireAnswer::Stream(events(&base, &reply.text, &calls, finish, &usage));
    }
    let mut whole = base;
    let message = json!({ "role": "assistant", "content": reply.text, "tool_calls": calls });
    whole["object"] = "chat.completion".into();
    whole["choices"] = json!([{ "index": 0, "message": message, "finish_reason": finish }]);
    whole["usage"] = usage;
    WireAnswer::Json(whole)
}

fn calls(reply: &ModelReply) -> Vec<Value> {
    let call = |(index, call): (usize, &super::wire::RequestedCall)| {
        let ToolInput::Named(input) = &call.input else { unreachable!("chat tools take objects") };
        json!({ "index": index, "id": format!("call_{}", call.id), "type": "function",
            "function": { "name": call.tool, "arguments": input.to_string() } })
    };
    reply.calls.iter().enumerate().map(call).collect()
}

fn events(
    base: &Value,
    text: &str,
    calls: &[Value],
    finish: &str,
    usage: &Value,
) -> Vec<WireEvent> {
    let chunk = |choices: Value| {
        let mut chunk = base.clone();
        chunk["object"] = "chat.completion.chunk".into();
        chunk["choices"] = choices;
        chunk
    };
    let delta = |delta: Value, finish: Value| {
        WireEvent::unnamed(&chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }])))
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": text }), Value::Null)];
    events.extend(calls.iter().map(|call| delta(json!({ "tool_calls": [call] }), Value::Null)));
    events.push(delta(json!({}), finish.into()));
    let mut last = chunk(json!([]));
    last["usage"] = usage.clone();
    events.push(WireEvent::unnamed(&last));
    events.push(WireEvent { name: None, data: "[DONE]".to_owned() });
    events
}
