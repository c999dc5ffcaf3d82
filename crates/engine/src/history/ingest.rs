//! Adds messages to a history: from an agent's transcript, an imported file, or a program.
//!
//! Each call is one transaction, and none loses a message that was added before.

use std::collections::{HashMap, VecDeque};

use retake_model::{
    AgentId, DialogId, HistoryKind, MAIN_AGENT, Millis, ModelMessage, ObjectId, ViewReason,
};
use retake_store::{Batch, FileLock, HistoryKey, NewMessage, StoreError, message_digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::log_merge::{LogMerge, MessageMerge, digest_of};
use super::view::record_view;
use super::visible::VisibleMessages;
use super::{HistoryError, next_place};
use crate::project::{INITIALISED_AT_KEY, Project};
use crate::record::transcript::TranscriptMark;

/// Counts of messages that were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedMessages {
    /// New messages, and those that had grown.
    pub added: u64,
    /// Messages that were on record.
    pub known: u64,
}

/// A whole conversation from elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct ImportedMessages<'a> {
    /// The agent's product.
    pub kind: Option<&'a str>,
    /// What the model gets.
    pub messages: &'a [ModelMessage],
    /// What people are shown.
    pub display: &'a [Value],
}

impl Project {
    /// Returns the cursor up to which an agent's own record was read.
    pub fn history_cursor(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Option<String>, StoreError> {
        self.store().history_cursor(dialog, agent)
    }

    /// Adds messages of an agent's own record, each with its number there.
    pub fn add_model_messages(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        messages: &[(u64, ModelMessage)],
        at: Millis,
    ) -> Result<AddedMessages, HistoryError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
        let _lock = self.acquire_lock()?;
        let batch = self.store().batch()?;
        let added = self.ingest_live(&batch, of, messages, at)?;
        batch.commit()?;
        Ok(added)
    }

    /// Adds messages of an agent's own record and stores the read cursor, in one transaction.
    ///
    /// `false` if the project is locked, not scanned yet, or another process has read on meanwhile:
    /// then nothing is recorded, and the messages can be read again.
    pub fn record_model_messages(
        &self,
        messages: &[(u64, ModelMessage)],
        mark: &TranscriptMark,
        at: Millis,
    ) -> Result<bool, HistoryError> {
        let of =
            HistoryKey { dialog: &mark.dialog, agent: &mark.agent, history: HistoryKind::Model };
        self.check_writable()?;
        let wait = self.settings().wait.event_timeout();
        let Some(_lock) = FileLock::acquire(self.store().folder(), wait)? else { return Ok(false) };
        if self.store().meta(INITIALISED_AT_KEY)?.is_none()
            || self.history_cursor(of.dialog, of.agent)? != mark.from
        {
            return Ok(false);
        }
        let batch = self.store().batch()?;
        self.ingest_live(&batch, of, messages, at)?;
        batch.set_history_cursor(of.dialog, of.agent, &mark.cursor)?;
        batch.commit()?;
        Ok(true)
    }

    /// Imports a whole conversation, which continues where the log ends (MIG-2).
    ///
    /// Importing it again adds nothing. A dialog that is not known is created as ended.
    pub fn import_messages(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        imported: ImportedMessages<'_>,
        at: Millis,
    ) -> Result<AddedMessages, HistoryError> {
        let ImportedMessages { kind, messages, display } = imported;
        let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
        let _lock = self.acquire_lock()?;
        let batch = self.store().batch()?;
        if ensure_dialog(&batch, of, kind, at)? {
            batch.end_dialog(dialog, at)?;
        }
        let mut merge = LogMerge::begin(&batch, of, at)?;
        merge.number_by_position();
        for (number, message) in (0..).zip(messages) {
            if merge.merge_message(number, message)? == MessageMerge::Diverges {
                return Err(HistoryError::Diverges { dialog: dialog.clone(), place: number });
            }
        }
        let mut added = merge.finish()?;
        check_display(&batch, of, display)?;
        added.added += record_display(&batch, of, display, at)?;
        batch.commit()?;
        Ok(added)
    }

    /// Sets a program's list as the view of the model's history (LIB-4). Messages that it omits
    /// stay in the log.
    pub fn save_model_messages(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        messages: &[ModelMessage],
        at: Millis,
    ) -> Result<AddedMessages, HistoryError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Model };
        let _lock = self.acquire_lock()?;
        let batch = self.store().batch()?;
        ensure_dialog(&batch, of, None, at)?;
        let mut merge = LogMerge::begin(&batch, of, at)?;
        let mut known = known_places(&batch, of)?;
        let mut places = Vec::with_capacity(messages.len());
        for message in messages {
            let digest = digest_of(message)?;
            match known.get_mut(&digest).and_then(VecDeque::pop_front) {
                Some(place) => {
                    merge.added.known += 1;
                    places.push(place);
                }
                None => places.push(merge.append(None, message)?),
            }
        }
        let next = merge.next_place;
        let added = merge.finish()?;
        if visible_places(&batch, of)? != places {
            let shown = VisibleMessages::listed(places, next);
            record_saved_view(&batch, of, &shown, at)?;
        }
        batch.commit()?;
        Ok(added)
    }

    /// Sets a program's list as the display view (LIB-4). Messages that it omits stay in the log.
    pub fn save_display_messages(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        messages: &[Value],
        at: Millis,
    ) -> Result<AddedMessages, HistoryError> {
        let of = HistoryKey { dialog, agent, history: HistoryKind::Display };
        let _lock = self.acquire_lock()?;
        let batch = self.store().batch()?;
        ensure_dialog(&batch, of, None, at)?;
        let added = record_display(&batch, of, messages, at)?;
        let count = messages.len() as i64;
        if !visible_places(&batch, of)?.into_iter().eq(0..count) {
            let next = next_place(&batch.message_log(of)?, &VisibleMessages::all());
            let shown = VisibleMessages::listed(0..count, next);
            record_saved_view(&batch, of, &shown, at)?;
        }
        batch.commit()?;
        Ok(AddedMessages { added, known: messages.len() as u64 - added })
    }

    /// Adds messages of an agent's own record, within the limits of the settings.
    fn ingest_live(
        &self,
        batch: &Batch<'_>,
        of: HistoryKey<'_>,
        messages: &[(u64, ModelMessage)],
        at: Millis,
    ) -> Result<AddedMessages, HistoryError> {
        if messages.is_empty() {
            return Ok(AddedMessages::default());
        }
        ensure_dialog(batch, of, None, at)?;
        let mut merge = LogMerge::begin(batch, of, at)?;
        merge.limit = Some(self.settings().history.max_message_bytes);
        let is_whole_record =
            messages.iter().map(|(number, _)| *number).eq(0..messages.len() as u64);
        for (number, message) in messages {
            match merge.merge_message(*number, message)? {
                // The agent may rewrite a message of its own; a different one gets a new place.
                MessageMerge::Diverges
                    if !is_whole_record && merge.is_rewrite(*number, message) =>
                {
                    merge.replace(*number, message)?;
                }
                MessageMerge::Diverges => merge.diverge_at(*number, message)?,
                MessageMerge::Merged => {}
            }
        }
        let abandoned = std::mem::take(&mut merge.abandoned);
        let (next, added) = (merge.next_place, merge.finish()?);
        let shown = visible_places(batch, of)?;
        if shown.iter().any(|place| abandoned.contains(place)) {
            let stays = shown.into_iter().filter(|place| !abandoned.contains(place));
            record_saved_view(batch, of, &VisibleMessages::listed(stays, next), at)?;
        }
        Ok(added)
    }
}

/// Records the view of a list that was saved.
fn record_saved_view(
    batch: &Batch<'_>,
    of: HistoryKey<'_>,
    shown: &VisibleMessages,
    at: Millis,
) -> Result<(), HistoryError> {
    let view = shown.new_view(ViewReason::Saved, None);
    record_view(batch, of, batch.next_stamp(at), &view).map(drop)
}

/// Returns the visible places, in order.
fn visible_places(batch: &Batch<'_>, of: HistoryKey<'_>) -> Result<Vec<i64>, StoreError> {
    let (views, log) = (batch.views(of)?, batch.message_log(of)?);
    Ok(VisibleMessages::current(&views)
        .visible_entries(&log)
        .into_iter()
        .map(|at| log[at].place)
        .collect())
}

/// Returns the places of all messages by digest; visible ones come first.
fn known_places(
    batch: &Batch<'_>,
    of: HistoryKey<'_>,
) -> Result<HashMap<ObjectId, VecDeque<i64>>, StoreError> {
    let (views, log) = (batch.views(of)?, batch.message_log(of)?);
    let shown = VisibleMessages::current(&views);
    let hidden = (0..log.len()).filter(|&at| !shown.shows(log[at].place));
    let mut known: HashMap<_, VecDeque<_>> = HashMap::new();
    for at in shown.visible_entries(&log).into_iter().chain(hidden) {
        known.entry(log[at].digest).or_default().push_back(log[at].place);
    }
    Ok(known)
}

/// Creates the dialog and agent if needed; returns whether the dialog is new.
pub(super) fn ensure_dialog(
    batch: &Batch<'_>,
    of: HistoryKey<'_>,
    kind: Option<&str>,
    at: Millis,
) -> Result<bool, StoreError> {
    let is_new = batch.dialog(of.dialog)?.is_none();
    if is_new {
        batch.touch_dialog(of.dialog, kind, None, at)?;
    }
    if is_new || of.agent.0 != MAIN_AGENT {
        batch.touch_agent(of.dialog, of.agent, kind, None)?;
    }
    Ok(is_new)
}

/// Rejects display messages of another conversation: a recorded entry may only have grown.
fn check_display(
    batch: &Batch<'_>,
    of: HistoryKey<'_>,
    messages: &[Value],
) -> Result<(), HistoryError> {
    let of = HistoryKey { history: HistoryKind::Display, ..of };
    for entry in batch.message_log(of)? {
        let given = usize::try_from(entry.place).ok().and_then(|place| messages.get(place));
        let Some(given) = given else { continue };
        if entry.digest == message_digest(given)? {
            continue;
        }
        let known = match batch.message_body(entry.row) {
            Ok(known) => known,
            // A damaged message cannot be compared and is no evidence against it.
            Err(StoreError::Row(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let text = |body: &Value| body["text"].as_str().unwrap_or_default().to_owned();
        let is_same = ["ts", "type", "say", "ask"].iter().all(|key| known[key] == given[key]);
        if !is_same || !text(given).starts_with(&text(&known)) {
            let place = entry.place.unsigned_abs();
            return Err(HistoryError::Diverges { dialog: of.dialog.clone(), place });
        }
    }
    Ok(())
}

/// Records display messages by place; returns the number of new ones.
fn record_display(
    batch: &Batch<'_>,
    of: HistoryKey<'_>,
    messages: &[Value],
    at: Millis,
) -> Result<u64, StoreError> {
    let of = HistoryKey { history: HistoryKind::Display, ..of };
    let log = batch.message_log(of)?;
    let known: HashMap<i64, ObjectId> =
        log.iter().map(|entry| (entry.place, entry.digest)).collect();
    let (stamp, mut added) = (batch.next_stamp(at), 0);
    for (place, body) in (0..).zip(messages) {
        let digest = message_digest(body)?;
        if known.get(&place) != Some(&digest) {
            let (ts, body) = (body["ts"].as_i64(), body.clone());
            let (number, role, is_summary, index) = (None, None, false, None);
            let new = NewMessage { place, number, role, ts, is_summary, index, digest, body };
            batch.put_message(of, stamp, &new)?;
            added += 1;
        }
    }
    Ok(added)
}
