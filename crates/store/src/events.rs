//! What happened, in order: the stream that others follow. And what is not protected.

use retake_model::{AgentId, CallId, ChangeId, DialogId, Gap, Millis};
use rusqlite::OptionalExtension as _;
use serde_json::Value;

use crate::manifest::path_from;
use crate::{Batch, Store, StoreError};

/// One row of the event stream.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEvent {
    /// Its place; also the id in the event stream.
    pub seq: u64,
    /// When it was recorded.
    pub at: Millis,
    /// What it is: `tool_begin`, `file_changed`, `git`, `baseline`, …
    pub kind: String,
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
}

/// A message of the person, which began a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its place in the order.
    pub seq: u64,
    /// What it says.
    pub text: String,
    /// Its place in the agent's message history.
    pub index: Option<u64>,
    /// The id of the checkpoint that was made before it.
    pub checkpoint: Option<String>,
    /// The number of the work session that it was sent in.
    pub session: Option<u64>,
}

impl Store {
    /// The events after `seq`, oldest first.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<JournalEvent>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, at, kind, dialog, agent, call, change, body FROM event
             WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        )?;
        let rows = query.query_map((seq as i64, limit as i64), |row| {
            Ok(JournalEvent {
                seq: row.get::<_, i64>(0)? as u64,
                at: row.get(1)?,
                kind: row.get(2)?,
                dialog: row.get::<_, Option<String>>(3)?.map(DialogId),
                agent: row.get::<_, Option<String>>(4)?.map(AgentId),
                call: row.get::<_, Option<String>>(5)?.map(CallId),
                change: row.get::<_, Option<i64>>(6)?.map(|seq| ChangeId(seq as u64)),
                body: serde_json::from_str(&row.get::<_, String>(7)?).unwrap_or(Value::Null),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The message that began a dialog's turn; turns count from 1.
    pub fn message_of(&self, dialog: &DialogId, turn: u64) -> Result<Option<Message>, StoreError> {
        let Some(earlier) = turn.checked_sub(1) else { return Ok(None) };
        let mut query = self.db.prepare_cached(
            "SELECT seq, body FROM event WHERE kind = 'user_message' AND dialog = ?1
             ORDER BY seq LIMIT 1 OFFSET ?2",
        )?;
        let row = query.query_row((&dialog.0, earlier as i64), |row| {
            Ok((row.get::<_, i64>(0)? as u64, row.get::<_, String>(1)?))
        });
        let Some((seq, body)) = row.optional()? else { return Ok(None) };
        let body: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
        let word = |key: &str| body[key].as_str().map(ToOwned::to_owned);
        Ok(word("text").map(|text| Message {
            seq,
            text,
            index: body["message_index"].as_u64(),
            checkpoint: word("checkpoint"),
            session: body["session"].as_u64(),
        }))
    }

    /// What an agent said in the message with this place in its history.
    pub fn said(
        &self,
        dialog: &DialogId,
        agent: Option<&AgentId>,
        index: u64,
    ) -> Result<Option<String>, StoreError> {
        // A message that had grown was told again: the last word counts.
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

impl Batch<'_> {
    /// Appends an event.
    pub fn put_event(&self, event: &JournalEvent) -> Result<(), StoreError> {
        self.execute(
            "put event",
            "INSERT INTO event(seq, at, kind, dialog, agent, call, change, body)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                event.seq as i64,
                event.at,
                &event.kind,
                event.dialog.as_ref().map(|id| &id.0),
                event.agent.as_ref().map(|id| &id.0),
                event.call.as_ref().map(|id| &id.0),
                event.change.map(|id| id.0 as i64),
                event.body.to_string(),
            ),
        )?;
        Ok(())
    }

    /// Notes a gap; one that is already known keeps its time.
    pub fn put_gap(&self, gap: &Gap, at: Millis) -> Result<(), StoreError> {
        self.execute(
            "put gap",
            "INSERT INTO gap(path, reason, detail, at) VALUES(?1, ?2, ?3, ?4)
             ON CONFLICT(path, reason) DO UPDATE SET detail = excluded.detail",
            (gap.path.as_bytes(), gap.reason.as_str(), &gap.detail, at),
        )?;
        Ok(())
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
