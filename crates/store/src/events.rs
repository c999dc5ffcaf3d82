//! The journal of events, which clients follow as a stream, and the gaps.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use retake_model::{
    AgentId, CallId, Caller, ChangeId, DialogId, Gap, JournalKind, MAIN_AGENT, Millis,
};
use rusqlite::OptionalExtension as _;
use serde_json::Value;

use crate::callers::caller_from;
use crate::changes::parse_text_column;
use crate::manifest::path_from;
use crate::{Batch, Store, StoreError};

/// One row of the event stream.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEvent {
    /// Its place; also the id in the event stream.
    pub seq: u64,
    /// When it was recorded.
    pub at: Millis,
    /// What it is.
    pub kind: JournalKind,
    /// The dialog it belongs to.
    pub dialog: Option<DialogId>,
    /// The agent it belongs to.
    pub agent: Option<AgentId>,
    /// The call it belongs to.
    pub call: Option<CallId>,
    /// The change it announces.
    pub change: Option<ChangeId>,
    /// Details.
    pub body: Value,
    /// Who said it. To be recorded: none for the store's caller. On record: none for rows of
    /// earlier versions.
    pub said_by: Option<Caller>,
}

/// A message of the person, which began a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMessage {
    /// Its place in the order.
    pub seq: u64,
    /// When it was sent.
    pub at: Millis,
    /// What it says.
    pub text: String,
    /// Its place in the agent's message history.
    pub index: Option<u64>,
    /// The id of the checkpoint that was made before it.
    pub checkpoint: Option<String>,
    /// The number of the work session that it was sent in.
    pub session: Option<u64>,
}

/// Something that was said in a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationMessage {
    /// By the person.
    Person(UserMessage),
    /// By the main agent.
    Agent {
        /// Its place in the order.
        seq: u64,
        /// What it says.
        text: String,
    },
}

impl ConversationMessage {
    /// Its place in the order.
    pub fn seq(&self) -> u64 {
        match self {
            Self::Person(message) => message.seq,
            Self::Agent { seq, .. } => *seq,
        }
    }
}

/// A stretch of the event stream, as it was at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage {
    /// The events, oldest first.
    pub events: Vec<JournalEvent>,
    /// The page was full, by number or by size.
    pub has_more: bool,
    /// Events up to this place were removed, to keep the record within its limits.
    pub removed: u64,
    /// The newest place in the project's order: whatever comes is after it.
    pub last: u64,
}

/// Maximum body bytes of a page, exceeded by its last event at most: an event may be as long as
/// a message, and many clients may read pages at once.
const MAX_PAGE_BYTES: usize = 256 * 1024;
/// Key in `meta` of the last removed event's `seq`.
const EVENTS_REMOVED_KEY: &str = "events_removed";

impl Store {
    /// The events after `seq`, with what is needed to know whether any are missing.
    pub fn event_page(&self, seq: u64, limit: usize) -> Result<EventPage, StoreError> {
        let _snapshot = self.snapshot()?;
        let removed = self.meta_number(EVENTS_REMOVED_KEY)?;
        let (events, has_more) = self.read_events(seq, limit, MAX_PAGE_BYTES)?;
        Ok(EventPage { events, has_more, removed, last: self.last_seq()? })
    }

    /// The events after `seq`, oldest first.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<JournalEvent>, StoreError> {
        Ok(self.read_events(seq, limit, usize::MAX)?.0)
    }

    /// Returns the events after `seq` up to both limits, and whether a limit was reached.
    fn read_events(
        &self,
        seq: u64,
        limit: usize,
        most_bytes: usize,
    ) -> Result<(Vec<JournalEvent>, bool), StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, at, kind, dialog, agent, call, change, body,
                 (SELECT text FROM caller WHERE id = event.caller)
             FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        )?;
        let mut rows = query.query((seq as i64, limit as i64))?;
        let (mut events, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let body: String = row.get(7)?;
            bytes += body.len();
            events.push(JournalEvent {
                seq: row.get::<_, i64>(0)? as u64,
                at: row.get(1)?,
                // One such row must not end every stream.
                kind: parse_text_column(row, 2).unwrap_or(JournalKind::Unknown),
                dialog: row.get::<_, Option<String>>(3)?.map(DialogId),
                agent: row.get::<_, Option<String>>(4)?.map(AgentId),
                call: row.get::<_, Option<String>>(5)?.map(CallId),
                change: row.get::<_, Option<i64>>(6)?.map(|seq| ChangeId(seq as u64)),
                body: serde_json::from_str(&body).unwrap_or(Value::Null),
                said_by: caller_from(row.get(8)?),
            });
            if bytes >= most_bytes {
                return Ok((events, true));
            }
        }
        let is_full = events.len() == limit;
        Ok((events, is_full))
    }

    /// When the newest event was recorded.
    pub fn last_event_at(&self) -> Result<Option<Millis>, StoreError> {
        let sql = "SELECT at FROM event ORDER BY seq DESC LIMIT 1";
        Ok(self.db.query_row(sql, [], |row| row.get(0)).optional()?)
    }

    /// The message that began a dialog's turn; turns count from 1.
    pub fn message_of_turn(
        &self,
        dialog: &DialogId,
        turn: u64,
    ) -> Result<Option<UserMessage>, StoreError> {
        let Some(known) = self.dialog(dialog)? else { return Ok(None) };
        // Collections remove the oldest messages, and turns count them all the same.
        let first = self.removed_messages(&known)? + 1;
        let Some(earlier) = turn.checked_sub(first) else { return Ok(None) };
        let mut query = self.db.prepare_cached(
            "SELECT seq, at, body FROM event WHERE kind = 'user_message' AND dialog = ?1
             ORDER BY seq LIMIT 1 OFFSET ?2",
        )?;
        let row = query.query_row((&dialog.0, earlier as i64), |row| {
            Ok((row.get::<_, i64>(0)? as u64, row.get(1)?, row.get::<_, String>(2)?))
        });
        let Some((seq, at, body)) = row.optional()? else { return Ok(None) };
        Ok(user_message_from(seq, at, &serde_json::from_str(&body).unwrap_or(Value::Null)))
    }

    /// Returns the messages of the person and the main agent in a dialog, oldest first.
    pub fn conversation(&self, dialog: &DialogId) -> Result<Vec<ConversationMessage>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, kind, body, at FROM event
             WHERE dialog = ?1 AND (kind = 'user_message'
                 OR (kind = 'assistant_message' AND (agent IS NULL OR agent = ?2)))
             ORDER BY seq",
        )?;
        let mut rows = query.query((&dialog.0, MAIN_AGENT))?;
        let (mut messages, mut places) = (Vec::new(), HashMap::new());
        while let Some(row) = rows.next()? {
            let body: String = row.get(2)?;
            let body: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
            let seq = row.get::<_, i64>(0)? as u64;
            if parse_text_column::<JournalKind>(row, 1)? == JournalKind::UserMessage {
                // The agent's history has other messages under these indices from here on.
                let begins = body["message_index"].as_u64().unwrap_or(0);
                places.retain(|index, _| *index < begins);
                let message = user_message_from(seq, row.get(3)?, &body);
                messages.extend(message.map(ConversationMessage::Person));
                continue;
            }
            let Some(text) = body["text"].as_str().filter(|text| !text.is_empty()) else {
                continue;
            };
            let message = ConversationMessage::Agent { seq, text: text.to_owned() };
            // A message that grew is reported again: the last text counts, in its first place.
            match body["message_index"].as_u64().map(|index| places.entry(index)) {
                Some(Entry::Occupied(place)) => messages[*place.get()] = message,
                Some(Entry::Vacant(place)) => {
                    place.insert(messages.len());
                    messages.push(message);
                }
                None => messages.push(message),
            }
        }
        Ok(messages)
    }

    /// Returns the text of an agent's message with this index in its history.
    pub fn assistant_text(
        &self,
        dialog: &DialogId,
        agent: Option<&AgentId>,
        index: u64,
    ) -> Result<Option<String>, StoreError> {
        // A message that grew is reported again: the last text counts.
        let mut query = self.db.prepare_cached(
            "SELECT body FROM event
             WHERE kind = 'assistant_message' AND dialog = ?1 AND agent IS ?2
                 AND json_extract(body, '$.message_index') = ?3
             ORDER BY seq DESC LIMIT 1",
        )?;
        let agent = agent.map(|agent| &agent.0);
        let row = query.query_row((&dialog.0, agent, index as i64), |row| row.get::<_, String>(0));
        let Some(body) = row.optional()? else { return Ok(None) };
        let body: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
        Ok(body["text"].as_str().filter(|text| !text.is_empty()).map(ToOwned::to_owned))
    }

    /// Everything that is not protected right now, with the time since when.
    pub fn gaps(&self) -> Result<Vec<(Gap, Millis)>, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT path, reason, detail, at FROM gap ORDER BY path")?;
        let mut rows = query.query([])?;
        let mut gaps = Vec::new();
        while let Some(row) = rows.next()? {
            // A reason that a newer version knew is not worth failing for.
            let reason = serde_json::from_value(Value::String(row.get(1)?));
            let (Ok(reason), Ok(path)) = (reason, path_from(row.get(0)?)) else { continue };
            gaps.push((Gap { path, reason, detail: row.get(2)? }, row.get(3)?));
        }
        Ok(gaps)
    }
}

/// A message of the person, from the body of its event.
pub(crate) fn user_message_from(seq: u64, at: Millis, body: &Value) -> Option<UserMessage> {
    let word = |key: &str| body[key].as_str().map(ToOwned::to_owned);
    Some(UserMessage {
        seq,
        at,
        text: word("text")?,
        index: body["message_index"].as_u64(),
        checkpoint: word("checkpoint"),
        session: body["session"].as_u64(),
    })
}

impl Batch<'_> {
    /// Records that events up to this `seq` were removed.
    pub(crate) fn record_events_removed(&self, seq: u64) -> Result<(), StoreError> {
        let seq = seq.max(self.meta_number(EVENTS_REMOVED_KEY)?);
        self.set_meta(EVENTS_REMOVED_KEY, &seq.to_be_bytes())
    }

    /// Appends an event.
    pub fn put_event(&self, event: &JournalEvent) -> Result<(), StoreError> {
        let caller = match &event.said_by {
            Some(caller) => self.caller_row(caller)?,
            None => self.current_caller_row()?,
        };
        self.execute(
            "put event",
            "INSERT INTO event(seq, at, kind, dialog, agent, call, change, body, caller)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            (
                event.seq as i64,
                event.at,
                event.kind.as_str(),
                event.dialog.as_ref().map(|id| &id.0),
                event.agent.as_ref().map(|id| &id.0),
                event.call.as_ref().map(|id| &id.0),
                event.change.map(|id| id.0 as i64),
                event.body.to_string(),
                caller,
            ),
        )?;
        Ok(())
    }

    /// Appends the event of a change whose review status was set: one for each (EVT-2). Changes of
    /// other actors have none.
    ///
    /// It is one statement without reading the change, as an operation may set many thousands. The
    /// column `change` stays free: it belongs to the event that announced the change.
    pub(crate) fn put_status_event(&self, change: ChangeId, at: Millis) -> Result<(), StoreError> {
        let caller = self.current_caller_row()?;
        self.execute(
            "tell status",
            "INSERT INTO event(seq, at, kind, dialog, agent, call, change, body, caller)
             SELECT ?1, ?2, ?4, change.dialog, change.agent, call.call, NULL,
                 json_object('change', 'c' || change.seq, 'status', change.status,
                     'approved', change.approved), ?5
             FROM change LEFT JOIN call ON call.id = change.call
             WHERE change.seq = ?3 AND change.actor = 'agent'",
            (
                self.next_seq() as i64,
                at,
                change.0 as i64,
                JournalKind::FileChangeStatus.as_str(),
                caller,
            ),
        )?;
        Ok(())
    }

    /// Records a gap and returns whether it is new; a known one keeps its time.
    pub fn put_gap(&self, gap: &Gap, at: Millis) -> Result<bool, StoreError> {
        let (path, reason) = (gap.path.as_bytes(), gap.reason.as_str());
        let known = self.execute(
            "update gap",
            "UPDATE gap SET detail = ?3 WHERE path = ?1 AND reason = ?2",
            (path, reason, &gap.detail),
        )?;
        if known == 0 {
            self.execute(
                "put gap",
                "INSERT INTO gap(path, reason, detail, at) VALUES(?1, ?2, ?3, ?4)",
                (path, reason, &gap.detail, at),
            )?;
        }
        Ok(known == 0)
    }

    /// Closes a gap.
    pub fn remove_gap(&self, gap: &Gap) -> Result<(), StoreError> {
        self.execute(
            "remove gap",
            "DELETE FROM gap WHERE path = ?1 AND reason = ?2",
            (gap.path.as_bytes(), gap.reason.as_str()),
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreAccess;

    #[test]
    fn an_event_of_unknown_kind_keeps_none_of_the_others_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let sql = "INSERT INTO event(seq, at, kind, body)
                   VALUES(1, 1, 'git', '{}'), (2, 1, 'dance', '{}'), (3, 1, 'gaps', '{}')";
        store.db.execute_batch(sql).unwrap();
        let kinds: Vec<_> =
            store.event_page(0, 10).unwrap().events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [JournalKind::Git, JournalKind::Unknown, JournalKind::Gaps]);
    }
}
