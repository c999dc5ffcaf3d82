//! Requests that record: events, messages, checkpoints, and scans of the files.

use std::sync::atomic::{AtomicU64, Ordering};

use retake_engine::model::{Checkpoint, DialogId, Event, Millis, ObjectId};
use retake_engine::{Looked, Parcel, Project, Recorded, TranscriptMark};
use serde::{Deserialize, Serialize};

use super::{Progress, Verb};
use crate::Failure;

/// Counter of the idempotency keys of this process; tells apart keys of one millisecond.
static KEYS: AtomicU64 = AtomicU64::new(0);

/// Minimum digits of a checkpoint's id that are shown to people.
pub const FEWEST_DIGITS: usize = 8;

/// Returns a new idempotency key, unique across projects and processes.
pub fn new_key(at: Millis) -> String {
    let number = KEYS.fetch_add(1, Ordering::Relaxed);
    format!("asked-{}-{at}-{number}", std::process::id())
}

/// Records events, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The events.
    pub parcels: Vec<Parcel>,
}

impl Verb for Record {
    type Answer = Vec<Result<Recorded, Failure>>;

    fn carry_out(
        &self,
        project: &Project,
        _at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Self::Answer, Failure> {
        let recorded = project.record_all(&self.parcels).into_iter();
        Ok(recorded.map(|recorded| recorded.map_err(Failure::from)).collect())
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

impl Verb for CompleteMessage {
    /// Whether it was that message.
    type Answer = bool;

    fn carry_out(
        &self,
        project: &Project,
        _at: Millis,
        _progress: Progress<'_>,
    ) -> Result<bool, Failure> {
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

impl Verb for RecordConversation {
    /// Whether they were recorded; otherwise they can be read again.
    type Answer = bool;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<bool, Failure> {
        Ok(project.record_conversation(&self.messages, &self.mark, at)?)
    }
}

/// Scans the project and records what has changed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Look {}

impl Verb for Look {
    type Answer = Looked;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Looked, Failure> {
        Ok(project.look_with(at, &mut |done, all| progress(done as u64, all as u64))?)
    }
}

/// Scans every file, ignoring the watcher's hints; also finds the paths that rules leave out.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LookThrough {}

impl Verb for LookThrough {
    type Answer = Looked;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Looked, Failure> {
        Ok(project.look_through(at, &mut |done, all| progress(done as u64, all as u64))?)
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

impl Verb for MakeCheckpoint {
    type Answer = MadeCheckpoint;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<MadeCheckpoint, Failure> {
        let checkpoint = project.checkpoint(self.message.as_deref(), self.dialog.as_ref(), at)?;
        let digits = checkpoint.id.to_string();
        let alike = project.store().checkpoints_named(&digits[..FEWEST_DIGITS])?;
        let alike = alike.into_iter().map(|one| one.id).collect();
        Ok(MadeCheckpoint { checkpoint, alike })
    }
}
