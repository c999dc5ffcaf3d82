//! Copilot CLI: one line per event, chained by `parentId`.
//!
//! A message is one event; what a tool answered is the event of its end. What Copilot injects as
//! the user's, and what the model thought, is opaque. Lines with an `agentId` are a subagent's, and
//! not of this conversation.

use retake_model::{MessageRole, Millis};
use serde_json::{Map, Value, json};

use crate::AgentKind;
use crate::history::reader::HistoryReader;
use crate::history::writer::{
    ConversationWriter, EncodableMessage, json_lines, rfc3339, uuid_session_id,
};
use crate::history::{FormatReader, FormatSpec, HistoryFormat, block};
use crate::wire::{is_true, list, parse_embedded, text};

/// Copilot version that this format was derived from.
const COPILOT_VERSION: &str = "1.0.102";

/// Keys of an event that hold the model's thinking.
const THINKING_KEYS: &[&str] =
    &["reasoningId", "reasoningText", "reasoningOpaque", "encryptedContent", "phase"];

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    format: HistoryFormat::Copilot,
    name: "copilot",
    counts_like: AgentKind::Copilot,
    is_anthropic: false,
    matches,
    matches_name: |name| name == "events.jsonl",
    session_id: uuid_session_id,
    file_name: |_| "events.jsonl".to_owned(),
    read: FormatReader::Lines(read_line),
    write,
};

fn matches(line: &Value) -> bool {
    let is_event = text(line, "/type").is_some_and(|kind| kind.contains('.'));
    is_event && line.get("data").is_some_and(Value::is_object)
}

fn read_line(reader: &mut HistoryReader, line: &Value) {
    let counted = reader.count_line(line);
    let Some(data) = line.get("data").filter(|_| text(line, "/agentId").is_none()) else {
        return;
    };
    let (ts, index) = (block::time_at(line, "/timestamp"), counted.map(|counted| counted.index));
    match (text(line, "/type").unwrap_or_default(), index) {
        ("session.start", _) => reader.header.fill_from(data, "/sessionId", "/context/cwd"),
        ("user.message", _) => drop(reader.add_user(user_blocks(data), ts, index)),
        ("assistant.message", Some(index)) => {
            reader.add_assistant(index, assistant_blocks(data), ts);
        }
        ("tool.execution_complete", _) => drop(reader.add_results(result_blocks(data), ts)),
        ("session.compaction_complete", _) => {
            let summary = summary_blocks(data);
            if !summary.is_empty() {
                reader.add_summary(summary, ts);
            }
        }
        _ => {}
    }
}

fn user_blocks(data: &Value) -> Vec<Value> {
    let injected = text(data, "/source").is_some_and(|source| source != "user");
    block::exact_blocks(data).unwrap_or_else(|| match text(data, "/content") {
        _ if injected => vec![block::opaque(HistoryFormat::Copilot, data.clone())],
        Some(words) => vec![block::text(words)],
        None => vec![],
    })
}

fn assistant_blocks(data: &Value) -> Vec<Value> {
    if let Some(blocks) = block::exact_blocks(data) {
        return blocks;
    }
    let thought = |key: &&&str| data.get(**key).is_some_and(|value| !value.is_null());
    let thinking = THINKING_KEYS.iter().filter(thought);
    let thinking: Map<String, Value> =
        thinking.map(|key| ((*key).to_owned(), data[*key].clone())).collect();
    let thinking =
        (!thinking.is_empty()).then(|| block::opaque(HistoryFormat::Copilot, thinking.into()));
    let words = text(data, "/content").filter(|words| !words.is_empty()).map(block::text);
    let calls = list(data, "/toolRequests").iter().filter_map(|call| {
        let input = call.get("arguments").map_or(Value::Null, parse_embedded);
        Some(block::tool_use(text(call, "/toolCallId")?, text(call, "/name")?, input))
    });
    thinking.into_iter().chain(words).chain(calls).collect()
}

fn result_blocks(data: &Value) -> Vec<Value> {
    if let Some(blocks) = block::exact_blocks(data) {
        return blocks;
    }
    let Some(id) = text(data, "/toolCallId") else {
        return vec![];
    };
    let failed = data.get("success").and_then(Value::as_bool) == Some(false);
    let answer = text(data, "/result/content").or_else(|| text(data, "/error/message"));
    vec![block::tool_result(id, answer.unwrap_or_default().into(), failed)]
}

fn summary_blocks(data: &Value) -> Vec<Value> {
    let summary_content =
        || text(data, "/summaryContent").map(|summary| vec![block::text(summary)]);
    block::exact_blocks(data).or_else(summary_content).unwrap_or_default()
}

fn write(writer: &ConversationWriter) -> String {
    let mut events = CopilotWriter { writer, written: Vec::new(), turn: 0 };
    let begin = writer.started_at();
    let start = json!({
        "sessionId": writer.session_id,
        "version": 1,
        "producer": "copilot-agent",
        "copilotVersion": COPILOT_VERSION,
        "startTime": rfc3339(begin),
        "context": {"cwd": writer.folder()},
    });
    events.push("session.start", begin, start);
    for encodable in writer.messages() {
        match encodable.message.role {
            _ if encodable.message.is_summary => events.summary(&encodable),
            MessageRole::User => events.user(&encodable),
            MessageRole::Assistant => events.assistant(&encodable),
        }
    }
    json_lines(&events.written)
}

/// The events so far.
struct CopilotWriter<'a> {
    writer: &'a ConversationWriter<'a>,
    written: Vec<Value>,
    turn: usize,
}

impl CopilotWriter<'_> {
    fn push(&mut self, kind: &str, at: Millis, data: Value) {
        let parent = self.written.last().map(|last| last["id"].clone());
        let id = self.writer.uuid("event", self.written.len());
        let mut line =
            json!({"type": kind, "id": id, "timestamp": rfc3339(at), "parentId": parent});
        line["data"] = data;
        self.written.push(line);
    }

    fn summary(&mut self, encodable: &EncodableMessage) {
        let data =
            json!({"success": true, "summaryContent": block::spoken_text(&encodable.content)});
        let data = block::with_exact_blocks(data, &encodable.content, summary_blocks);
        self.push("session.compaction_complete", encodable.at, data);
    }

    fn user(&mut self, encodable: &EncodableMessage) {
        let is_result = |block: &&Value| block::is_type(block, "tool_result");
        let (results, words): (Vec<&Value>, Vec<&Value>) =
            encodable.content.iter().partition(is_result);
        for result in &results {
            let answer = block::plain_text(result.get("content").unwrap_or(&Value::Null));
            let failed = is_true(result, "/is_error");
            let mut data = json!({"toolCallId": result.get("tool_use_id"), "success": !failed});
            let (key, value) = if failed {
                ("error", json!({"message": answer, "code": "failure"}))
            } else {
                ("result", json!({"content": answer}))
            };
            data[key] = value;
            let data = block::with_exact_blocks(data, std::slice::from_ref(*result), result_blocks);
            self.push("tool.execution_complete", encodable.at, data);
        }
        if !results.is_empty() && words.is_empty() {
            return;
        }
        let words: Vec<Value> = words.into_iter().cloned().collect();
        let own = words.iter().find_map(|block| block::own_item(HistoryFormat::Copilot, block));
        let data = own.cloned().unwrap_or_else(|| json!({"content": block::spoken_text(&words)}));
        self.push(
            "user.message",
            encodable.at,
            block::with_exact_blocks(data, &words, user_blocks),
        );
    }

    fn assistant(&mut self, encodable: &EncodableMessage) {
        let turn = self.turn.to_string();
        self.turn += 1;
        let calls = encodable.content.iter().filter(|block| block::is_type(block, "tool_use"));
        let calls = calls.map(|call| {
            json!({"toolCallId": call.get("id"), "name": call.get("name"),
                "arguments": call.get("input"), "type": "function"})
        });
        let calls: Vec<Value> = calls.collect();
        let mut data = json!({
            "messageId": self.writer.uuid("message", encodable.place),
            "content": block::spoken_text(&encodable.content),
            "toolRequests": calls,
        });
        for (key, value) in encodable.content.iter().filter_map(own_thinking).flatten() {
            data[key] = value.clone();
        }
        self.push("assistant.turn_start", encodable.at, json!({"turnId": turn}));
        self.push(
            "assistant.message",
            encodable.at,
            block::with_exact_blocks(data, &encodable.content, assistant_blocks),
        );
        for call in calls {
            let begin = json!({"toolCallId": call["toolCallId"], "toolName": call["name"],
                "arguments": call["arguments"]});
            self.push("tool.execution_start", encodable.at, begin);
        }
        self.push("assistant.turn_end", encodable.at, json!({"turnId": turn}));
    }
}

fn own_thinking(block: &Value) -> Option<&Map<String, Value>> {
    block::own_item(HistoryFormat::Copilot, block)?.as_object()
}
