//! Writes the row of one change, found by a scan or made by an operation, and the manifest after it.

use retake_model::{
    Change, ChangeId, ChangeStatus, ChangeType, JournalKind, LineChanges, Millis, PathState,
    ProjectPath,
};
use retake_store::{Batch, JournalEvent, ManifestState, NewChange, StatRow, StoreError};
use serde_json::json;

use crate::attribution::rules::Attribution;

/// One file's step from a state to another.
pub(crate) struct FileStep<'a> {
    pub(crate) path: &'a ProjectPath,
    /// Its path before, if it moved.
    pub(crate) old_path: Option<&'a ProjectPath>,
    pub(crate) change_type: ChangeType,
    pub(crate) before: PathState,
    pub(crate) after: PathState,
    pub(crate) lines: Option<LineChanges>,
    /// The stat of the file in the state after, if it can be trusted.
    pub(crate) stat: Option<StatRow>,
}

/// Records a step as a pending change, and updates the manifest. `by.calls` are rows on record.
pub(crate) fn record_file_step(
    batch: &Batch<'_>,
    step: FileStep<'_>,
    by: &Attribution,
    at: Millis,
) -> Result<Change, StoreError> {
    let FileStep { path, old_path, after, stat, .. } = step;
    let mut change = new_change(ChangeId(batch.next_seq()), step, by, at);
    change.said_by = Some(batch.caller());
    batch.put_change(&NewChange { change: &change, calls: &by.calls })?;
    if let Some(old_path) = old_path {
        batch.remove_manifest(old_path)?;
    }
    match after {
        PathState::Absent => batch.remove_manifest(path)?,
        PathState::Unknown => batch.set_manifest(path, &ManifestState::Unknown, None)?,
        PathState::Known(state) => {
            batch.set_manifest(path, &ManifestState::Known(state), stat.as_ref())?;
        }
    }
    Ok(change)
}

/// A change as it is inserted: the store fills in what it knows of the call.
fn new_change(id: ChangeId, step: FileStep<'_>, by: &Attribution, at: Millis) -> Change {
    Change {
        id,
        at,
        actor: by.actor,
        confidence: by.confidence,
        dialog: by.dialog.clone(),
        agent: by.agent.clone(),
        kind: None,
        call: None,
        tool: None,
        model: None,
        candidates: Vec::new(),
        path: step.path.clone(),
        old_path: step.old_path.cloned(),
        change_type: step.change_type,
        method: by.method,
        before: step.before,
        after: step.after,
        lines: step.lines,
        status: ChangeStatus::Pending,
        joins: by.joins,
        turn: by.turn,
        message_index: None,
        approved: None,
        made_by: by.made_by,
        said_by: None,
    }
}

/// Records one event for each change, exactly once (W-19): they share their `seq`.
pub(crate) fn record_change_event(batch: &Batch<'_>, change: &Change) -> Result<(), StoreError> {
    batch.put_event(&JournalEvent {
        seq: change.id.0,
        at: change.at,
        kind: JournalKind::FileChanged,
        dialog: change.dialog.clone(),
        agent: change.agent.clone(),
        call: change.call.clone(),
        change: Some(change.id),
        body: json!({}),
        said_by: None,
    })
}
