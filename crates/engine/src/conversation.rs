//! What was said: the messages of an agent's own transcript, beside the changes.
//!
//! Messages are events like all others, but they touch no file, so nothing is looked at. How far
//! the transcript was read is committed with them: a message is taken in once, and what could not
//! be taken in now is read again the next time.

use retake_model::{AgentId, DialogId, Event, EventKind, Millis};
use retake_store::{Batch, Lock, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arrival::{Arrived, Calls, Meaning, TITLE_CHARS, conclude, first_words, introduce};
use crate::journal::note;
use crate::project::{INITIALISED, Project};
use crate::record::RecordError;
use crate::write::NewRows;

/// Where the reading of a transcript stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptMark {
    /// The conversation.
    pub dialog: DialogId,
    /// Whose messages these are.
    pub agent: AgentId,
    /// How far it had been read when this reading began.
    pub from: Option<String>,
    /// How far it was read, in the reader's own words.
    pub cursor: String,
}

impl Project {
    /// How far the transcript of an agent was read, in the reader's own words.
    pub fn transcript_cursor(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Option<String>, StoreError> {
        self.store().transcript_cursor(dialog, agent)
    }

    /// Gives the person's last message its words, if it was told without them and nothing has
    /// come of it yet; `false` if this is another message.
    pub fn complete_message(&self, dialog: &DialogId, text: &str) -> Result<bool, RecordError> {
        self.writable()?;
        let wait = self.settings().wait.event();
        let Some(_lock) = Lock::acquire(self.store().folder(), wait)? else { return Ok(false) };
        let turn = self.dialog(dialog)?.map_or(0, |dialog| dialog.turns);
        let last = self.store().message_of(dialog, turn)?.filter(|last| last.text.is_empty());
        let Some(index) = last.and_then(|last| last.index) else { return Ok(false) };
        if self.store().has_calls(dialog, turn)? {
            return Ok(false);
        }
        let batch = self.store().batch()?;
        let at = self.store().dialog(dialog)?.map_or(0, |dialog| dialog.last_at);
        fill_message(&batch, dialog, index, text, at)?;
        batch.commit()?;
        Ok(true)
    }

    /// Records messages that an agent's transcript has beyond its mark, and moves the mark.
    ///
    /// A message of the person is an event of its own, with its checkpoint; here it only gives
    /// its words to one that was told without them.
    ///
    /// `false` if the project is in use, not looked at yet, or somebody else has read on meanwhile:
    /// then nothing is recorded, and what is missing can be read again.
    pub fn record_conversation(
        &self,
        messages: &[Event],
        mark: &TranscriptMark,
        at: Millis,
    ) -> Result<bool, RecordError> {
        self.writable()?;
        let wait = self.settings().wait.event();
        let Some(_lock) = Lock::acquire(self.store().folder(), wait)? else { return Ok(false) };
        if self.store().meta(INITIALISED)?.is_none() {
            return Ok(false);
        }
        self.take_in_spool(at)?;
        if self.transcript_cursor(&mark.dialog, &mark.agent)? != mark.from {
            return Ok(false);
        }
        let batch = self.store().batch()?;
        let (calls, mut rows) = (Calls::none(), NewRows::new());
        for event in messages {
            if let EventKind::UserMessage { text } = &event.what {
                if let Some(index) = event.message_index {
                    fill_message(&batch, &event.dialog, index, text, at)?;
                }
                continue;
            }
            let arrived = Arrived::of_transcript(event.clone(), at);
            // Words that are read after the end do not open the dialog again.
            if batch.dialog(&event.dialog)?.is_none() {
                introduce(&batch, &arrived, Meaning::Other, &calls, &mut rows)?;
            }
            let seq = batch.next_seq();
            conclude(&batch, &arrived, Meaning::Other, (&calls, &rows), (seq, None))?;
        }
        batch.set_transcript_cursor(&mark.dialog, &mark.agent, &mark.cursor)?;
        batch.commit()?;
        Ok(true)
    }
}

/// Whoever has seen the message without its words is told that it has them now.
fn fill_message(
    batch: &Batch<'_>,
    dialog: &DialogId,
    index: u64,
    text: &str,
    at: Millis,
) -> Result<(), StoreError> {
    if batch.fill_message(dialog, index, text, first_words(text, TITLE_CHARS))? {
        let body = json!({ "message_index": index });
        note(batch, (batch.next_seq(), at), "message_completed", Some(dialog), body)?;
    }
    Ok(())
}
