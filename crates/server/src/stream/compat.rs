//! The names that older designs gave to a change of a file (C-21).
//!
//! They come before `file_changed`, which has the id. A client that is cut off in between gets
//! them again, with the same `seq`.

use std::borrow::Cow;
use std::fmt::Write as _;

use retake_engine::model::{Change, ProjectPath, Side};
use retake_engine::{DiffBody, DiffLine, FileDiff, Project};
use serde_json::{Value, json};

use super::event::{absolute, document, iso};

/// A longer diff is left out: the event is a signal to redraw (EVT-5).
const LONGEST_DIFF: usize = 64 * 1024;

pub(super) fn entries(project: &Project, change: &Change) -> Vec<(Cow<'static, str>, Value)> {
    let seq = change.id.0;
    let file_changed = json!({
        "type": "file:changed", "timestamp": iso(change.at), "seq": seq,
        "iteration": change.message_index.or(change.turn), "change": document(change),
    });
    let diff = match project.diff(change) {
        Ok(diff) => unified(&diff),
        // What was purged or damaged has no diff, and is an event all the same.
        Err(error) => {
            tracing::debug!(%error, change = %change.id, "no diff");
            None
        }
    };
    let file_edit = json!({
        "type": "file_edit", "file": absolute(project.root(), &change.path), "seq": seq,
        "diff": diff, "dialog_id": change.dialog,
    });
    vec![("file:changed".into(), file_changed), ("file_edit".into(), file_edit)]
}

/// The difference as text; none if it is not one of lines, or too long.
fn unified(diff: &FileDiff) -> Option<String> {
    let DiffBody::Lines(lines) = &diff.body else { return None };
    let name = |side: &Side, prefix: &str, path: &ProjectPath| match side {
        Side::Absent => "/dev/null".to_owned(),
        _ => format!("{prefix}/{path}"),
    };
    let (old, new) = (name(&diff.before, "a", &diff.old_path), name(&diff.after, "b", &diff.path));
    let mut text = format!("--- {old}\n+++ {new}\n");
    for line in lines {
        let _ = match line {
            DiffLine::Header(place) => writeln!(text, "{place}"),
            DiffLine::Context(line) => writeln!(text, " {}", String::from_utf8_lossy(line)),
            DiffLine::Removed(line) => writeln!(text, "-{}", String::from_utf8_lossy(line)),
            DiffLine::Added(line) => writeln!(text, "+{}", String::from_utf8_lossy(line)),
            DiffLine::NoNewline => writeln!(text, "\\ No newline at end of file"),
        };
        if text.len() > LONGEST_DIFF {
            return None;
        }
    }
    Some(text)
}
