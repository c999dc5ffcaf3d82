//! Renders an event of the journal for the stream: a name and JSON.
//!
//! Every event has the same first fields, whatever others call them (C-1, C-21): where it stands,
//! when it was, and whose it is. What else the journal knows of it comes beside them. Contents of
//! files are in none of them but the diff of `file_edit`. Secrets in words and diffs are masked.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use retake_engine::model::{Change, ChangeId, ProjectPath};
use retake_engine::{JournalEvent, Project, Reader, StaleFile, iso};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::compat;
use crate::{Masking, documents};

/// The names of all events that the journal has, for filters.
pub const NAMES: &[&str] = &[
    "dialog_start",
    "user",
    "assistant_message",
    "message_completed",
    "history_added",
    "conversation_view",
    "tool_begin",
    "tool_end",
    "tools_over",
    "task_end",
    "turn_end",
    "dialog_end",
    "file_changed",
    "file_change_status",
    "git",
    "baseline",
    "checkpoint",
    "operation",
    "approved",
    "session_abandoned",
    "gaps",
    "rules_changed",
    "lost_event",
    "reconciled",
    "collected",
    "purged",
    "stale_context",
    "context_tracked",
    "context_imported",
];

/// Fields with text of people and agents, which is masked.
const WORDS: [&str; 4] = ["content", "text", "title", "message"];

/// The event at one `seq`, perhaps under several names.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The place.
    pub seq: u64,
    /// Names and data; the event's own name comes last.
    pub entries: Vec<(Cow<'static, str>, Value)>,
}

/// The name under which a kind of the journal goes out.
pub(super) fn name_of(kind: &str) -> &str {
    match kind {
        "user_message" => "user",
        kind => kind,
    }
}

/// The change that an event is about.
pub(super) fn change_of(event: &JournalEvent) -> Option<ChangeId> {
    let in_body = || event.body["change"].as_str().and_then(|id| id.parse().ok());
    event.change.or_else(in_body)
}

/// Renders a project's events.
pub(super) struct Teller<'p> {
    pub(super) project: &'p Project,
    /// Also under the names of older designs.
    pub(super) compat: bool,
    pub(super) masking: Masking,
}

impl Teller<'_> {
    /// An event, with the change that it is about if that is on record.
    pub(super) fn tell(&self, event: &JournalEvent, change: Option<&Change>) -> Told {
        let mut data = self.common(event, change);
        match (event.kind.as_str(), change) {
            ("user_message", _) => add(&mut data, user(&event.body)),
            ("file_changed", Some(change)) => add(&mut data, file_changed(change)),
            ("file_change_status", _) => add(&mut data, status(&event.body)),
            ("stale_context", _) => add(&mut data, stale_context(&event.body)),
            // The lines themselves may hold anything.
            ("lost_event", _) => {
                add(&mut data, json!({ "lines": event.body["lines"].as_array().map(Vec::len) }));
            }
            _ => add(&mut data, event.body.clone()),
        }
        for key in WORDS {
            if let Some(Value::String(text)) = data.get_mut(key) {
                *text = self.masking.text(text).into_owned();
            }
        }
        // Others know a work session by its name.
        if let Some(number) = data.get("session").and_then(Value::as_u64) {
            data.insert("session".to_owned(), format!("session_{number}").into());
        }
        let mut entries = match (event.kind.as_str(), change) {
            _ if !self.compat => Vec::new(),
            ("file_changed", Some(change)) => compat::entries(self.project, change, self.masking),
            ("stale_context", _) => compat::warning(&data),
            _ => Vec::new(),
        };
        entries.push((name_of(&event.kind).to_owned().into(), Value::Object(data)));
        Told { seq: event.seq, entries }
    }

    fn common(&self, event: &JournalEvent, change: Option<&Change>) -> Map<String, Value> {
        let mut data = Map::new();
        add(
            &mut data,
            json!({
                "type": name_of(&event.kind),
                "seq": event.seq,
                "timestamp": iso(event.at),
                "project": self.project.id(),
                "dialog_id": event.dialog,
                "session_id": event.dialog,
                "agent_id": event.agent,
                "tool_call_id": event.call,
            }),
        );
        if let Some(change) = change {
            add(
                &mut data,
                json!({
                    "path": change.path.to_string(),
                    "file_path": absolute(self.project.root(), &change.path),
                    "tool_call_id": self.project.tool_call_id(change).ok().flatten(),
                }),
            );
        }
        data
    }
}

fn user(body: &Value) -> Value {
    json!({
        "content": body["text"], "message_index": body["message_index"],
        "checkpoint": body["checkpoint"], "session": body["session"],
    })
}

fn file_changed(change: &Change) -> Value {
    json!({
        "change_id": change.id.to_string(),
        "old_path": change.old_path.as_ref().map(ToString::to_string),
        "change_type": change.change_type,
        "operation": change.operation,
        "actor": change.actor,
        "confidence": change.confidence,
        "change": documents::Change::from(change),
    })
}

fn stale_context(body: &Value) -> Value {
    let files: Vec<_> =
        stale_files(body).map(|file| documents::StaleFile::new(&file, Reader::Person)).collect();
    json!({ "reaction": body["reaction"], "count": body["count"], "files": files })
}

/// The files that an event tells to be stale; of many, the first few.
pub(super) fn stale_files(body: &Value) -> impl Iterator<Item = StaleFile> {
    let files = body["files"].as_array().into_iter().flatten();
    files.filter_map(|file| StaleFile::deserialize(file).ok())
}

fn status(body: &Value) -> Value {
    json!({
        "change_id": body["change"], "status": body["status"], "approved": body["approved"],
    })
}

fn add(data: &mut Map<String, Value>, more: Value) {
    if let Value::Object(more) = more {
        data.extend(more);
    }
}

pub(super) fn absolute(root: &Path, path: &ProjectPath) -> String {
    root.join(OsStr::from_bytes(path.as_bytes())).display().to_string()
}
