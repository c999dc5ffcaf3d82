//! Claude Code: one line per content block, chained by `parentUuid`.
//!
//! Lines of one assistant message share `message.id`. After a compaction the conversation restarts
//! behind a boundary, with a summary (`isCompactSummary`). Lines that Claude Code adds for itself
//! (`isMeta`) are no messages.

use retake_model::Role;
use serde_json::{Value, json};

use super::block;
use super::pen::{Carried, Pen, clock, lines};
use super::reader::Reader;
use crate::wire::{is_true, text};

/// Claude Code version that this format was derived from.
const VERSION: &str = "2.1.325";

pub(super) fn line(reader: &mut Reader, line: &Value) {
    let spoken = reader.hear(line);
    let Some(message) = line.get("message").filter(|message| message.is_object()) else {
        return;
    };
    if reader.is_foreign(line) {
        return;
    }
    let content = block::from_content(message.get("content").unwrap_or(&Value::Null));
    let ts = block::time(line, "/timestamp");
    let index = spoken.map(|spoken| spoken.index);
    match text(line, "/type") {
        Some("assistant") => {
            let Some(index) = index else { return };
            reader.assistant(index, content, ts);
        }
        Some("user") if is_true(line, "/isCompactSummary") => drop(reader.summary(content, ts)),
        Some("user") if is_true(line, "/isMeta") || is_true(line, "/isVisibleInTranscriptOnly") => {
            return;
        }
        Some("user") if content.iter().any(|block| block::is(block, "tool_result")) => {
            reader.results(content, ts);
        }
        Some("user") => drop(reader.user(content, ts, index)),
        _ => return,
    }
    reader.about.learn(line, "/sessionId", "/cwd");
    if is_true(line, "/isSidechain") {
        reader.about.subagent = text(line, "/agentId").map(Into::into);
    }
}

pub(super) fn write(pen: &Pen) -> String {
    let mut chain = Chain { pen, written: Vec::new(), last: None };
    for carried in pen.messages() {
        chain.message(&carried);
    }
    lines(&chain.written)
}

/// The lines so far.
struct Chain<'a> {
    pen: &'a Pen<'a>,
    written: Vec<Value>,
    last: Option<String>,
}

impl Chain<'_> {
    fn message(&mut self, carried: &Carried) {
        match carried.message.role {
            // The model gets a summary from the user, whatever its author.
            _ if carried.message.is_summary => {
                self.boundary(carried);
                self.user(carried);
            }
            Role::User => self.user(carried),
            Role::Assistant => {
                let blocks = carried.content.chunks(1);
                // A message without blocks is a line, too.
                let none = carried.content.is_empty().then_some(&[][..]);
                blocks.chain(none).for_each(|blocks| self.assistant(carried, blocks));
            }
        }
    }

    fn user(&mut self, carried: &Carried) {
        let mut line = json!({
            "type": "user",
            "message": {"role": "user", "content": carried.content},
        });
        if carried.message.is_summary {
            line["isCompactSummary"] = true.into();
            line["isVisibleInTranscriptOnly"] = true.into();
        }
        self.push(carried, line);
    }

    fn assistant(&mut self, carried: &Carried, blocks: &[Value]) {
        let calls = carried.content.iter().any(|block| block::is(block, "tool_use"));
        let id = self.pen.uuid("message", carried.place).replace('-', "");
        let line = json!({
            "type": "assistant",
            "message": {
                "id": format!("msg_{id}"),
                "type": "message",
                "role": "assistant",
                "model": "unknown",
                "content": blocks,
                "stop_reason": if calls { "tool_use" } else { "end_turn" },
                "stop_sequence": null,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
        });
        self.push(carried, line);
    }

    /// Claude Code gives its model what comes after this line, and the line has no parent.
    fn boundary(&mut self, carried: &Carried) {
        let before = self.last.take();
        let line = json!({
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "level": "info",
            "isMeta": false,
            "logicalParentUuid": before,
            "compactMetadata": {"trigger": "manual", "preTokens": 0},
        });
        self.push(carried, line);
    }

    /// Writes a line with what all lines have.
    fn push(&mut self, carried: &Carried, mut line: Value) {
        let uuid = self.pen.uuid("line", self.written.len());
        let subagent = self.pen.conversation.subagent.as_ref();
        line["uuid"] = uuid.as_str().into();
        line["parentUuid"] = self.last.replace(uuid).into();
        line["sessionId"] = self.pen.session.as_str().into();
        line["timestamp"] = clock(carried.at).into();
        line["cwd"] = self.pen.folder().into();
        line["version"] = VERSION.into();
        line["userType"] = "external".into();
        line["isSidechain"] = subagent.is_some().into();
        if let Some(agent) = subagent {
            line["agentId"] = agent.0.as_str().into();
        }
        self.written.push(line);
    }
}
