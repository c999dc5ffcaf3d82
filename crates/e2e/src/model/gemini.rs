//! Gemini's generateContent. The wire has no call ids.

use serde_json::{Value, json};

use super::conversation::{ConversationTurn, ModelRequest, names};
use super::tools::ToolInput;
use super::wire::{ModelReply, WireAnswer, WireEvent, unique_id};

pub(crate) fn read(body: &Value, is_stream: bool) -> ModelRequest {
    let contents = body["contents"].as_array().into_iter().flatten();
    let groups = body["tools"].as_array().into_iter().flatten();
    let config = &body["generationConfig"];
    let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
    ModelRequest {
        turns: contents.filter_map(turn).collect(),
        tools: groups.flat_map(|group| names(&group["functionDeclarations"], "name")).collect(),
        is_stream,
        schema: schema.cloned(),
    }
}

fn turn(content: &Value) -> Option<ConversationTurn> {
    let parts = &content["parts"];
    if content["role"] == "user" {
        return Some(ConversationTurn::Person(super::conversation::text_of(parts)));
    }
    let calls = parts.as_array()?.iter().any(|part| part.get("functionCall").is_some());
    calls.then(|| ConversationTurn::Model(Vec::new()))
}

pub(crate) fn answer(reply: &ModelReply, asked: &ModelRequest) -> WireAnswer {
    let mut parts = vec![json!({ "text": reply.text })];
    parts.extend(reply.calls.iter().map(|call| {
        let ToolInput::Named(input) = &call.input else { unreachable!("Gemini has no free text") };
        json!({ "functionCall": { "name": call.tool, "args": input } })
    }));
    let whole = json!({
        "candidates": [{
            "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata":
            { "promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120 },
        "modelVersion": "scripted", "responseId": unique_id("resp-"),
    });
    if asked.is_stream {
        WireAnswer::Stream(vec![WireEvent::unnamed(&whole)])
    } else {
        WireAnswer::Json(whole)
    }
}
