//! Renders an event of the journal for the stream: a name and JSON.
//!
//! Every event has the same first fields: where it stands, when it was, and whose it is, under the
//! names that the documents have for them. What else the journal knows of it comes beside them. What
//! older designs call them (C-1, C-21) is added on demand. Contents of files are in none of them but
//! the diff of `file_edit`. Secrets in words and diffs are masked.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use retake_engine::model::{Change, ChangeId, JournalKind, ProjectPath};
use retake_engine::{Audience, JournalEvent, Project, RecordNameCursor, StaleFile, iso_8601};
use retake_service::Masking;
use retake_service::documents::{
    ChangeDocument, LoadRepeats as _, LocatePaths as _, StaleFileDocument,
};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::compat;

/// Fields with text of people and agents, which is masked.
const MASKED_FIELDS: [&str; 4] = ["content", "text", "title", "message"];

/// The event at one `seq`, perhaps under several names.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    /// The place.
    pub seq: u64,
    /// Names and data; the event's own name comes last.
    pub entries: Vec<(Cow<'static, str>, Value)>,
}

/// The name under which a kind of the journal goes out.
pub(super) fn public_name(kind: JournalKind) -> &'static str {
    match kind {
        JournalKind::UserMessage => "user",
        kind => kind.as_str(),
    }
}

/// The change that an event is about.
pub(super) fn change_of(event: &JournalEvent) -> Option<ChangeId> {
    let in_body = || event.body["change"].as_str().and_then(|id| id.parse().ok());
    event.change.or_else(in_body)
}

/// The file that an event about hunks names in its body.
pub(super) fn path_in_body(body: &Value) -> Option<ProjectPath> {
    ProjectPath::deserialize(&body["path"]).ok()
}

/// Renders a project's events.
pub(super) struct EventRenderer<'p> {
    pub(super) project: &'p Project,
    /// Also under the names of older designs.
    pub(super) compat: bool,
    pub(super) masking: Masking,
    /// Names the records of changes, which older designs know them by.
    pub(super) names: &'p RefCell<RecordNameCursor>,
}

impl EventRenderer<'_> {
    /// An event, with the change that it is about if that is on record.
    pub(super) fn render(&self, event: &JournalEvent, change: Option<&Change>) -> StreamEvent {
        let mut data = self.common_fields(event, change);
        let fields = match (event.kind, change) {
            (JournalKind::UserMessage, _) => user_fields(&event.body),
            (JournalKind::FileChanged, Some(change)) => self.file_changed_fields(change),
            (JournalKind::FileChangeStatus, _) => status_fields(&event.body),
            (JournalKind::StaleContext, _) => self.stale_context_fields(&event.body),
            (JournalKind::HunksReviewed | JournalKind::RejectionQueue, _) => {
                self.file_fields(&event.body)
            }
            // The lines themselves may hold anything.
            (JournalKind::LostEvent, _) => {
                json!({ "lines": event.body["lines"].as_array().map(Vec::len) })
            }
            _ => event.body.clone(),
        };
        merge_fields(&mut data, fields);
        for key in MASKED_FIELDS {
            if let Some(Value::String(text)) = data.get_mut(key) {
                *text = self.masking.mask_text(text).into_owned();
            }
        }
        // Others know a work session by its name.
        if let Some(number) = data.get("session").and_then(Value::as_u64) {
            data.insert("session".to_owned(), format!("session_{number}").into());
        }
        let mut entries = match (event.kind, change) {
            _ if !self.compat => Vec::new(),
            (JournalKind::FileChanged, Some(change)) => {
                compat::compat_entries(self.project, change, self.masking)
            }
            (JournalKind::StaleContext, _) => compat::stale_context_warning(&data),
            _ => Vec::new(),
        };
        entries.push((public_name(event.kind).into(), Value::Object(data)));
        StreamEvent { seq: event.seq, entries }
    }

    fn common_fields(&self, event: &JournalEvent, change: Option<&Change>) -> Map<String, Value> {
        let mut data = Map::new();
        let call = change.and_then(|change| change.call.as_ref()).or(event.call.as_ref());
        merge_fields(
            &mut data,
            json!({
                "type": public_name(event.kind),
                "seq": event.seq,
                "at": event.at,
                "timestamp": iso_8601(event.at),
                "project": self.project.id(),
                "dialog": event.dialog,
                "agent": event.agent,
                "agent_kind": self.agent_kind(event, change),
                "call": call,
                "said_by": event.said_by,
            }),
        );
        if let Some(change) = change {
            merge_fields(
                &mut data,
                json!({
                    "path": change.path.to_string(),
                    "old_path": change.old_path.as_ref().map(ToString::to_string),
                    "file_path": absolute_path(self.project.root(), &change.path),
                }),
            );
        }
        if self.compat {
            merge_fields(&mut data, self.older_names(event, change));
        }
        data
    }

    /// The product of the agent that an event is of; a dialog's main agent if it names none.
    fn agent_kind(&self, event: &JournalEvent, change: Option<&Change>) -> Option<String> {
        if let Some(kind) = change.and_then(|change| change.kind.clone()) {
            return Some(kind);
        }
        let dialog = event.dialog.as_ref()?;
        self.project.agent_kind(dialog, event.agent.as_ref()).ok().flatten()
    }

    /// The names that older designs gave to what every event has.
    fn older_names(&self, event: &JournalEvent, change: Option<&Change>) -> Value {
        let record = |change| self.names.borrow_mut().name(self.project, change).ok().flatten();
        let mut names = json!({
            "dialog_id": event.dialog, "session_id": event.dialog, "agent_id": event.agent,
            "tool_call_id": match change {
                Some(change) => json!(record(change)),
                None => json!(event.call),
            },
        });
        if let Some(change) = change_of(event) {
            names["change_id"] = change.to_string().into();
        }
        names
    }

    fn file_changed_fields(&self, change: &Change) -> Value {
        json!({
            "change_type": change.change_type,
            "operation": change.method,
            "actor": change.actor,
            "confidence": change.confidence,
            "change": change_document(self.project, change, self.masking)
                .located(self.project.root()),
        })
    }

    /// The fields of an event that names a file in its body, if it does.
    fn file_fields(&self, body: &Value) -> Value {
        let mut fields = body.clone();
        if let Some(path) = path_in_body(body) {
            fields["path"] = path.to_string().into();
            fields["file_path"] = absolute_path(self.project.root(), &path).into();
        }
        fields
    }

    fn stale_context_fields(&self, body: &Value) -> Value {
        let files: Vec<_> =
            stale_files(body).map(|file| StaleFileDocument::new(&file, Audience::Person)).collect();
        let files = files.located(self.project.root());
        json!({ "reaction": body["reaction"], "count": body["count"], "files": files })
    }
}

/// A change with the rejections whose lines it brings again. It is an event all the same if these
/// cannot be read.
pub(super) fn change_document(
    project: &Project,
    change: &Change,
    masking: Masking,
) -> ChangeDocument {
    let mut document = ChangeDocument::from(change);
    if let Err(error) = document.load_repeats(project, masking) {
        tracing::debug!(%error, change = %change.id, "rejections are not known");
    }
    document
}

fn user_fields(body: &Value) -> Value {
    json!({
        "content": body["text"], "message_index": body["message_index"],
        "checkpoint": body["checkpoint"], "session": body["session"],
    })
}

/// The files that an event tells to be stale; of many, the first few.
pub(super) fn stale_files(body: &Value) -> impl Iterator<Item = StaleFile> {
    let files = body["files"].as_array().into_iter().flatten();
    files.filter_map(|file| StaleFile::deserialize(file).ok())
}

fn status_fields(body: &Value) -> Value {
    json!({ "change": body["change"], "status": body["status"], "approved": body["approved"] })
}

fn merge_fields(data: &mut Map<String, Value>, more: Value) {
    if let Value::Object(more) = more {
        data.extend(more);
    }
}

pub(super) fn absolute_path(root: &Path, path: &ProjectPath) -> String {
    root.join(OsStr::from_bytes(path.as_bytes())).display().to_string()
}
