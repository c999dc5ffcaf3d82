//! Cline: one document with Anthropic's messages, each with an id.

use retake_model::{MessageRole, ModelMessage};
use serde_json::{Value, json};

use crate::history::reader::ConversationHeader;
use crate::history::writer::{ConversationWriter, file_session_id, pretty_json, rfc3339};
use crate::history::{Conversation, FormatReader, FormatSpec, HistoryFormat, ReadProblem, block};
use crate::transcript::{MessageCounter, TranscriptState};
use crate::wire::{is_true, list};
use crate::{AgentKind, gemini};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    format: HistoryFormat::Cline,
    name: "cline",
    counts_like: AgentKind::Cline,
    is_anthropic: true,
    matches,
    matches_name: |name| name.ends_with(".messages.json"),
    session_id: file_session_id,
    file_name: |id| format!("{id}.messages.json"),
    read: FormatReader::Document(read),
    write,
};

/// Early versions of Gemini CLI, and opencode, have a list of messages, too.
fn matches(document: &Value) -> bool {
    let is_opencode = |message: &Value| message.get("info").is_some();
    document.get("messages").is_some_and(Value::is_array)
        && !gemini::history::matches(document)
        && !list(document, "/messages").iter().any(is_opencode)
}

fn read(document: &Value) -> Conversation {
    let mut header = ConversationHeader::default();
    header.fill_from(document, "/sessionId", "/cwd");
    read_messages(list(document, "/messages")).with_header(header)
}

/// Messages of the form `{role, content, ts, isSummary}`.
pub(crate) fn read_messages(listed: &[Value]) -> Conversation {
    let mut counter = MessageCounter::resume(AgentKind::Cline, TranscriptState::default());
    let mut read = Conversation::default();
    for (number, one) in listed.iter().enumerate() {
        match parse_message(&mut counter, one) {
            Ok(message) => read.messages.push(message),
            Err(why) => {
                let place = format!("message {number}");
                read.problems.push(ReadProblem { place, why: why.to_owned() });
            }
        }
    }
    read
}

fn parse_message(
    counter: &mut MessageCounter,
    message: &Value,
) -> Result<ModelMessage, &'static str> {
    let role = message.get("role").and_then(Value::as_str);
    let role: MessageRole =
        role.and_then(|role| role.parse().ok()).ok_or("its role is neither user nor assistant")?;
    let content =
        message.get("content").filter(|content| content.is_string() || content.is_array());
    let content = block::from_content(content.ok_or("its content is neither a text nor a list")?);
    let is_summary = is_true(message, "/isSummary");
    let index =
        if is_summary { None } else { counter.count_line(message).map(|counted| counted.index) };
    Ok(ModelMessage { role, content, ts: block::time_at(message, "/ts"), is_summary, index })
}

fn write(writer: &ConversationWriter) -> String {
    let messages = writer.messages().map(|encodable| {
        let mut message = json!({
            "id": writer.uuid("message", encodable.place),
            "role": encodable.message.role,
            "content": encodable.content,
            "ts": encodable.at,
        });
        if encodable.message.is_summary {
            message["isSummary"] = true.into();
        }
        message
    });
    pretty_json(&json!({
        "version": 1,
        "updated_at": rfc3339(writer.ended_at()),
        "agent": "lead",
        "sessionId": writer.session_id,
        "origin": {"source": "cli", "mode": "user", "sessionId": writer.session_id},
        "messages": messages.collect::<Vec<_>>(),
    }))
}
