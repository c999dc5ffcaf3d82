//! Message histories of conversations, and the views that select what is shown of them.
//!
//! Both tables only grow. A message has a *place* in its history; a later row with the same place
//! is the same message, which had grown, and the newest row counts. Places from 0 on are of what
//! was told; below 0 are messages that Retake wrote itself, for a view.
//!
//! A view lists places; after those come all told ones from `open_from` on. So what is told later
//! is shown without another row, and the newest row is the view in force.

use std::collections::HashMap;

use retake_model::{
    AgentId, DialogId, HistoryKind, MessageRole, Millis, ObjectId, OperationId, Stamp, ViewReason,
};
use rusqlite::{OptionalExtension as _, Row};
use serde_json::Value;

use crate::compression::{MAX_TEXT_BYTES, zstd_decompress_up_to};
use crate::manifest::oid_from;
use crate::{Batch, Store, StoreError, hash_blob};

/// One history of one agent in a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryKey<'a> {
    /// The dialog.
    pub dialog: &'a DialogId,
    /// Whose conversation it is.
    pub agent: &'a AgentId,
    /// Which of the two.
    pub history: HistoryKind,
}

/// A message on record, without what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageEntry {
    /// The row that holds what it says.
    pub row: i64,
    /// Its place in the project's order.
    pub seq: u64,
    /// When it was recorded.
    pub at: Millis,
    /// Its place in the history.
    pub place: i64,
    /// Its number in the agent's own history, if it was read from there.
    pub number: Option<u64>,
    /// Who speaks, in a history of the model.
    pub role: Option<MessageRole>,
    /// When it was sent.
    pub ts: Option<Millis>,
    /// Whether it stands for messages before it.
    pub is_summary: bool,
    /// Its place among what was said.
    pub index: Option<u64>,
    /// What it said when it came; what is kept of it may be less.
    pub digest: ObjectId,
}

/// A message to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    /// Its place in the history.
    pub place: i64,
    /// Its number in the agent's own history.
    pub number: Option<u64>,
    /// Who speaks, in a history of the model.
    pub role: Option<MessageRole>,
    /// When it was sent.
    pub ts: Option<Millis>,
    /// Whether it stands for messages before it.
    pub is_summary: bool,
    /// Its place among what was said.
    pub index: Option<u64>,
    /// What it said when it came.
    pub digest: ObjectId,
    /// What is kept of it.
    pub body: Value,
}

/// What is shown of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredView {
    /// Its place in the project's order.
    pub seq: u64,
    /// When it was made.
    pub at: Millis,
    /// Why.
    pub why: ViewReason,
    /// Ranges of places, first and last, in the order in which they are shown.
    pub places: Vec<(i64, i64)>,
    /// What was told from this place on follows.
    pub open_from: i64,
    /// The operation that it was made with.
    pub operation: Option<OperationId>,
}

/// A view to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewView<'a> {
    /// Why.
    pub why: ViewReason,
    /// Ranges of places, first and last.
    pub places: &'a [(i64, i64)],
    /// What was told from this place on follows.
    pub open_from: i64,
    /// The operation that it is made with.
    pub operation: Option<OperationId>,
}

/// Returns the digest that identifies a message's content.
pub fn message_digest(message: &Value) -> Result<ObjectId, StoreError> {
    hash_blob(message.to_string().as_bytes())
}

impl Store {
    /// All messages of a history, in the order in which they first came.
    pub fn message_log(&self, of: HistoryKey<'_>) -> Result<Vec<MessageEntry>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT id, seq, at, place, number, role, ts, is_summary, message_index, digest
             FROM message WHERE dialog = ?1 AND agent = ?2 AND history = ?3 ORDER BY id",
        )?;
        let mut rows = query.query(of.sql_key())?;
        let (mut log, mut at) = (Vec::<MessageEntry>::new(), HashMap::new());
        while let Some(row) = rows.next()? {
            let entry = entry_from(row)?;
            let place = *at.entry(entry.place).or_insert(log.len());
            match log.get_mut(place) {
                Some(earlier) => *earlier = entry,
                None => log.push(entry),
            }
        }
        Ok(log)
    }

    /// Reads the body of a message; a damaged one is an error that names it.
    pub fn message_body(&self, row: i64) -> Result<Value, StoreError> {
        let sql = "SELECT body FROM message WHERE id = ?1";
        let body: Vec<u8> = self.db.prepare_cached(sql)?.query_row([row], |row| row.get(0))?;
        read_body(&body).map_err(|why| StoreError::Row(format!("message {row}: {why}")))
    }

    /// Every view of a history, the oldest first.
    pub fn views(&self, of: HistoryKey<'_>) -> Result<Vec<StoredView>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, at, why, places, open_from, operation FROM conversation_view
             WHERE dialog = ?1 AND agent = ?2 AND history = ?3 ORDER BY id",
        )?;
        let mut rows = query.query(of.sql_key())?;
        let mut views = Vec::new();
        while let Some(row) = rows.next()? {
            views.push(view_from(row)?);
        }
        Ok(views)
    }

    /// Returns the agents whose conversations an operation changed.
    pub fn threads_changed_by(
        &self,
        operation: OperationId,
    ) -> Result<Vec<(DialogId, AgentId)>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT DISTINCT dialog, agent FROM conversation_view WHERE operation = ?1",
        )?;
        let rows = query.query_map([operation.0 as i64], |row| {
            Ok((DialogId(row.get(0)?), AgentId(row.get(1)?)))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the cursor at which reading an agent's model history stopped, in its reader's form.
    pub fn history_cursor(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Option<String>, StoreError> {
        let sql = "SELECT cursor FROM history_cursor WHERE dialog = ?1 AND agent = ?2";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row([&dialog.0, &agent.0], |row| row.get(0)).optional()?)
    }

    /// Describes the messages and views that cannot be read.
    pub(crate) fn unreadable_messages(&self) -> Result<Vec<String>, StoreError> {
        let mut problems = Vec::new();
        let sql = "SELECT dialog, place, history, role, length(digest), body FROM message";
        let mut query = self.db.prepare(sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (dialog, place): (String, i64) = (row.get(0)?, row.get(1)?);
            let words = || -> Result<(), String> {
                let text = |at| row.get::<_, Option<String>>(at).map_err(|why| why.to_string());
                text(2)?.unwrap_or_default().parse::<HistoryKind>()?;
                text(3)?.map(|role| role.parse::<MessageRole>()).transpose()?;
                if row.get::<_, i64>(4).map_err(|why| why.to_string())? != 20 {
                    return Err("its digest is damaged".to_owned());
                }
                let body: Vec<u8> = row.get(5).map_err(|why| why.to_string())?;
                read_body(&body).map(drop)
            };
            if let Err(why) = words() {
                problems.push(format!("message {place} of dialog {dialog} cannot be read: {why}"));
            }
        }
        let sql =
            "SELECT seq, at, why, places, open_from, operation, dialog FROM conversation_view";
        let mut query = self.db.prepare(sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            if let Err(error) = view_from(row) {
                let dialog: String = row.get(6)?;
                problems.push(format!("a view of dialog {dialog} cannot be read: {error}"));
            }
        }
        Ok(problems)
    }
}

impl HistoryKey<'_> {
    fn sql_key(&self) -> (&str, &str, &str) {
        (&self.dialog.0, &self.agent.0, self.history.as_str())
    }
}

impl Batch<'_> {
    /// Appends a message; returns its row id.
    pub fn put_message(
        &self,
        of: HistoryKey<'_>,
        stamp: Stamp,
        message: &NewMessage,
    ) -> Result<i64, StoreError> {
        let body = compress_body(&message.body)?;
        self.execute(
            "put message",
            "INSERT INTO message(seq, at, dialog, agent, history, place, number, role, ts,
                 is_summary, message_index, digest, body)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            (
                stamp.seq as i64,
                stamp.at,
                &of.dialog.0,
                &of.agent.0,
                of.history.as_str(),
                message.place,
                message.number.map(|number| number as i64),
                message.role.map(MessageRole::as_str),
                message.ts,
                message.is_summary,
                message.index.map(|index| index as i64),
                message.digest.as_bytes().as_slice(),
                body,
            ),
        )?;
        Ok(self.last_row_id())
    }

    /// Appends a view, which is in force from then on.
    pub fn put_view(
        &self,
        of: HistoryKey<'_>,
        stamp: Stamp,
        view: &NewView<'_>,
    ) -> Result<(), StoreError> {
        let places = serde_json::to_string(view.places)
            .map_err(|error| StoreError::Row(format!("the places of a view: {error}")))?;
        self.execute(
            "put view",
            "INSERT INTO conversation_view(seq, at, dialog, agent, history, why, places, open_from,
                 operation)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            (
                stamp.seq as i64,
                stamp.at,
                &of.dialog.0,
                &of.agent.0,
                of.history.as_str(),
                view.why.as_str(),
                places,
                view.open_from,
                view.operation.map(|id| id.0 as i64),
            ),
        )?;
        Ok(())
    }

    /// Stores the cursor at which reading an agent's model history stopped.
    pub fn set_history_cursor(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        cursor: &str,
    ) -> Result<(), StoreError> {
        self.execute(
            "set history cursor",
            "INSERT INTO history_cursor(dialog, agent, cursor) VALUES(?1, ?2, ?3)
             ON CONFLICT(dialog, agent) DO UPDATE SET cursor = excluded.cursor",
            (&dialog.0, &agent.0, cursor),
        )?;
        Ok(())
    }
}

fn entry_from(row: &Row<'_>) -> Result<MessageEntry, StoreError> {
    let number = |at| Ok::<_, StoreError>(row.get::<_, Option<i64>>(at)?.map(|n| n as u64));
    let role = row.get::<_, Option<String>>(5)?.map(|role| role.parse());
    Ok(MessageEntry {
        row: row.get(0)?,
        seq: row.get::<_, i64>(1)? as u64,
        at: row.get(2)?,
        place: row.get(3)?,
        number: number(4)?,
        role: role.transpose().map_err(StoreError::Row)?,
        ts: row.get(6)?,
        is_summary: row.get(7)?,
        index: number(8)?,
        digest: oid_from(&row.get::<_, Vec<u8>>(9)?)?,
    })
}

fn view_from(row: &Row<'_>) -> Result<StoredView, StoreError> {
    let why: String = row.get(2)?;
    let places: String = row.get(3)?;
    Ok(StoredView {
        seq: row.get::<_, i64>(0)? as u64,
        at: row.get(1)?,
        why: why.parse().map_err(StoreError::Row)?,
        places: serde_json::from_str(&places)
            .map_err(|error| StoreError::Row(format!("the places of a view: {error}")))?,
        open_from: row.get(4)?,
        operation: row.get::<_, Option<i64>>(5)?.map(|id| OperationId(id as u64)),
    })
}

pub(crate) fn compress_body(body: &Value) -> Result<Vec<u8>, StoreError> {
    Ok(zstd::encode_all(body.to_string().as_bytes(), 1)?)
}

pub(crate) fn read_body(body: &[u8]) -> Result<Value, String> {
    let text = zstd_decompress_up_to(body, MAX_TEXT_BYTES).map_err(|why| why.to_string())?;
    serde_json::from_slice(&text).map_err(|why| why.to_string())
}
