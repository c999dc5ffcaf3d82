//! Words about changes, for people: safe to show and short.

use retake_engine::model::{Actor, Change, ChangeStatus, ProjectPath, Side};

use crate::escape::escape;

/// Ids above this many letters are shortened in lists.
const LONG_ID: usize = 16;
const SHORT_ID: usize = 12;

/// An id for a list: a long one is cut, its start is enough to name it.
pub(crate) fn short_id(id: &str) -> String {
    let id = escape(id);
    if id.chars().count() <= LONG_ID {
        return id;
    }
    id.chars().take(SHORT_ID).chain(['…']).collect()
}

/// Who made a change: `claude-code d1/main`, `agent d1/main`, `user`, `git`.
pub(crate) fn actor(change: &Change) -> String {
    if change.actor != Actor::Agent {
        return change.actor.to_string();
    }
    let mut names: Vec<String> = change
        .candidates
        .iter()
        .map(|call| format!("{}/{}", short_id(&call.dialog.0), short_id(&call.agent.0)))
        .collect();
    names.dedup();
    if names.is_empty() {
        let part = |id: Option<&String>| id.map_or("?".to_owned(), |id| short_id(id));
        let dialog = part(change.dialog.as_ref().map(|id| &id.0));
        names.push(format!("{dialog}/{}", part(change.agent.as_ref().map(|id| &id.0))));
    }
    let kind = change.kind.as_deref().map_or_else(|| "agent".to_owned(), short_id);
    format!("{kind} {}", names.join(" | "))
}

/// The path, with the path before a rename.
pub(crate) fn path(change: &Change) -> String {
    match &change.old_path {
        Some(old) => format!("{} → {}", name(old), name(&change.path)),
        None => name(&change.path),
    }
}

/// A path.
pub(crate) fn name(path: &ProjectPath) -> String {
    escape(path.as_bytes())
}

/// What else there is to say in a list.
pub(crate) fn remarks(change: &Change) -> String {
    let mut remarks = Vec::new();
    if let Some(joins) = change.joins {
        remarks.push(format!("belongs to {joins}"));
    }
    if matches!(change.before, Side::Unknown) {
        remarks.push("content before not captured".to_owned());
    }
    if matches!(change.after, Side::Unknown) {
        remarks.push("content after not captured".to_owned());
    }
    if change.status != ChangeStatus::Pending {
        remarks.push(change.status.to_string());
    }
    if remarks.is_empty() { String::new() } else { format!("({})", remarks.join(", ")) }
}

/// Lines added and removed; empty words if nobody counted them.
pub(crate) fn counts(change: &Change) -> (String, String) {
    change.lines.as_ref().map_or_else(Default::default, |lines| {
        (format!("+{}", lines.added), format!("-{}", lines.removed))
    })
}

/// Bytes as people say them.
pub(crate) fn size(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// `1 file`, `2 files`.
pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
