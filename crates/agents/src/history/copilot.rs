//! Copilot CLI: one line per event, chained by `parentId`.
//!
//! A message is one event; what a tool answered is the event of its end. What Copilot injects as the
//! user's, and what the model thought, is opaque. Lines with an `agentId` are a subagent's, and
//! not of this conversation.

use retake_model::{Millis, Role};
use serde_json::{Map, Value, json};

use super::pen::{Carried, Pen, clock, lines};
use super::reader::Reader;
use super::{Form, block};
use crate::wire::{is_true, list, text, unquoted};

/// Copilot version that this format was derived from.
const VERSION: &str = "1.0.102";

/// Keys of an event that hold the model's thinking.
const THINKING: &[&str] =
    &["reasoningId", "reasoningText", "reasoningOpaque", "encryptedContent", "phase"];

pub(super) fn line(reader: &mut Reader, line: &Value) {
    let spoken = reader.hear(line);
    let Some(data) = line.get("data").filter(|_| text(line, "/agentId").is_none()) else {
        return;
    };
    let (ts, index) = (block::time(line, "/timestamp"), spoken.map(|spoken| spoken.index));
    match (text(line, "/type").unwrap_or_default(), index) {
        ("session.start", _) => reader.about.learn(data, "/sessionId", "/context/cwd"),
        ("user.message", _) => drop(reader.user(user_blocks(data), ts, index)),
        ("assistant.message", Some(index)) => drop(reader.assistant(index, blocks(data), ts)),
        ("tool.execution_complete", _) => drop(reader.results(result_blocks(data), ts)),
        ("session.compaction_complete", _) => {
            let summary = summary_blocks(data);
            if !summary.is_empty() {
                reader.summary(summary, ts);
            }
        }
        _ => {}
    }
}

fn user_blocks(data: &Value) -> Vec<Value> {
    let injected = text(data, "/source").is_some_and(|source| source != "user");
    block::kept(data).unwrap_or_else(|| match text(data, "/content") {
        _ if injected => vec![block::opaque(Form::Copilot, data.clone())],
        Some(words) => vec![block::text(words)],
        None => vec![],
    })
}

fn blocks(data: &Value) -> Vec<Value> {
    if let Some(blocks) = block::kept(data) {
        return blocks;
    }
    let thought = |key: &&&str| data.get(**key).is_some_and(|value| !value.is_null());
    let thinking = THINKING.iter().filter(thought);
    let thinking: Map<String, Value> =
        thinking.map(|key| ((*key).to_owned(), data[*key].clone())).collect();
    let thinking = (!thinking.is_empty()).then(|| block::opaque(Form::Copilot, thinking.into()));
    let words = text(data, "/content").filter(|words| !words.is_empty()).map(block::text);
    let calls = list(data, "/toolRequests").iter().filter_map(|call| {
        let input = call.get("arguments").map_or(Value::Null, unquoted);
        Some(block::tool_use(text(call, "/toolCallId")?, text(call, "/name")?, input))
    });
    thinking.into_iter().chain(words).chain(calls).collect()
}

fn result_blocks(data: &Value) -> Vec<Value> {
    if let Some(blocks) = block::kept(data) {
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
    let told = || text(data, "/summaryContent").map(|summary| vec![block::text(summary)]);
    block::kept(data).or_else(told).unwrap_or_default()
}

pub(super) fn write(pen: &Pen) -> String {
    let mut events = Events { pen, written: Vec::new(), turn: 0 };
    let begin = pen.begin();
    let start = json!({
        "sessionId": pen.session,
        "version": 1,
        "producer": "copilot-agent",
        "copilotVersion": VERSION,
        "startTime": clock(begin),
        "context": {"cwd": pen.folder()},
    });
    events.push("session.start", begin, start);
    for carried in pen.messages() {
        match carried.message.role {
            _ if carried.message.is_summary => events.summary(&carried),
            Role::User => events.user(&carried),
            Role::Assistant => events.assistant(&carried),
        }
    }
    lines(&events.written)
}

/// The events so far.
struct Events<'a> {
    pen: &'a Pen<'a>,
    written: Vec<Value>,
    turn: usize,
}

impl Events<'_> {
    fn push(&mut self, kind: &str, at: Millis, data: Value) {
        let parent = self.written.last().map(|last| last["id"].clone());
        let id = self.pen.uuid("event", self.written.len());
        let mut line = json!({"type": kind, "id": id, "timestamp": clock(at), "parentId": parent});
        line["data"] = data;
        self.written.push(line);
    }

    fn summary(&mut self, carried: &Carried) {
        let data = json!({"success": true, "summaryContent": block::spoken(&carried.content)});
        let data = block::exact(data, &carried.content, summary_blocks);
        self.push("session.compaction_complete", carried.at, data);
    }

    fn user(&mut self, carried: &Carried) {
        let is_result = |block: &&Value| block::is(block, "tool_result");
        let (results, words): (Vec<&Value>, Vec<&Value>) =
            carried.content.iter().partition(is_result);
        for result in &results {
            let answer = block::words(result.get("content").unwrap_or(&Value::Null));
            let failed = is_true(result, "/is_error");
            let mut data = json!({"toolCallId": result.get("tool_use_id"), "success": !failed});
            let (key, value) = if failed {
                ("error", json!({"message": answer, "code": "failure"}))
            } else {
                ("result", json!({"content": answer}))
            };
            data[key] = value;
            let data = block::exact(data, std::slice::from_ref(*result), result_blocks);
            self.push("tool.execution_complete", carried.at, data);
        }
        if !results.is_empty() && words.is_empty() {
            return;
        }
        let words: Vec<Value> = words.into_iter().cloned().collect();
        let own = words.iter().find_map(|block| block::own_item(Form::Copilot, block));
        let data = own.cloned().unwrap_or_else(|| json!({"content": block::spoken(&words)}));
        self.push("user.message", carried.at, block::exact(data, &words, user_blocks));
    }

    fn assistant(&mut self, carried: &Carried) {
        let turn = self.turn.to_string();
        self.turn += 1;
        let calls = carried.content.iter().filter(|block| block::is(block, "tool_use"));
        let calls = calls.map(|call| {
            json!({"toolCallId": call.get("id"), "name": call.get("name"),
                "arguments": call.get("input"), "type": "function"})
        });
        let calls: Vec<Value> = calls.collect();
        let mut data = json!({
            "messageId": self.pen.uuid("message", carried.place),
            "content": block::spoken(&carried.content),
            "toolRequests": calls,
        });
        for (key, value) in carried.content.iter().filter_map(thinking).flatten() {
            data[key] = value.clone();
        }
        self.push("assistant.turn_start", carried.at, json!({"turnId": turn}));
        self.push("assistant.message", carried.at, block::exact(data, &carried.content, blocks));
        for call in calls {
            let begin = json!({"toolCallId": call["toolCallId"], "toolName": call["name"],
                "arguments": call["arguments"]});
            self.push("tool.execution_start", carried.at, begin);
        }
        self.push("assistant.turn_end", carried.at, json!({"turnId": turn}));
    }
}

fn thinking(block: &Value) -> Option<&Map<String, Value>> {
    block::own_item(Form::Copilot, block)?.as_object()
}
