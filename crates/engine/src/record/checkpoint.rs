//! Checkpoints: when they are made, and which work session they belong to.
//!
//! Tools never make one; events and verbs do (CKPT-5). A checkpoint is made in the same transaction
//! as the event or the operation that it precedes, from the manifest after that event's scan.

use std::fmt::Write as _;

use retake_model::{
    Actor, Checkpoint, CheckpointKind, DialogId, EventKind, JournalKind, Millis, ObjectId, Stamp,
    WorkSession,
};
use retake_store::{Batch, ChangeFilter, NewCheckpoint, Store, StoreError};
use serde_json::json;

use crate::error::{OperationError, RecordError};
use crate::journal::record_entry;
use crate::project::{INITIALISED_AT_KEY, Project};
use crate::scan::request::ScanTrigger;
use crate::settings::{CheckpointPolicy, CheckpointSettings};
use crate::submission::Submission;

/// Maximum characters of a message in the name of the checkpoint before it (CKPT-4).
const MAX_MESSAGE_CHARS: usize = 50;
/// Maximum bytes of a name; a longer one says how many paths it leaves out.
const MAX_NAME_BYTES: usize = 1000;
/// Name of a checkpoint that the caller did not name.
const DEFAULT_NAME: &str = "Checkpoint";

/// The work session of a dialog; a new dialog gets its first, and its initial checkpoint (CKPT-2).
pub(crate) fn work_session_of(
    batch: &Batch<'_>,
    dialog: &DialogId,
    at: Millis,
) -> Result<WorkSession, StoreError> {
    if let Some(session) = batch.active_session(dialog)? {
        return Ok(session);
    }
    let first = NewCheckpoint {
        at,
        kind: CheckpointKind::Initial,
        message: "Initial checkpoint",
        dialog: Some(dialog),
        session: Some(1),
        parents: &[],
    };
    let initial = batch.put_checkpoint(&first)?;
    record_checkpoint_event(batch, &initial)?;
    batch.open_session(dialog, &initial.id, at)?;
    batch
        .active_session(dialog)?
        .ok_or_else(|| StoreError::Row(format!("dialog {dialog} has no work session")))
}

/// Makes a checkpoint of the whole manifest in the batch.
pub(crate) fn create_checkpoint(
    batch: &Batch<'_>,
    kind: CheckpointKind,
    message: &str,
    dialog: Option<&DialogId>,
    at: Millis,
) -> Result<Checkpoint, StoreError> {
    let session = dialog.map(|dialog| work_session_of(batch, dialog, at)).transpose()?;
    let parent = match &session {
        Some(session) => Some(session.tip),
        None => batch.newest_of_no_dialog()?.map(|newest| newest.id),
    };
    let parents: Vec<ObjectId> = parent.into_iter().collect();
    let number = session.map(|session| session.number);
    let checkpoint = batch.put_checkpoint(&NewCheckpoint {
        at,
        kind,
        message,
        dialog,
        session: number,
        parents: &parents,
    })?;
    if let (Some(dialog), Some(number)) = (dialog, number) {
        batch.advance_session(dialog, number, &checkpoint.id)?;
    }
    record_checkpoint_event(batch, &checkpoint)?;
    Ok(checkpoint)
}

/// Records the event of a checkpoint; they share their `seq`.
fn record_checkpoint_event(batch: &Batch<'_>, checkpoint: &Checkpoint) -> Result<(), StoreError> {
    let body = json!({
        "checkpoint": checkpoint.id, "kind": checkpoint.kind, "message": checkpoint.message,
        "session": checkpoint.session,
    });
    let stamp = Stamp { seq: checkpoint.seq, at: checkpoint.at };
    record_entry(batch, stamp, JournalKind::Checkpoint, checkpoint.dialog.as_ref(), body)
}

/// Makes the checkpoint that an event asks for. If the event was spooled, the state just before it
/// is not known exactly, which the name then says.
pub(crate) fn checkpoint_for_event(
    batch: &Batch<'_>,
    submission: &Submission,
    settings: &CheckpointSettings,
    late: bool,
) -> Result<Option<Checkpoint>, StoreError> {
    let (event, at) = (&submission.event, submission.at);
    let session = work_session_of(batch, &event.dialog, at)?;
    let automatic = settings.policy != CheckpointPolicy::Manual;
    match &event.what {
        EventKind::UserMessage { text } if automatic => {
            let mut message = match first_chars(text, MAX_MESSAGE_CHARS) {
                words if words.is_empty() => "Before a user message".to_owned(),
                words => format!("Before user message: {words}"),
            };
            if late {
                message.push_str(" (taken in late)");
            }
            let kind = CheckpointKind::BeforeMessage;
            Ok(Some(create_checkpoint(batch, kind, &message, Some(&event.dialog), at)?))
        }
        EventKind::TurnEnd { .. }
            if settings.policy == CheckpointPolicy::PerMessageAndAfterEdits =>
        {
            checkpoint_after_edits(batch, &session, settings, at)
        }
        _ => Ok(None),
    }
}

/// A checkpoint named after what the dialog edited since its last one (CKPT-8, CKPT-9).
fn checkpoint_after_edits(
    batch: &Batch<'_>,
    session: &WorkSession,
    settings: &CheckpointSettings,
    at: Millis,
) -> Result<Option<Checkpoint>, StoreError> {
    let since = batch.checkpoint(&session.tip)?.map_or(0, |checkpoint| checkpoint.seq);
    let edits = batch.changes(&ChangeFilter {
        dialogs: vec![session.dialog.clone()],
        actors: vec![Actor::Agent],
        after: Some(since),
        ..ChangeFilter::default()
    })?;
    let mut paths: Vec<_> = edits.into_iter().map(|change| change.path).collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| settings.counts_edit_of(path));
    if paths.is_empty() || paths.len() < settings.min_files {
        return Ok(None);
    }
    let mut message = "After edits to: ".to_owned();
    for (at, path) in paths.iter().enumerate() {
        if message.len() > MAX_NAME_BYTES {
            let _ = write!(message, " and {} more", paths.len() - at);
            break;
        }
        message.push_str(if at == 0 { "" } else { ", " });
        message.push_str(&path.to_string());
    }
    create_checkpoint(batch, CheckpointKind::AfterEdits, &message, Some(&session.dialog), at)
        .map(Some)
}

/// The first characters, as one line.
fn first_chars(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(chars).collect()
}

impl Project {
    /// Makes a checkpoint of everything as it is now.
    pub fn checkpoint(
        &self,
        message: Option<&str>,
        dialog: Option<&DialogId>,
        at: Millis,
    ) -> Result<Checkpoint, OperationError> {
        let _lock = self.lock_for_operation(at)?;
        if let Some(dialog) = dialog {
            self.known_dialog(dialog)?;
        }
        let group = self.store().group()?;
        let made = self.refresh_and_checkpoint(message.unwrap_or(DEFAULT_NAME), dialog, at);
        let made = made.and_then(|made| group.commit().map(|()| made));
        // What the scan found is not on record.
        Ok(made.inspect_err(|_| self.force_full_scan())?)
    }

    /// Makes a checkpoint of the state at the last scan.
    pub(crate) fn checkpoint_last_scan(&self, at: Millis) -> Result<Checkpoint, RecordError> {
        let _lock = self.acquire_lock()?;
        let batch = self.store().batch()?;
        let made = create_checkpoint(&batch, CheckpointKind::Manual, DEFAULT_NAME, None, at)?;
        batch.commit()?;
        Ok(made)
    }

    /// Makes a checkpoint of the recorded state, even if its files no longer exist; none if nothing
    /// is on record.
    pub(crate) fn checkpoint_recorded_state(
        &self,
        at: Millis,
    ) -> Result<Option<Checkpoint>, RecordError> {
        const MESSAGE: &str = "As recorded, before another folder took its place";
        let _lock = self.acquire_lock()?;
        if self.store().meta(INITIALISED_AT_KEY)?.is_none() {
            return Ok(None);
        }
        let batch = self.store().batch()?;
        let made = create_checkpoint(&batch, CheckpointKind::Manual, MESSAGE, None, at)?;
        if made.files == 0 {
            // The deletion of everything may already be on record: there is nothing to offer.
            return Ok(None);
        }
        batch.commit()?;
        Ok(Some(made))
    }

    fn refresh_and_checkpoint(
        &self,
        message: &str,
        dialog: Option<&DialogId>,
        at: Millis,
    ) -> Result<Checkpoint, StoreError> {
        self.refresh_locked(ScanTrigger::Requested, at, &mut |_, _| {})?;
        let batch = self.store().batch()?;
        let made = create_checkpoint(&batch, CheckpointKind::Manual, message, dialog, at)?;
        batch.commit()?;
        Ok(made)
    }

    /// The checkpoints, newest first; of one dialog if it is given.
    pub fn checkpoints(
        &self,
        dialog: Option<&DialogId>,
        limit: usize,
    ) -> Result<Vec<Checkpoint>, StoreError> {
        self.store().checkpoints(dialog, limit)
    }

    /// The one checkpoint whose id begins with these digits; at least four of them.
    pub fn find_checkpoint(&self, digits: &str) -> Result<Checkpoint, OperationError> {
        find_by_prefix(self.store(), digits)
    }
}

fn find_by_prefix(store: &Store, digits: &str) -> Result<Checkpoint, OperationError> {
    let looks_right =
        (4..=40).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut found = if looks_right { store.checkpoints_by_prefix(digits)? } else { Vec::new() };
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(_), false) => Err(OperationError::AmbiguousCheckpoint(digits.to_owned())),
        (None, _) => Err(OperationError::UnknownCheckpoint(digits.to_owned())),
    }
}
