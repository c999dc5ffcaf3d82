//! Gemini's generateContent. The wire has no call ids.

use serde_json::{Value, json};

use super::talk::{Asked, Turn, names};
use super::tools::Input;
use super::wire::{Answer, Event, Reply, unique};

pub(crate) fn read(body: &Value, is_stream: bool) -> Asked {
    let contents = body["contents"].as_array().into_iter().flatten();
    let groups = body["tools"].as_array().into_iter().flatten();
    let config = &body["generationConfig"];
    let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
    Asked {
        turns: contents.filter_map(turn).collect(),
        tools: groups.flat_map(|group| names(&group["functionDeclarations"], "name")).collect(),
        is_stream,
        schema: schema.cloned(),
    }
}

fn turn(content: &Value) -> Option<Turn> {
    let parts = &content["parts"];
    if content["role"] == "user" {
        return Some(Turn::Person(super::talk::text_of(parts)));
    }
    let calls = parts.as_array()?.iter().any(|part| part.get("functionCall").is_some());
    calls.then(|| Turn::Model(Vec::new()))
}

pub(crate) fn answer(reply: &Reply, asked: &Asked) -> Answer {
    let mut parts = vec![json!({ "text": reply.text })];
    parts.extend(reply.calls.iter().map(|call| {
        let Input::Named(input) = &call.input else { unreachable!("Gemini has no free text") };
        json!({ "functionCall": { "name": call.tool, "args": input } })
    }));
    let whole = json!({
        "candidates": [{
            "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata":
            { "promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120 },
        "modelVersion": "scripted", "responseId": unique("resp-"),
    });
    if asked.is_stream { Answer::Stream(vec![Event::unnamed(&whole)]) } else { Answer::Json(whole) }
}
