//! Claude Code: one line per content block, chained by `parentUuid`.
//!
//! Lines of one assistant message share `message.id`. After a compaction the conversation restarts
//! behind a boundary, with a summary (`isCompactSummary`). Lines that Claude Code adds for itself
//! (`isMeta`) are no messages.

use retake_model::MessageRole;
use serde_json::{Value, json};

use crate::AgentKind;
use crate::history::reader::HistoryReader;
use crate::history::writer::{
    ConversationWriter, EncodableMessage, json_lines, rfc3339, uuid_session_id,
};
use crate::history::{FormatReader, FormatSpec, HistoryFormat, block, is_uuid, jsonl_stem};
use crate::wire::{is_true, text};

/// Claude Code version that this format was derived from.
const CLAUDE_CODE_VERSION: &str = "2.1.325";

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    format: HistoryFormat::ClaudeCode,
    name: "claude-code",
    counts_like: AgentKind::ClaudeCode,
    is_anthropic: true,
    matches,
    matches_name,
    session_id: uuid_session_id,
    file_name: |id| format!("{id}.jsonl"),
    read: FormatReader::Lines(read_line),
    write,
};

fn matches(line: &Value) -> bool {
    let is_typed = text(line, "/type").is_some_and(|kind| !kind.is_empty());
    let is_named = line.get("sessionId").is_some() || line.get("uuid").is_some();
    is_typed && (is_named || line.pointer("/message/role").is_some())
}

fn matches_name(name: &str) -> bool {
    jsonl_stem(name).is_some_and(|stem| stem.starts_with("agent-") || is_uuid(stem))
}

fn read_line(reader: &mut HistoryReader, line: &Value) {
    let counted = reader.count_line(line);
    let Some(message) = line.get("message").filter(|message| message.is_object()) else {
        return;
    };
    if reader.is_foreign(line) {
        return;
    }
    let content = block::from_content(message.get("content").unwrap_or(&Value::Null));
    let ts = block::time_at(line, "/timestamp");
    let index = counted.map(|counted| counted.index);
    match text(line, "/type") {
        Some("assistant") => {
            let Some(index) = index else { return };
            reader.add_assistant(index, content, ts);
        }
        Some("user") if is_true(line, "/isCompactSummary") => drop(reader.add_summary(content, ts)),
        Some("user") if is_true(line, "/isMeta") || is_true(line, "/isVisibleInTranscriptOnly") => {
            return;
        }
        Some("user") if content.iter().any(|block| block::is_type(block, "tool_result")) => {
            reader.add_results(content, ts);
        }
        Some("user") => drop(reader.add_user(content, ts, index)),
        _ => return,
    }
    reader.header.fill_from(line, "/sessionId", "/cwd");
    if is_true(line, "/isSidechain") {
        reader.header.subagent = text(line, "/agentId").map(Into::into);
    }
}

fn write(writer: &ConversationWriter) -> String {
    let mut chain = ClaudeCodeWriter { writer, written: Vec::new(), last: None };
    for encodable in writer.messages() {
        chain.message(&encodable);
    }
    json_lines(&chain.written)
}

/// The lines so far.
struct ClaudeCodeWriter<'a> {
    writer: &'a ConversationWriter<'a>,
    written: Vec<Value>,
    last: Option<String>,
}

impl ClaudeCodeWriter<'_> {
    fn message(&mut self, encodable: &EncodableMessage) {
        match encodable.message.role {
            // The model gets a summary from the user, whatever its author.
            _ if encodable.message.is_summary => {
                self.boundary(encodable);
                self.user(encodable);
            }
            MessageRole::User => self.user(encodable),
            MessageRole::Assistant => {
                let blocks = encodable.content.chunks(1);
                // A message without blocks is a line, too.
                let none = encodable.content.is_empty().then_some(&[][..]);
                blocks.chain(none).for_each(|blocks| self.assistant(encodable, blocks));
            }
        }
    }

    fn user(&mut self, encodable: &EncodableMessage) {
        let mut line = json!({
            "type": "user",
            "message": {"role": "user", "content": encodable.content},
        });
        if encodable.message.is_summary {
            line["isCompactSummary"] = true.into();
            line["isVisibleInTranscriptOnly"] = true.into();
        }
        self.push(encodable, line);
    }

    fn assistant(&mut self, encodable: &EncodableMessage, blocks: &[Value]) {
        let calls = encodable.content.iter().any(|block| block::is_type(block, "tool_use"));
        let id = self.writer.uuid("message", encodable.place).replace('-', "");
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
        self.push(encodable, line);
    }

    /// Claude Code gives its model what comes after this line, and the line has no parent.
    fn boundary(&mut self, encodable: &EncodableMessage) {
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
        self.push(encodable, line);
    }

    /// Writes a line with what all lines have.
    fn push(&mut self, encodable: &EncodableMessage, mut line: Value) {
        let uuid = self.writer.uuid("line", self.written.len());
        let subagent = self.writer.conversation.subagent.as_ref();
        line["uuid"] = uuid.as_str().into();
        line["parentUuid"] = self.last.replace(uuid).into();
        line["sessionId"] = self.writer.session_id.as_str().into();
        line["timestamp"] = rfc3339(encodable.at).into();
        line["cwd"] = self.writer.folder().into();
        line["version"] = CLAUDE_CODE_VERSION.into();
        line["userType"] = "external".into();
        line["isSidechain"] = subagent.is_some().into();
        if let Some(agent) = subagent {
            line["agentId"] = agent.0.as_str().into();
        }
        self.written.push(line);
    }
}
