//! The JSON that programs read: one stable shape for each noun.
//!
//! The engine's types are not serialisable on purpose; what leaves the program
//! is decided here. Paths that are not UTF-8 have their exact bytes beside them.

use retake_engine::model::{
    Candidate, Change, FileKind, FileState, Gap, Hunk, Millis, ProjectPath, Side,
};
use retake_engine::{
    BlameLine, Blamed, Dialog, DialogAgent, DiffBody, DiffLine, FileDiff, Message, Origin,
    StatusRow,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::time::iso;

/// A change.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeJson<'a> {
    id: String,
    seq: u64,
    dialog: Option<&'a str>,
    agent: Option<&'a str>,
    kind: Option<&'a str>,
    turn: Option<u64>,
    message_index: Option<u64>,
    actor: &'static str,
    confidence: &'static str,
    call: Option<&'a str>,
    tool: Option<&'a str>,
    candidates: &'a [Candidate],
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    old_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path_hex: Option<String>,
    change_type: &'static str,
    operation: &'static str,
    before: Value,
    after: Value,
    added: Option<u32>,
    removed: Option<u32>,
    hunks: Option<Vec<HunkJson<'a>>>,
    status: &'static str,
    timestamp: String,
    at: Millis,
    joins: Option<String>,
}

impl<'a> From<&'a Change> for ChangeJson<'a> {
    fn from(change: &'a Change) -> Self {
        Self {
            id: change.id.to_string(),
            seq: change.id.0,
            dialog: change.dialog.as_ref().map(|id| id.0.as_str()),
            agent: change.agent.as_ref().map(|id| id.0.as_str()),
            kind: change.kind.as_deref(),
            turn: change.turn,
            message_index: change.message_index,
            actor: change.actor.as_str(),
            confidence: change.confidence.as_str(),
            call: change.call.as_ref().map(|id| id.0.as_str()),
            tool: change.tool.as_deref(),
            candidates: &change.candidates,
            path: change.path.to_string(),
            path_hex: hex_if_needed(&change.path),
            old_path: change.old_path.as_ref().map(ToString::to_string),
            old_path_hex: change.old_path.as_ref().and_then(hex_if_needed),
            change_type: change.change_type.as_str(),
            operation: change.operation.as_str(),
            before: side(&change.before),
            after: side(&change.after),
            added: change.lines.as_ref().map(|lines| lines.added),
            removed: change.lines.as_ref().map(|lines| lines.removed),
            hunks: change.lines.as_ref().map(|lines| hunks(&lines.hunks)),
            status: change.status.as_str(),
            timestamp: iso(change.at),
            at: change.at,
            joins: change.joins.map(|id| id.to_string()),
        }
    }
}

/// A place where lines changed, with the number by which it is named, from 1.
#[derive(Debug, Serialize)]
struct HunkJson<'a> {
    number: usize,
    #[serde(flatten)]
    hunk: &'a Hunk,
}

fn hunks(hunks: &[Hunk]) -> Vec<HunkJson<'_>> {
    hunks.iter().enumerate().map(|(at, hunk)| HunkJson { number: at + 1, hunk }).collect()
}

/// A document that holds changes and nothing else.
#[derive(Debug, Serialize)]
pub(crate) struct Changes<'a> {
    changes: Vec<ChangeJson<'a>>,
}

impl<'a> From<&'a [Change]> for Changes<'a> {
    fn from(list: &'a [Change]) -> Self {
        Self { changes: changes(list) }
    }
}

/// A document about one change and its difference.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    pub(crate) change: ChangeJson<'a>,
    pub(crate) diff: Value,
    /// The message of the person that it was made for.
    pub(crate) message: Option<Value>,
    /// What the agent said with it.
    pub(crate) said: Option<String>,
}

/// Several changes.
pub(crate) fn changes(changes: &[Change]) -> Vec<ChangeJson<'_>> {
    changes.iter().map(ChangeJson::from).collect()
}

/// One side of a change: `null` did not exist, `{"kind":"unknown"}` was not captured.
pub(crate) fn side(side: &Side) -> Value {
    match side {
        Side::Absent => Value::Null,
        Side::Unknown => json!({ "kind": "unknown" }),
        Side::Known(state) => file_state(state),
    }
}

/// A captured state.
fn file_state(state: &FileState) -> Value {
    let kind = match state.kind {
        FileKind::File => "file",
        FileKind::Link => "link",
    };
    json!({
        "oid": state.oid.to_string(),
        "size": state.size,
        "mode": octal(state.mode),
        "kind": kind,
    })
}

/// Permission bits as people know them: `0644`.
pub(crate) fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

/// The exact content of a side: as text if it is UTF-8, else in hexadecimal digits.
pub(crate) fn content(state: &FileState, bytes: &[u8]) -> Value {
    let mut document = file_state(state);
    match std::str::from_utf8(bytes) {
        Ok(text) => document["text"] = text.into(),
        Err(_) => document["hex"] = hex(bytes).into(),
    }
    document
}

/// Exact bytes beside a path that text cannot carry.
fn hex_if_needed(path: &ProjectPath) -> Option<String> {
    path.as_str().is_none().then(|| hex(path.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An object that names a path, for others to add to.
pub(crate) fn path(path: &ProjectPath) -> Value {
    let mut document = json!({ "path": path.to_string() });
    if let Some(hex) = hex_if_needed(path) {
        document["path_hex"] = hex.into();
    }
    document
}

/// Something that is not protected.
pub(crate) fn gap(gap: &Gap, since: Millis) -> Value {
    let mut document = path(&gap.path);
    document["reason"] = gap.reason.as_str().into();
    document["detail"] = gap.detail.as_str().into();
    document["since"] = iso(since).into();
    document
}

/// What an agent's changes made of a path in all; none if it came and went.
pub(crate) fn net_status(row: &StatusRow) -> Option<&'static str> {
    match (row.existed, row.exists) {
        (false, false) => None,
        (true, false) => Some("deleted"),
        (true, true) if row.old_path.is_some() => Some("renamed"),
        (true, true) => Some("modified"),
        (false, true) => Some("added"),
    }
}

/// A path that an agent changed and nobody has decided on.
pub(crate) fn status_row(row: &StatusRow) -> Value {
    let mut document = path(&row.path);
    document["status"] = net_status(row).into();
    document["changes"] = row.changes.into();
    document["first"] = row.first.to_string().into();
    document["last"] = row.last.to_string().into();
    document["added"] = row.added.into();
    document["removed"] = row.removed.into();
    document
}

/// A dialog.
pub(crate) fn dialog(dialog: &Dialog) -> Value {
    json!({
        "id": dialog.id.0,
        "kind": dialog.kind,
        "title": dialog.title,
        "turns": dialog.turns,
        "turn_open": dialog.turn_open,
        "started": iso(dialog.started_at),
        "last_activity": iso(dialog.last_at),
        "ended": dialog.ended_at.map(iso),
    })
}

/// An agent of a dialog.
pub(crate) fn agent(agent: &DialogAgent) -> Value {
    json!({
        "id": agent.id.0,
        "kind": agent.kind,
        "parent": agent.parent.as_ref().map(|id| id.0.as_str()),
    })
}

/// One line of a file and where it comes from: `change`, `baseline` or `unseen`.
pub(crate) fn blame_line(line: &BlameLine) -> Value {
    let origin = match line.origin {
        Origin::Change(_) => "change",
        Origin::Baseline => "baseline",
        Origin::Unseen => "unseen",
    };
    let mut document = json!({
        "number": line.number,
        "origin": origin,
        "change": line.origin.change().map(|id| id.to_string()),
    });
    match std::str::from_utf8(&line.text) {
        Ok(text) => document["text"] = text.into(),
        Err(_) => document["hex"] = hex(&line.text).into(),
    }
    document
}

/// A change that lines come from, and what it was made for.
#[derive(Debug, Serialize)]
pub(crate) struct BlamedJson<'a> {
    #[serde(flatten)]
    change: ChangeJson<'a>,
    message: Option<Value>,
}

impl<'a> From<&'a Blamed> for BlamedJson<'a> {
    fn from(blamed: &'a Blamed) -> Self {
        let change = ChangeJson::from(&blamed.change);
        Self { change, message: blamed.message.as_ref().map(message) }
    }
}

/// A message of the person.
pub(crate) fn message(message: &Message) -> Value {
    json!({
        "seq": message.seq,
        "text": message.text,
        "message_index": message.index,
        "checkpoint": message.checkpoint,
        "session": message.session.map(|number| format!("session_{number}")),
    })
}

/// The difference that was made to a file; `diff` is its text in git's form.
pub(crate) fn file_diff(diff: &FileDiff, text: &[u8]) -> Value {
    let mut document = path(&diff.path);
    document["old_path"] = diff.old_path.to_string().into();
    if let Some(hex) = hex_if_needed(&diff.old_path) {
        document["old_path_hex"] = hex.into();
    }
    document["before"] = side(&diff.before);
    document["after"] = side(&diff.after);
    let (body, counts) = match &diff.body {
        DiffBody::Lines(lines) => ("lines", Some(count(lines))),
        DiffBody::Binary => ("binary", None),
        DiffBody::TooLarge => ("too_large", None),
        DiffBody::NotCaptured => ("not_captured", None),
    };
    document["body"] = body.into();
    document["added"] = counts.map(|counts| counts.0).into();
    document["removed"] = counts.map(|counts| counts.1).into();
    document["diff"] = String::from_utf8_lossy(text).into();
    document
}

/// Lines added and removed.
pub(crate) fn count(lines: &[DiffLine]) -> (u64, u64) {
    lines.iter().fold((0, 0), |(added, removed), line| match line {
        DiffLine::Added(_) => (added + 1, removed),
        DiffLine::Removed(_) => (added, removed + 1),
        _ => (added, removed),
    })
}
