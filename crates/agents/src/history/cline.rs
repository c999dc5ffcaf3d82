//! Cline: one document with Anthropic's messages, each with an id.

use retake_model::{ModelMessage, Role};
use serde_json::{Value, json};

use super::pen::{Pen, clock, pretty};
use super::reader::About;
use super::{Conversation, Problem, block};
use crate::Agent;
use crate::transcript::{Count, State};
use crate::wire::{is_true, list};

pub(super) fn read(document: &Value) -> Conversation {
    let mut about = About::default();
    about.learn(document, "/sessionId", "/cwd");
    messages(list(document, "/messages")).about(about)
}

/// Messages of the form `{role, content, ts, isSummary}`.
pub(super) fn messages(listed: &[Value]) -> Conversation {
    let mut said = Count::on(Agent::Cline, State::default());
    let mut read = Conversation::default();
    for (number, one) in listed.iter().enumerate() {
        match message(&mut said, one) {
            Ok(message) => read.messages.push(message),
            Err(why) => {
                let place = format!("message {number}");
                read.problems.push(Problem { place, why: why.to_owned() });
            }
        }
    }
    read
}

fn message(said: &mut Count, message: &Value) -> Result<ModelMessage, &'static str> {
    let role = message.get("role").and_then(Value::as_str);
    let role: Role =
        role.and_then(|role| role.parse().ok()).ok_or("its role is neither user nor assistant")?;
    let content =
        message.get("content").filter(|content| content.is_string() || content.is_array());
    let content = block::from_content(content.ok_or("its content is neither a text nor a list")?);
    let is_summary = is_true(message, "/isSummary");
    let index = if is_summary { None } else { said.line(message).map(|spoken| spoken.index) };
    Ok(ModelMessage { role, content, ts: block::time(message, "/ts"), is_summary, index })
}

pub(super) fn write(pen: &Pen) -> String {
    let messages = pen.messages().map(|carried| {
        let mut message = json!({
            "id": pen.uuid("message", carried.place),
            "role": carried.message.role,
            "content": carried.content,
            "ts": carried.at,
        });
        if carried.message.is_summary {
            message["isSummary"] = true.into();
        }
        message
    });
    pretty(&json!({
        "version": 1,
        "updated_at": clock(pen.end()),
        "agent": "lead",
        "sessionId": pen.session,
        "origin": {"source": "cli", "mode": "user", "sessionId": pen.session},
        "messages": messages.collect::<Vec<_>>(),
    }))
}
