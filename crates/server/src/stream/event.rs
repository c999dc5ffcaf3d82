//! An event of the journal as it goes out: a name and JSON.
//!
//! Every event has the same first fields, whatever others call them (C-1, C-21): where it stands,
//! when it was, and whose it is. What else the journal knows of it comes beside them. Contents of
//! files are in none of them but the diff of `file_edit`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jiff::Timestamp;
use retake_engine::model::{Change, ChangeId, Millis, ProjectPath, Side};
use retake_engine::{JournalEvent, Project};
use serde_json::{Map, Value, json};

use super::compat;

/// The names of all events that the journal has, for filters.
pub const NAMES: &[&str] = &[
    "dialog_start",
    "user",
    "assistant_message",
    "message_completed",
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
    "lost_event",
    "collected",
    "purged",
];

/// What is told at one place of the order: one event, or one under several names.
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

/// Tells a project's events.
pub(super) struct Teller<'p> {
    pub(super) project: &'p Project,
    /// Also under the names of older designs.
    pub(super) compat: bool,
}

impl Teller<'_> {
    /// An event, with the change that it is about if that is on record.
    pub(super) fn tell(&self, event: &JournalEvent, change: Option<&Change>) -> Told {
        let mut data = self.common(event, change);
        match (event.kind.as_str(), change) {
            ("user_message", _) => add(&mut data, user(&event.body)),
            ("file_changed", Some(change)) => add(&mut data, file_changed(change)),
            ("file_change_status", _) => add(&mut data, status(&event.body)),
            // The lines themselves may hold anything.
            ("lost_event", _) => {
                add(&mut data, json!({ "lines": event.body["lines"].as_array().map(Vec::len) }));
            }
            _ => add(&mut data, event.body.clone()),
        }
        // Others know a work session by its name.
        if let Some(number) = data.get("session").and_then(Value::as_u64) {
            data.insert("session".to_owned(), format!("session_{number}").into());
        }
        let mut entries = Vec::new();
        if let (true, "file_changed", Some(change)) = (self.compat, event.kind.as_str(), change) {
            entries = compat::entries(self.project, change);
        }
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
                    "tool_call_id": change.call,
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
        "change": document(change),
    })
}

fn status(body: &Value) -> Value {
    json!({
        "change_id": body["change"], "status": body["status"], "approved": body["approved"],
    })
}

/// A change in short.
pub(super) fn document(change: &Change) -> Value {
    json!({
        "id": change.id.to_string(),
        "path": change.path.to_string(),
        "old_path": change.old_path.as_ref().map(ToString::to_string),
        "change_type": change.change_type,
        "operation": change.operation,
        "status": change.status,
        "before": side(&change.before),
        "after": side(&change.after),
        "added": change.lines.as_ref().map(|lines| lines.added),
        "removed": change.lines.as_ref().map(|lines| lines.removed),
        "turn": change.turn,
        "message_index": change.message_index,
    })
}

/// `null` did not exist, `{"kind":"unknown"}` was not captured.
fn side(side: &Side) -> Value {
    match side {
        Side::Absent => Value::Null,
        Side::Unknown => json!({ "kind": "unknown" }),
        Side::Known(state) => json!({ "oid": state.oid, "size": state.size }),
    }
}

fn add(data: &mut Map<String, Value>, more: Value) {
    if let Value::Object(more) = more {
        data.extend(more);
    }
}

pub(super) fn absolute(root: &Path, path: &ProjectPath) -> String {
    root.join(OsStr::from_bytes(path.as_bytes())).display().to_string()
}

/// `2026-02-16T10:00:00.000Z`
pub(super) fn iso(at: Millis) -> String {
    Timestamp::from_millisecond(at)
        .map_or_else(|_| at.to_string(), |time| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}
