//! opencode: `{info, messages: [{info, parts}]}` as `opencode export` prints it, or the messages
//! alone.
//!
//! A tool's part holds the call and what it answered. Parts that are neither words, images nor
//! calls (steps, patches, thinking, what opencode added itself) are opaque; their ids and those of
//! their message are not kept, because they only say where a part is.

use std::collections::BTreeMap;

use retake_model::{MessageRole, Millis, ModelMessage};
use serde_json::{Value, json};

use super::transcript::is_synthetic;
use crate::AgentKind;
use crate::history::reader::ConversationHeader;
use crate::history::writer::{
    ConversationWriter, EncodableMessage, ToolResult, pretty_json, uuid_of,
};
use crate::history::{
    Conversation, FormatReader, FormatSpec, HistoryFormat, ReadProblem, block, has_element,
    jsonl_stem,
};
use crate::transcript::{MessageCounter, TranscriptState};
use crate::wire::{is_safe_file_name, is_true, list, text};

/// opencode version that this format was derived from.
const OPENCODE_VERSION: &str = "1.18.33";
/// Placeholder provider and model of a user's message: opencode requires them.
const PLACEHOLDER_MODEL: (&str, &str) = ("unknown", "unknown");
const PART_ID_KEYS: [&str; 3] = ["id", "sessionID", "messageID"];

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    format: HistoryFormat::Opencode,
    name: "opencode",
    counts_like: AgentKind::Opencode,
    is_anthropic: false,
    matches,
    matches_name,
    session_id,
    file_name: |id| format!("{id}.json"),
    read: FormatReader::Document(read),
    write,
};

fn matches(document: &Value) -> bool {
    let is_message = |one: &Value| one.get("info").is_some() && one.get("parts").is_some();
    let is_session = document.get("info").is_some_and(Value::is_object);
    let has_messages = document.get("messages").is_some_and(Value::is_array);
    has_element(document, is_message) || is_session && has_messages
}

/// Cline may have a session of such a name, too.
fn matches_name(name: &str) -> bool {
    let is_other = jsonl_stem(name).is_some() || name.ends_with(".messages.json");
    name.starts_with("ses_") && !is_other
}

fn session_id(dialog: &str) -> String {
    if dialog.starts_with("ses_") && is_safe_file_name(dialog) {
        return dialog.to_owned();
    }
    format!("ses_{}", &uuid_of(dialog).replace('-', "")[..26])
}

pub(crate) fn read(document: &Value) -> Conversation {
    let listed = document.as_array().map_or_else(|| list(document, "/messages"), Vec::as_slice);
    let mut counter = MessageCounter::resume(AgentKind::Opencode, TranscriptState::default());
    let mut read = Conversation::default();
    for (number, one) in listed.iter().enumerate() {
        let index = counter.count_line(one).map(|counted| counted.index);
        if !read_message(&mut read.messages, one, index) {
            let why = "it says not who speaks (info.role)".to_owned();
            read.problems.push(ReadProblem { place: format!("message {number}"), why });
        }
    }
    let first = listed.first().unwrap_or(&Value::Null);
    let mut header = ConversationHeader::default();
    header.fill_from(document, "/info/id", "/info/directory");
    header.fill_from(first, "/info/sessionID", "/info/path/cwd");
    // A session with a parent is a subagent's.
    if let Some(parent) = text(document, "/info/parentID") {
        header.subagent = header.dialog.replace(parent.to_owned()).map(|id| id.as_str().into());
    }
    read.with_header(header)
}

fn read_message(messages: &mut Vec<ModelMessage>, message: &Value, index: Option<u64>) -> bool {
    let role = match text(message, "/info/role") {
        Some("user") => MessageRole::User,
        Some("assistant") => MessageRole::Assistant,
        _ => return false,
    };
    let ts = block::time_at(message, "/info/time/created");
    let is_summary = is_true(message, "/info/summary") || is_true(message, "/info/isSummary");
    let blocks = list(message, "/parts").iter().flat_map(part_blocks);
    let (results, content): (Vec<Value>, Vec<Value>) =
        blocks.partition(|block| block::is_type(block, "tool_result"));
    let only_results = content.is_empty() && !results.is_empty();
    if !only_results {
        messages.push(ModelMessage { role, content, ts, is_summary, index });
    }
    if !results.is_empty() {
        let ended =
            list(message, "/parts").iter().find_map(|part| block::time_at(part, "/state/time/end"));
        let ts = ended.or(ts);
        let role = MessageRole::User;
        messages.push(ModelMessage { role, content: results, ts, is_summary: false, index: None });
    }
    true
}

/// The blocks that a part stands for; a call, and its result if there is one.
fn part_blocks(part: &Value) -> Vec<Value> {
    let image = || {
        let address = text(part, "/url")?;
        text(part, "/mime")?.starts_with("image/").then(|| block::image_from_address(address))?
    };
    if let Some(blocks) = block::exact_blocks(part) {
        return blocks;
    }
    let found = match text(part, "/type") {
        Some("text") if !is_synthetic(part) => {
            text(part, "/text").map(|words| vec![block::text(words)])
        }
        Some("file") if !is_synthetic(part) => image().map(|image| vec![image]),
        Some("tool") => call_blocks(part),
        _ => None,
    };
    found.unwrap_or_else(|| {
        let mut item = part.clone();
        if let Some(item) = item.as_object_mut() {
            item.retain(|key, _| !PART_ID_KEYS.contains(&key.as_str()));
        }
        vec![block::opaque(HistoryFormat::Opencode, item)]
    })
}

fn call_blocks(part: &Value) -> Option<Vec<Value>> {
    let id = text(part, "/callID")?;
    let input = part.pointer("/state/input").cloned().unwrap_or_else(|| json!({}));
    let call = block::tool_use(id, text(part, "/tool")?, input);
    let result = match text(part, "/state/status") {
        Some("completed") => {
            let output = text(part, "/state/output").unwrap_or_default();
            Some(block::tool_result(id, output.into(), false))
        }
        Some("error") => {
            let error = text(part, "/state/error").unwrap_or_default();
            Some(block::tool_result(id, error.into(), true))
        }
        _ => None,
    };
    Some([call].into_iter().chain(result).collect())
}

fn write(writer: &ConversationWriter) -> String {
    let opencode =
        OpencodeWriter { writer, answers: writer.tool_results(), tools: writer.tool_names() };
    let messages: Vec<Value> =
        writer.messages().filter_map(|encodable| opencode.message(encodable)).collect();
    let title = messages.iter().find_map(|message| text(message, "/parts/0/text"));
    let title: String = title.unwrap_or("Conversation").chars().take(80).collect();
    let mut info = json!({
        "id": writer.session_id,
        "slug": writer.session_id,
        "projectID": "global",
        "directory": writer.folder(),
        "title": title,
        "version": OPENCODE_VERSION,
        "time": {"created": writer.started_at(), "updated": writer.ended_at()},
    });
    if let Some(agent) = &writer.conversation.subagent {
        info["id"] = agent.0.as_str().into();
        info["parentID"] = writer.session_id.as_str().into();
    }
    pretty_json(&json!({"info": info, "messages": messages}))
}

struct OpencodeWriter<'a> {
    writer: &'a ConversationWriter<'a>,
    answers: BTreeMap<&'a str, ToolResult<'a>>,
    tools: BTreeMap<&'a str, &'a str>,
}

impl OpencodeWriter<'_> {
    /// A message, unless it holds only results: they are written with their calls.
    fn message(&self, mut encodable: EncodableMessage) -> Option<Value> {
        if !ConversationWriter::drop_paired_results(&mut encodable, &self.tools) {
            return None;
        }
        let id = self.id("msg", encodable.place, 0);
        let parts = encodable.content.iter().enumerate().map(|(number, block)| {
            let mut part = self.part(block, &encodable);
            part["id"] = self.id("prt", encodable.place, number + 1).into();
            part["messageID"] = id.as_str().into();
            part["sessionID"] = self.writer.session_id.as_str().into();
            part
        });
        let parts: Vec<Value> = parts.collect();
        Some(json!({"info": self.info(&encodable, &id), "parts": parts}))
    }

    /// opencode sorts by ids, so they grow with the place.
    fn id(&self, what: &str, place: usize, number: usize) -> String {
        let rest = self.writer.uuid(what, place).replace('-', "");
        format!("{what}_{place:08x}{number:04x}{}", &rest[..14])
    }

    fn info(&self, encodable: &EncodableMessage, id: &str) -> Value {
        let (provider, model) = PLACEHOLDER_MODEL;
        let mut info = json!({"id": id, "sessionID": self.writer.session_id, "agent": "build"});
        info["role"] = encodable.message.role.as_str().into();
        if encodable.message.role == MessageRole::User {
            info["time"] = json!({"created": encodable.at});
            info["model"] = json!({"providerID": provider, "modelID": model});
            // `summary` means something else here.
            if encodable.message.is_summary {
                info["isSummary"] = true.into();
            }
            return info;
        }
        let folder = self.writer.folder();
        info["time"] = json!({"created": encodable.at, "completed": encodable.at});
        info["parentID"] = self.id("msg", encodable.place.saturating_sub(1), 0).into();
        info["providerID"] = provider.into();
        info["modelID"] = model.into();
        info["mode"] = "build".into();
        info["path"] = json!({"cwd": folder, "root": folder});
        info["cost"] = 0.into();
        info["tokens"] =
            json!({"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}});
        if encodable.message.is_summary {
            info["summary"] = true.into();
        }
        info
    }

    fn part(&self, block: &Value, encodable: &EncodableMessage) -> Value {
        if let Some(item) = block::own_item(HistoryFormat::Opencode, block) {
            return item.clone();
        }
        let words = || text(block, "/text").unwrap_or_default();
        let part = match text(block, "/type") {
            Some("tool_use") => return self.call(block, encodable.at),
            // A result without its call, and a summary, are not spoken text.
            Some("tool_result") => {
                let words = block::plain_text(block.get("content").unwrap_or(&Value::Null));
                json!({"type": "text", "text": words, "synthetic": true})
            }
            Some("image") => {
                let media = text(block, "/source/media_type").unwrap_or("image/png");
                json!({"type": "file", "mime": media, "url": block::image_address(block).unwrap_or_default()})
            }
            _ if encodable.message.is_summary => {
                json!({"type": "text", "text": words(), "synthetic": true})
            }
            _ => json!({"type": "text", "text": words()}),
        };
        block::with_exact_blocks(part, std::slice::from_ref(block), part_blocks)
    }

    fn call(&self, call: &Value, at: Millis) -> Value {
        let id = text(call, "/id").unwrap_or_default();
        let answer = self.answers.get(id);
        let input = call.get("input");
        let state = match answer {
            None => json!({"status": "pending", "input": input, "raw": ""}),
            Some(ToolResult { block, at: end }) => {
                let words = block::plain_text(block.get("content").unwrap_or(&Value::Null));
                let time = json!({"start": at, "end": end});
                if is_true(block, "/is_error") {
                    json!({"status": "error", "input": input, "error": words, "time": time})
                } else {
                    json!({"status": "completed", "input": input, "output": words, "title": "",
                        "metadata": {}, "time": time})
                }
            }
        };
        let part = json!({"type": "tool", "callID": id, "tool": call.get("name"), "state": state});
        let result = answer.map(|answer| answer.block.clone());
        let both: Vec<Value> = [call.clone()].into_iter().chain(result).collect();
        block::with_exact_blocks(part, &both, part_blocks)
    }
}
