//! Records the messages of an agent's own transcript, beside the changes.
//!
//! Messages are events like all others, but they touch no file, so there is no scan. The
//! transcript's read position is committed with them: a message is recorded once, and one that
//! could not be recorded now is read again the next time.

use retake_model::{AgentId, DialogId, Event, EventKind, JournalKind, Millis, title_of};
use retake_store::{Batch, FileLock, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::calls::interpret::{EventEffect, InterpretedEvent};
use crate::calls::live_calls::LiveCalls;
use crate::error::RecordError;
use crate::journal::record_entry;
use crate::project::{INITIALISED_AT_KEY, Project};
use crate::record::event_rows::{
    EventPlace, MAX_TITLE_CHARS, ensure_event_rows, record_event_effect,
};
use crate::scan::rows::CallRowMap;
use crate::submission::Submission;

/// Read position in a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptMark {
    /// The conversation.
    pub dialog: DialogId,
    /// The agent whose messages these are.
    pub agent: AgentId,
    /// Position at which this reading began.
    pub from: Option<String>,
    /// Position up to which it was read, as an opaque cursor of the reader.
    pub cursor: String,
}

impl Project {
    /// Returns the read position in an agent's transcript, as an opaque cursor of the reader.
    pub fn transcript_cursor(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Option<String>, StoreError> {
        self.store().transcript_cursor(dialog, agent)
    }

    /// Adds the text to the person's last message, if it was reported without text and nothing
    /// followed it yet; `false` if this is another message.
    pub fn complete_message(&self, dialog: &DialogId, text: &str) -> Result<bool, RecordError> {
        self.check_writable()?;
        let wait = self.settings().wait.event_timeout();
        let Some(_lock) = FileLock::acquire(self.store().folder(), wait)? else { return Ok(false) };
        let turn = self.dialog(dialog)?.map_or(0, |dialog| dialog.turns);
        let last = self.store().message_of_turn(dialog, turn)?.filter(|last| last.text.is_empty());
        let Some(index) = last.and_then(|last| last.index) else { return Ok(false) };
        if self.store().has_calls(dialog, turn)? {
            return Ok(false);
        }
        let batch = self.store().batch()?;
        let at = self.store().dialog(dialog)?.map_or(0, |dialog| dialog.last_at);
        record_message_text(&batch, dialog, index, text, at)?;
        batch.commit()?;
        Ok(true)
    }

    /// Records messages that an agent's transcript has beyond its mark, and moves the mark.
    ///
    /// A message of the person is an event of its own, with its checkpoint; here its text is only
    /// added to one that was reported without text.
    ///
    /// `false` if the project is in use, has no baseline yet, or another process has moved the mark
    /// meanwhile: then nothing is recorded, and the missing messages can be read again.
    pub fn record_conversation(
        &self,
        messages: &[Event],
        mark: &TranscriptMark,
        at: Millis,
    ) -> Result<bool, RecordError> {
        self.check_writable()?;
        let wait = self.settings().wait.event_timeout();
        let Some(_lock) = FileLock::acquire(self.store().folder(), wait)? else { return Ok(false) };
        if self.store().meta(INITIALISED_AT_KEY)?.is_none() {
            return Ok(false);
        }
        self.drain_spool(at)?;
        if self.transcript_cursor(&mark.dialog, &mark.agent)? != mark.from {
            return Ok(false);
        }
        let batch = self.store().batch()?;
        let (calls, mut rows) = (LiveCalls::empty(), CallRowMap::new());
        for event in messages {
            if let EventKind::UserMessage { text } = &event.what {
                if let Some(index) = event.message_index {
                    record_message_text(&batch, &event.dialog, index, text, at)?;
                }
                continue;
            }
            // Messages of a transcript have no idempotency key: the mark makes them count once.
            let submission = Submission::new("", event.clone(), at);
            let message = InterpretedEvent { submission, effect: EventEffect::Other };
            // Messages that are read after the end do not reopen the dialog.
            if batch.dialog(&event.dialog)?.is_none() {
                ensure_event_rows(&batch, &message, &calls, &mut rows)?;
            }
            let place =
                EventPlace { calls: &calls, rows: &rows, seq: batch.next_seq(), checkpoint: None };
            record_event_effect(&batch, &message, &place)?;
        }
        batch.set_transcript_cursor(&mark.dialog, &mark.agent, &mark.cursor)?;
        batch.commit()?;
        Ok(true)
    }
}

/// Adds the text of a message and records an event, so that clients that saw it without text
/// update.
fn record_message_text(
    batch: &Batch<'_>,
    dialog: &DialogId,
    index: u64,
    text: &str,
    at: Millis,
) -> Result<(), StoreError> {
    if batch.set_message_text(dialog, index, text, &title_of(text, MAX_TITLE_CHARS))? {
        let body = json!({ "message_index": index });
        record_entry(
            batch,
            batch.next_stamp(at),
            JournalKind::MessageCompleted,
            Some(dialog),
            body,
        )?;
    }
    Ok(())
}
