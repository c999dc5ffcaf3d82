//! OpenAI's Chat Completions, as opencode, Copilot and Cline speak it.

use serde_json::{Value, json};

use super::talk::{Asked, Turn, text_of};
use super::tools::Input;
use super::wire::{Answer, Event, Reply, unique};

pub(crate) fn read(body: &Value) -> Asked {
    let messages = body["messages"].as_array().into_iter().flatten();
    let tools = body["tools"].as_array().into_iter().flatten();
    let name = |tool: &Value| tool["function"]["name"].as_str().map(str::to_owned);
    Asked {
        turns: messages.filter_map(turn).collect(),
        tools: tools.filter_map(name).collect(),
        is_stream: body["stream"] == true,
        schema: None,
    }
}

fn turn(message: &Value) -> Option<Turn> {
    if message["role"] == "user" {
        return Some(Turn::Person(text_of(&message["content"])));
    }
    let calls = message["tool_calls"].as_array()?.iter();
    let ids: Vec<_> = calls.filter_map(|call| call["id"].as_str().map(str::to_owned)).collect();
    (!ids.is_empty()).then_some(Turn::Model(ids))
}

pub(crate) fn answer(reply: &Reply, asked: &Asked, model: &Value) -> Answer {
    let calls = calls(reply);
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 });
    let base = json!({ "id": unique("chatcmpl-"), "created": 0, "model": model });
    if asked.is_stream {
        return Answer::Stream(events(&base, &reply.text, &calls, finish, &usage));
    }
    let mut whole = base;
    let message = json!({ "role": "assistant", "content": reply.text, "tool_calls": calls });
    whole["object"] = "chat.completion".into();
    whole["choices"] = json!([{ "index": 0, "message": message, "finish_reason": finish }]);
    whole["usage"] = usage;
    Answer::Json(whole)
}

fn calls(reply: &Reply) -> Vec<Value> {
    let call = |(index, call): (usize, &super::wire::Asking)| {
        let Input::Named(input) = &call.input else { unreachable!("chat tools take objects") };
        json!({ "index": index, "id": format!("call_{}", call.id), "type": "function",
            "function": { "name": call.tool, "arguments": input.to_string() } })
    };
    reply.calls.iter().enumerate().map(call).collect()
}

fn events(base: &Value, text: &str, calls: &[Value], finish: &str, usage: &Value) -> Vec<Event> {
    let chunk = |choices: Value| {
        let mut chunk = base.clone();
        chunk["object"] = "chat.completion.chunk".into();
        chunk["choices"] = choices;
        chunk
    };
    let delta = |delta: Value, finish: Value| {
        Event::unnamed(&chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }])))
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": text }), Value::Null)];
    events.extend(calls.iter().map(|call| delta(json!({ "tool_calls": [call] }), Value::Null)));
    events.push(delta(json!({}), finish.into()));
    let mut last = chunk(json!([]));
    last["usage"] = usage.clone();
    events.push(Event::unnamed(&last));
    events.push(Event { name: None, data: "[DONE]".to_owned() });
    events
}
