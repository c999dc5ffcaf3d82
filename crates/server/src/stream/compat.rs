//! The names that older designs gave to a change of a file (C-21), and to what an agent does not
//! know of (CTX-19).
//!
//! They come before `file_changed` or `stale_context`, which has the id. A client that is cut
//! off in between gets them again, with the same `seq`.

use std::borrow::Cow;

use retake_engine::model::{Change, PathState};
use retake_engine::{DiffBody, FileDiff, Project, iso_8601};
use retake_service::Masking;
use retake_service::documents::{DiffForm, DiffRenderer};
use serde_json::{Map, Value, json};

use super::event::{absolute_path, change_document};

/// Maximum bytes of a diff; a longer one is left out: the event is a signal to redraw (EVT-5).
const MAX_DIFF_BYTES: usize = 64 * 1024;
/// The older name of `stale_context`.
const STALE_CONTEXT_WARNING: &str = "stale_context_warning";

pub(super) fn compat_entries(
    project: &Project,
    change: &Change,
    masking: Masking,
) -> Vec<(Cow<'static, str>, Value)> {
    let seq = change.id.0;
    let document = change_document(project, change, masking);
    let file_changed = json!({
        "type": "file:changed", "timestamp": iso_8601(change.at), "seq": seq,
        "iteration": change.message_index.or(change.turn), "change": document,
    });
    let unified = |diff: &FileDiff| {
        let mut differ = DiffRenderer::new(project, DiffForm::Unified, masking);
        let text = differ.render_file(diff).ok()?.diff;
        // What comes before the names is for git (EVT-5).
        let text = text.find("--- ").map_or(text.as_str(), |start| &text[start..]).to_owned();
        (text.len() <= MAX_DIFF_BYTES).then_some(text)
    };
    let diff = match project.diff(change) {
        Ok(diff) if matches!(diff.body, DiffBody::Lines(_)) && is_short(&diff) => unified(&diff),
        Ok(_) => None,
        // What was purged or damaged has no diff, and is an event all the same.
        Err(error) => {
            tracing::debug!(%error, change = %change.id, "no diff");
            None
        }
    };
    let file_edit = json!({
        "type": "file_edit", "file": absolute_path(project.root(), &change.path), "seq": seq,
        "diff": diff, "dialog_id": change.dialog,
    });
    vec![("file:changed".into(), file_changed), ("file_edit".into(), file_edit)]
}

/// The event `stale_context` under its older name.
pub(super) fn stale_context_warning(
    stale_context: &Map<String, Value>,
) -> Vec<(Cow<'static, str>, Value)> {
    let mut data = stale_context.clone();
    data.insert("type".to_owned(), STALE_CONTEXT_WARNING.into());
    vec![(STALE_CONTEXT_WARNING.into(), data.into())]
}

/// Returns whether the diff can be short enough; a large file is not diffed at all.
fn is_short(diff: &FileDiff) -> bool {
    let size = |side: &PathState| side.known().map_or(0, |state| state.size);
    size(&diff.before).abs_diff(size(&diff.after)) <= MAX_DIFF_BYTES as u64
}
