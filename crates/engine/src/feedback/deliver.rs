//! Tells agents what the person says to their work, in the replies to their events.

use retake_model::{DialogId, EventKind, JournalKind, Millis, OperationId, ReviewComment};
use retake_store::{AddedAgain, Batch, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::RecordError;
use crate::feedback::text::describe_feedback;
use crate::journal::record_entry;
use crate::project::Project;
use crate::submission::Submission;

/// Comments and rejections for the agent of a dialog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackItems {
    /// Comments that were sent.
    pub comments: Vec<ReviewComment>,
    /// Rejections of its work.
    pub rejections: Vec<OperationId>,
    /// Changes with lines that had been rejected.
    #[serde(skip)]
    pub added_again: Vec<AddedAgain>,
}

impl FeedbackItems {
    /// Returns whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.comments.is_empty() && self.rejections.is_empty() && self.added_again.is_empty()
    }

    /// What the agent of a dialog was not told of yet.
    fn unheard(store: &Store, dialog: &DialogId) -> Result<Self, StoreError> {
        Ok(Self {
            comments: store.unheard_comments(dialog)?,
            rejections: store.unheard_rejections(dialog)?,
            added_again: store.unheard_repeats(dialog)?,
        })
    }

    /// Returns whether an agent that has ended its turn should go on for it: the person asked for
    /// something, or gave a reason.
    fn asks_for_work(&self, store: &Store) -> Result<bool, StoreError> {
        if !self.comments.is_empty() || !self.added_again.is_empty() {
            return Ok(true);
        }
        for operation in &self.rejections {
            if store.rejection_reason(*operation)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Records that the agent was told of all of it.
    fn record_heard(
        &self,
        batch: &Batch<'_>,
        dialog: &DialogId,
        channel: FeedbackChannel,
        at: Millis,
    ) -> Result<(), StoreError> {
        let stamp = batch.next_stamp(at);
        for comment in &self.comments {
            batch.set_comment_heard(comment.id, stamp.seq)?;
        }
        for operation in &self.rejections {
            batch.set_rejection_heard(*operation, dialog, stamp.seq)?;
        }
        for again in &self.added_again {
            batch.set_repeat_heard(*again, stamp.seq)?;
        }
        let names = |operations: &[OperationId]| -> Vec<String> {
            operations.iter().map(ToString::to_string).collect()
        };
        let repeated: Vec<_> = self.added_again.iter().map(|again| again.operation).collect();
        let body = json!({
            "channel": channel,
            "comments": self.comments.iter().map(|comment| comment.id).collect::<Vec<_>>(),
            "rejections": names(&self.rejections),
            "added_again": names(&repeated),
        });
        record_entry(batch, stamp, JournalKind::FeedbackHeard, Some(dialog), body)
    }
}

/// The way by which an agent is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackChannel {
    /// With the person's next message.
    Message,
    /// At the end of a call.
    CallEnd,
    /// When it had ended its turn.
    TurnEnd,
    /// The person passed it on.
    Clipboard,
    /// The agent asked for it.
    Asked,
}

/// The moments at which the sender of an event passes a text on to its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedbackMoments {
    /// With the person's message.
    pub message: bool,
    /// At the end of a call.
    pub call_end: bool,
}

/// Returns what the sender of an event is told about its work, and records that it was; nothing if it
/// waits for the reply no longer.
///
/// At the end of a call it is told only of lines that were rejected before: the rest can wait
/// until its turn has ended.
pub(crate) fn tell_sender(
    batch: &Batch<'_>,
    submission: &Submission,
    at: Millis,
    now: Option<Millis>,
) -> Result<Option<String>, StoreError> {
    if submission.deadline.zip(now).is_some_and(|(deadline, now)| now > deadline) {
        return Ok(None);
    }
    let (dialog, moments) = (&submission.event.dialog, submission.feedback_moments);
    let (items, channel) = match &submission.event.what {
        EventKind::UserMessage { .. } if moments.message => {
            (FeedbackItems::unheard(batch, dialog)?, FeedbackChannel::Message)
        }
        // Of a call that failed, no agent passes on what is said about it.
        EventKind::ToolEnd { ok, .. } if moments.call_end && *ok != Some(false) => {
            let added_again = batch.unheard_repeats(dialog)?;
            (FeedbackItems { added_again, ..FeedbackItems::default() }, FeedbackChannel::CallEnd)
        }
        _ => return Ok(None),
    };
    if items.is_empty() {
        return Ok(None);
    }
    items.record_heard(batch, dialog, channel, at)?;
    describe_feedback(batch, dialog, &items).map(Some)
}

impl Project {
    /// What the agent of a dialog was not told of yet, with the text for it.
    pub fn unheard_feedback(
        &self,
        dialog: &DialogId,
    ) -> Result<(FeedbackItems, String), StoreError> {
        let items = FeedbackItems::unheard(self.store(), dialog)?;
        let text = describe_feedback(self.store(), dialog, &items)?;
        Ok((items, text))
    }

    /// Takes the feedback for the agent of a dialog, with what it is about: from here on it counts as
    /// told. At the end of a turn only if it asks for work; `None` if there is none, or if its agent does
    /// not wait for it any longer.
    pub fn take_feedback(
        &self,
        dialog: &DialogId,
        channel: FeedbackChannel,
        times: FeedbackTimes,
    ) -> Result<Option<(FeedbackItems, String)>, RecordError> {
        let _lock = self.acquire_lock()?;
        // Others may have held the lock for longer than the agent waits.
        if times.deadline.is_some_and(|deadline| self.is_past(deadline)) {
            return Ok(None);
        }
        let items = FeedbackItems::unheard(self.store(), dialog)?;
        let is_wanted = channel != FeedbackChannel::TurnEnd || items.asks_for_work(self.store())?;
        if items.is_empty() || !is_wanted {
            return Ok(None);
        }
        let text = describe_feedback(self.store(), dialog, &items)?;
        let batch = self.store().batch()?;
        items.record_heard(&batch, dialog, channel, times.at)?;
        if channel == FeedbackChannel::TurnEnd {
            // The agent goes on.
            batch.open_turn(dialog)?;
        }
        batch.commit()?;
        Ok(Some((items, text)))
    }
}

/// When feedback is taken, and until when its agent waits for it.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackTimes {
    /// Now, as it is recorded.
    pub at: Millis,
    /// By the host's clock; none if the reader waits.
    pub deadline: Option<Millis>,
}

impl From<Millis> for FeedbackTimes {
    fn from(at: Millis) -> Self {
        Self { at, deadline: None }
    }
}
