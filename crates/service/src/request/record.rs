//! Requests that record: events, messages, checkpoints, and scans of the files.

use std::sync::atomic::{AtomicU64, Ordering};

use retake_engine::model::{Checkpoint, DialogId, Event, Millis, ObjectId};
use retake_engine::{Project, RecordOutcome, RefreshOutcome, Submission, TranscriptMark};
use serde::{Deserialize, Serialize};

use super::{ProgressFn, ProjectCommand};
use crate::ApiError;

/// Counter of the idempotency keys of this process; tells apart keys of one millisecond.
static KEY_COUNTER: AtomicU64 = AtomicU64::new(0);

/// Minimum digits of a checkpoint's id that are shown to people.
pub const MIN_ID_DIGITS: usize = 8;

/// Returns a new idempotency key, unique across projects and processes.
pub fn new_idempotency_key(at: Millis) -> String {
    let number = KEY_COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("asked-{}-{at}-{number}", std::process::id())
}

/// Records events, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordEvents {
    /// The events.
    #[serde(rename = "parcels")]
    pub submissions: Vec<Submission>,
}

impl ProjectCommand for RecordEvents {
    type Answer = Vec<Result<RecordOutcome, ApiError>>;

    fn run(
        &self,
        project: &Project,
        _at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        let recorded = project.submit_all(&self.submissions).into_iter();
        Ok(recorded.map(|recorded| recorded.map_err(ApiError::from)).collect())
    }
}

/// Adds the text to the person's last message, if that was recorded without it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompleteMessage {
    /// The dialog.
    pub dialog: DialogId,
    /// The words.
    pub text: String,
}

impl ProjectCommand for CompleteMessage {
    /// Whether it was that message.
    type Answer = bool;

    fn run(
        &self,
        project: &Project,
        _at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<bool, ApiError> {
        Ok(project.complete_message(&self.dialog, &self.text)?)
    }
}

/// Records what an agent's own transcript has beyond its mark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordConversation {
    /// The messages.
    pub messages: Vec<Event>,
    /// How far the transcript was read.
    pub mark: TranscriptMark,
}

impl ProjectCommand for RecordConversation {
    /// Whether they were recorded; otherwise they can be read again.
    type Answer = bool;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<bool, ApiError> {
        Ok(project.record_conversation(&self.messages, &self.mark, at)?)
    }
}

/// Scans the project and records what has changed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RefreshProject {}

impl ProjectCommand for RefreshProject {
    type Answer = RefreshOutcome;

    const ONLY_PLANS: bool = true;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        progress: ProgressFn<'_>,
    ) -> Result<RefreshOutcome, ApiError> {
        Ok(project.refresh_with_progress(at, &mut |done, all| progress(done as u64, all as u64))?)
    }
}

/// Scans every file, ignoring the watcher's hints; also finds the paths that rules leave out.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RescanProject {}

impl ProjectCommand for RescanProject {
    type Answer = RefreshOutcome;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("rescan")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        progress: ProgressFn<'_>,
    ) -> Result<RefreshOutcome, ApiError> {
        Ok(project.refresh_full(at, &mut |done, all| progress(done as u64, all as u64))?)
    }
}

/// Makes a checkpoint of everything.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MakeCheckpoint {
    /// What it is called.
    pub message: Option<String>,
    /// The dialog that it belongs to.
    pub dialog: Option<DialogId>,
}

/// A checkpoint that was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MadeCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The checkpoints whose ids begin with the same digits, as many as people write at least:
    /// the caller need not open the store to abbreviate the id.
    pub alike: Vec<ObjectId>,
}

impl ProjectCommand for MakeCheckpoint {
    type Answer = MadeCheckpoint;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<MadeCheckpoint, ApiError> {
        let checkpoint = project.checkpoint(self.message.as_deref(), self.dialog.as_ref(), at)?;
        let digits = checkpoint.id.to_string();
        let alike = project.checkpoints_by_prefix(&digits[..MIN_ID_DIGITS])?;
        let alike = alike.into_iter().map(|one| one.id).collect();
        Ok(MadeCheckpoint { checkpoint, alike })
    }
}
