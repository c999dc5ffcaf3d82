//! Short descriptions of changes for people, escaped.

use retake_engine::DialogAgent;
use retake_engine::model::{Change, ChangeStatus, MAIN_AGENT, PathState, ProjectPath};
use retake_service::describe::{self, FormatName};

pub(crate) use retake_service::describe::{format_size, plural};

use crate::escape::escape;

/// Escapes a name.
fn escaped_name(name: &[u8]) -> String {
    escape(name)
}

/// Escapes foreign names in descriptions of changes.
pub(crate) const NAME_ESCAPER: FormatName = escaped_name;

/// An id for a list: a long one is cut, its start is enough to name it.
pub(crate) fn short_id(id: &str) -> String {
    describe::short_id(id, NAME_ESCAPER)
}

/// Describes who made a change: `claude-code d1/main`, `agent d1/main`, `user`, `git`.
pub(crate) fn describe_actor(change: &Change) -> String {
    describe::describe_actor(change, NAME_ESCAPER)
}

/// Describes who made a change, addressed to the person who reads it.
pub(crate) fn describe_maker(change: &Change) -> String {
    describe::describe_maker(change, NAME_ESCAPER)
}

/// An agent: `claude-code`, and `claude-code/2` if it is not the main one.
pub(crate) fn describe_agent(agent: &DialogAgent) -> String {
    let kind = agent.kind.as_deref().map_or_else(|| "agent".to_owned(), escape);
    match agent.id.0.as_str() {
        MAIN_AGENT => kind,
        id => format!("{kind}/{}", short_id(id)),
    }
}

/// The path, with the path before a rename.
pub(crate) fn describe_path(change: &Change) -> String {
    describe::describe_path(change, NAME_ESCAPER)
}

/// A path.
pub(crate) fn display_path(path: &ProjectPath) -> String {
    escape(path.as_bytes())
}

/// Describes further facts of a change in a list.
pub(crate) fn describe_remarks(change: &Change) -> String {
    let mut remarks = Vec::new();
    if let Some(joins) = change.joins {
        remarks.push(format!("belongs to {joins}"));
    }
    if matches!(change.before, PathState::Unknown) {
        remarks.push("content before not captured".to_owned());
    }
    if matches!(change.after, PathState::Unknown) {
        remarks.push("content after not captured".to_owned());
    }
    if change.status != ChangeStatus::Pending {
        remarks.push(change.status.to_string());
    }
    if remarks.is_empty() { String::new() } else { format!("({})", remarks.join(", ")) }
}

/// Lines added and removed; empty if they were not counted.
pub(crate) fn line_counts(change: &Change) -> (String, String) {
    change.lines.as_ref().map_or_else(Default::default, |lines| {
        (format!("+{}", lines.added), format!("-{}", lines.removed))
    })
}
