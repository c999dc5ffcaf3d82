//! Merges messages into the log of a model's history.
//!
//! Known messages stay, and only new ones are appended. Messages of an agent's own record carry its
//! number for them. Under a known number, a message that continues the known one is the same
//! message, grown. A different one means that the agent's record was rewritten from there on: then
//! both stay in the log.

use std::collections::BTreeMap;

use retake_model::{JournalKind, MessageRole, Millis, ModelMessage, ObjectId, Stamp};
use retake_store::{Batch, HistoryKey, MessageEntry, NewMessage, StoreError, message_digest};
use serde_json::{Value, json};

use super::ingest::AddedMessages;
use super::shorten::shorten;
use super::visible::VisibleMessages;
use super::{HistoryError, blocks, next_place, record_history_event};

/// Result of merging one message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageMerge {
    Merged,
    /// Another one has its number.
    Diverges,
}

/// A message on record under a number.
#[derive(Clone)]
struct LoggedMessage {
    row: i64,
    place: i64,
    role: Option<MessageRole>,
    ts: Option<Millis>,
    digest: ObjectId,
}

/// A merge of messages into one log, within a transaction.
pub(super) struct LogMerge<'b, 's> {
    batch: &'b Batch<'s>,
    of: HistoryKey<'b>,
    stamp: Stamp,
    /// Messages of the agent's own record, by number.
    by_number: BTreeMap<u64, LoggedMessage>,
    /// Whether new messages get numbers; those of programs have none.
    numbered: bool,
    /// Messages in the order of their places, for a history without numbers.
    by_position: Vec<LoggedMessage>,
    /// The place that the next message gets.
    pub(super) next_place: i64,
    /// The first place that was written.
    first_place: i64,
    pub(super) added: AddedMessages,
    /// Maximum bytes kept of a message.
    pub(super) limit: Option<u64>,
    /// Places that are no longer in the agent's own record.
    pub(super) abandoned: Vec<i64>,
}

impl<'b, 's> LogMerge<'b, 's> {
    pub(super) fn begin(
        batch: &'b Batch<'s>,
        of: HistoryKey<'b>,
        at: Millis,
    ) -> Result<Self, StoreError> {
        let (views, log) = (batch.views(of)?, batch.message_log(of)?);
        let next = next_place(&log, &VisibleMessages::current(&views));
        let mut by_number = BTreeMap::new();
        for entry in &log {
            if let Some(number) = entry.number {
                // A rewritten record no longer has the messages that followed.
                by_number.split_off(&number);
                by_number.insert(number, LoggedMessage::of(entry));
            }
        }
        let by_position =
            log.iter().filter(|entry| entry.place >= 0).map(LoggedMessage::of).collect();
        Ok(Self {
            batch,
            of,
            stamp: batch.next_stamp(at),
            by_number,
            numbered: true,
            by_position,
            next_place: next,
            first_place: next,
            added: AddedMessages::default(),
            limit: None,
            abandoned: Vec::new(),
        })
    }

    /// Numbers messages by position if none has a number.
    pub(super) fn number_by_position(&mut self) {
        if self.by_number.is_empty() && !self.by_position.is_empty() {
            self.by_number = (0..).zip(self.by_position.clone()).collect();
            self.numbered = false;
        }
    }

    /// Merges one message under its number, unless a different one is there.
    pub(super) fn merge_message(
        &mut self,
        number: u64,
        message: &ModelMessage,
    ) -> Result<MessageMerge, HistoryError> {
        let Some(known) = self.by_number.get(&number) else {
            // A gap before later messages was collected, and is not filled again.
            if self.by_number.range(number..).next().is_some() {
                self.added.known += 1;
            } else {
                self.append(Some(number), message)?;
            }
            return Ok(MessageMerge::Merged);
        };
        if known.digest == digest_of(message)? {
            self.added.known += 1;
        } else if self.has_grown(known, message)? {
            self.replace(number, message)?;
        } else {
            return Ok(MessageMerge::Diverges);
        }
        Ok(MessageMerge::Merged)
    }

    /// Returns whether a message is the known one of its number, by its time, with other content.
    pub(super) fn is_rewrite(&self, number: u64, message: &ModelMessage) -> bool {
        self.by_number.get(&number).is_some_and(|known| {
            known.role == Some(message.role) && known.ts.is_some() && known.ts == message.ts
        })
    }

    /// Replaces the message of this number.
    pub(super) fn replace(
        &mut self,
        number: u64,
        message: &ModelMessage,
    ) -> Result<(), HistoryError> {
        let Some(known) = self.by_number.get(&number) else { return Ok(()) };
        self.write_message(known.place, Some(number), message)
    }

    /// Drops the messages from this number on: the agent's record was rewritten there.
    pub(super) fn diverge_at(
        &mut self,
        number: u64,
        message: &ModelMessage,
    ) -> Result<(), HistoryError> {
        let abandoned = self.by_number.split_off(&number);
        self.abandoned.extend(abandoned.values().map(|known| known.place));
        self.append(Some(number), message)?;
        Ok(())
    }

    /// Appends a message; returns its place.
    pub(super) fn append(
        &mut self,
        number: Option<u64>,
        message: &ModelMessage,
    ) -> Result<i64, HistoryError> {
        let place = self.next_place;
        self.next_place += 1;
        self.write_message(place, number, message)?;
        Ok(place)
    }

    fn write_message(
        &mut self,
        place: i64,
        number: Option<u64>,
        message: &ModelMessage,
    ) -> Result<(), HistoryError> {
        let stored = number.filter(|_| self.numbered);
        let new = new_message(place, stored, message, self.limit)?;
        let row = self.batch.put_message(self.of, self.stamp, &new)?;
        if let Some(number) = number {
            let known =
                LoggedMessage { row, place, role: new.role, ts: new.ts, digest: new.digest };
            self.by_number.insert(number, known);
        }
        self.added.added += 1;
        self.first_place = self.first_place.min(place);
        Ok(())
    }

    /// Returns whether a message continues the known one.
    fn has_grown(
        &self,
        known: &LoggedMessage,
        message: &ModelMessage,
    ) -> Result<bool, HistoryError> {
        if known.role != Some(message.role) {
            return Ok(false);
        }
        let old = match self.batch.message_body(known.row) {
            Ok(body) => blocks(body),
            // A damaged message cannot be compared and is no evidence against it.
            Err(StoreError::Row(_)) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let Some((last, before)) = old.split_last() else { return Ok(true) };
        let new = &message.content;
        // A model's text may have been incomplete; a person's message is always whole.
        let fits = |next: &Value| {
            next == last || (message.role == MessageRole::Assistant && is_text_prefix(last, next))
        };
        Ok(new.starts_with(before) && new.get(before.len()).is_some_and(fits))
    }

    /// Records the `history_added` event and returns the counts.
    pub(super) fn finish(self) -> Result<AddedMessages, HistoryError> {
        if self.added.added > 0 {
            let body = json!({ "from": self.first_place, "count": self.added.added });
            let kind = JournalKind::HistoryAdded;
            record_history_event(self.batch, self.of, self.stamp, kind, body)?;
        }
        Ok(self.added)
    }
}

/// Returns whether one text block is a prefix of another.
fn is_text_prefix(old: &Value, new: &Value) -> bool {
    ["text", "thinking"].iter().any(|kind| {
        let text = |block: &Value| match block.get("type").and_then(Value::as_str) {
            Some(found) if found == *kind => block.get(*kind)?.as_str().map(str::to_owned),
            _ => None,
        };
        matches!((text(old), text(new)), (Some(old), Some(new)) if new.starts_with(&old))
    })
}

impl LoggedMessage {
    fn of(entry: &MessageEntry) -> Self {
        let MessageEntry { row, place, role, ts, digest, .. } = *entry;
        Self { row, place, role, ts, digest }
    }
}

/// Builds the row of a message; `limit` bounds the bytes of its content.
pub(super) fn new_message(
    place: i64,
    number: Option<u64>,
    message: &ModelMessage,
    limit: Option<u64>,
) -> Result<NewMessage, StoreError> {
    let content = match limit {
        Some(limit) => shorten(&message.content, limit),
        None => message.content.clone(),
    };
    Ok(NewMessage {
        place,
        number,
        role: Some(message.role),
        ts: message.ts,
        is_summary: message.is_summary,
        index: message.index,
        digest: digest_of(message)?,
        body: Value::Array(content),
    })
}

pub(super) fn digest_of(message: &ModelMessage) -> Result<ObjectId, StoreError> {
    let value = serde_json::to_value(message);
    message_digest(&value.map_err(|error| StoreError::Row(format!("a message: {error}")))?)
}
