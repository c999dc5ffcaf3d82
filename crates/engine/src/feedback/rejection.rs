//! Records what a person rejected and why, for the agents concerned and to know it again.

use std::collections::BTreeSet;

use retake_model::{
    CallerScope, ChangeId, DialogId, JournalKind, Millis, OperationId, ProjectPath, QueueState,
};
use retake_store::{Batch, StoreError};
use serde_json::json;

use crate::feedback::rejected_lines::remember_rejected_runs;
use crate::journal::record_entry;

/// Changes of which single places of a file were taken back.
pub(crate) struct TakenPlaces<'a> {
    pub(crate) path: &'a ProjectPath,
    pub(crate) changes: &'a [ChangeId],
}

/// Records a rejection that was carried out; `changes` are all that it concerns.
///
/// An agent that takes back its own work rejects nothing: that is no word of the person.
pub(crate) fn record_rejection(
    batch: &Batch<'_>,
    operation: OperationId,
    reason: Option<&str>,
    changes: &BTreeSet<ChangeId>,
) -> Result<(), StoreError> {
    if matches!(batch.caller().scope, CallerScope::Agent { .. }) {
        return Ok(());
    }
    batch.put_rejection(operation, reason)?;
    remember_rejected_runs(batch, operation)?;
    for dialog in dialogs_of(batch, changes)? {
        batch.put_rejection_notice(operation, &dialog)?;
    }
    Ok(())
}

/// Records of which changes an operation took single places back.
pub(crate) fn record_taken_places(
    batch: &Batch<'_>,
    operation: OperationId,
    places: &TakenPlaces<'_>,
) -> Result<(), StoreError> {
    places
        .changes
        .iter()
        .try_for_each(|change| batch.put_taken_part(operation, places.path, *change))
}

/// The dialogs whose agents made the changes, or can have made them.
fn dialogs_of(
    batch: &Batch<'_>,
    changes: &BTreeSet<ChangeId>,
) -> Result<BTreeSet<DialogId>, StoreError> {
    let mut dialogs = BTreeSet::new();
    for id in changes {
        let Some(change) = batch.change(*id)? else { continue };
        dialogs.extend(change.dialog);
        dialogs.extend(change.candidates.into_iter().map(|by| by.dialog));
    }
    Ok(dialogs)
}

/// Settles the entries of the queue that an operation carried out.
pub(crate) fn settle_as_done(
    batch: &Batch<'_>,
    ids: &[u64],
    operation: OperationId,
    at: Millis,
) -> Result<(), StoreError> {
    for id in ids {
        batch.settle_queued_rejection(*id, QueueState::Done, None, Some(operation))?;
        record_queue(batch, *id, QueueState::Done, at)?;
    }
    Ok(())
}

/// Records that an entry of the queue was made or settled.
pub(crate) fn record_queue(
    batch: &Batch<'_>,
    id: u64,
    state: QueueState,
    at: Millis,
) -> Result<(), StoreError> {
    let body = json!({ "rejection": id, "state": state });
    record_entry(batch, batch.next_stamp(at), JournalKind::RejectionQueue, None, body)
}
