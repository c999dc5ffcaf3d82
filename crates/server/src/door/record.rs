//! What is recorded: events, what was said, and what a look at the files finds.

use std::sync::atomic::{AtomicU64, Ordering};

use retake_engine::model::{Checkpoint, DialogId, Event, Millis, ObjectId};
use retake_engine::{Looked, Parcel, Project, Recorded, TranscriptMark};
use serde::{Deserialize, Serialize};

use super::{Progress, Verb};
use crate::Failure;

/// Keys that this process has given: makes them differ within a millisecond.
static KEYS: AtomicU64 = AtomicU64::new(0);

/// People write no fewer digits of a checkpoint's id than these.
pub const FEWEST_DIGITS: usize = 8;

/// A key that nothing else has, whichever project it is for.
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

/// Gives the person's last message its words, if it was told without them.
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

/// Looks at the project and records what has changed.
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

/// Looks through everything, whatever the watcher says, for who wants to know what is left out.
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
    /// nobody has to open the record to show the id as short as it can be.
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
