//! Work sessions: the rounds of approval of a dialog. Only a collection removes one, and
//! numbers only grow (SESS-4, SESS-5).

use retake_model::{DialogId, Millis, ObjectId, SessionState, WorkSession};
use rusqlite::{OptionalExtension as _, Row};

use crate::changes::parse_text_column;
use crate::manifest::oid_from;
use crate::{Batch, Store, StoreError};

/// Query of all columns that [`session_from`] reads.
const SELECT_WORK_SESSION: &str = "SELECT dialog, number, state, opened_at, closed_at, base, tip,
    approved_commit, message FROM work_session";

impl Store {
    /// The work sessions of a dialog, oldest first.
    pub fn work_sessions(&self, dialog: &DialogId) -> Result<Vec<WorkSession>, StoreError> {
        let sql = format!("{SELECT_WORK_SESSION} WHERE dialog = ?1 ORDER BY number");
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query([&dialog.0])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(session_from(row)?);
        }
        Ok(found)
    }

    /// The work session of a dialog that collects changes.
    pub fn active_session(&self, dialog: &DialogId) -> Result<Option<WorkSession>, StoreError> {
        let sql = format!(
            "{SELECT_WORK_SESSION} WHERE dialog = ?1 AND state = 'active' ORDER BY number DESC LIMIT 1"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        query.query_row([&dialog.0], |row| Ok(session_from(row))).optional()?.transpose()
    }
}

fn session_from(row: &Row<'_>) -> Result<WorkSession, StoreError> {
    let approved: Option<Vec<u8>> = row.get(7)?;
    Ok(WorkSession {
        dialog: DialogId(row.get(0)?),
        number: row.get::<_, i64>(1)? as u64,
        state: parse_text_column(row, 2)?,
        opened_at: row.get(3)?,
        closed_at: row.get(4)?,
        base: oid_from(&row.get::<_, Vec<u8>>(5)?)?,
        tip: oid_from(&row.get::<_, Vec<u8>>(6)?)?,
        approved_commit: approved.map(|oid| oid_from(&oid)).transpose()?,
        message: row.get(8)?,
    })
}

impl Batch<'_> {
    /// Opens the dialog's next work session from an approved state; returns its number.
    pub fn open_session(
        &self,
        dialog: &DialogId,
        base: &ObjectId,
        at: Millis,
    ) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(max(number), 0) + 1 FROM work_session WHERE dialog = ?1";
        let number: i64 = self.db.query_row(sql, [&dialog.0], |row| row.get(0))?;
        self.execute(
            "open work session",
            "INSERT INTO work_session(dialog, number, state, opened_at, base, tip)
             VALUES(?1, ?2, ?3, ?4, ?5, ?5)",
            (&dialog.0, number, SessionState::Active.as_str(), at, base.as_bytes().as_slice()),
        )?;
        Ok(number as u64)
    }

    /// Moves the tip of a work session to a new checkpoint.
    pub fn advance_session(
        &self,
        dialog: &DialogId,
        number: u64,
        tip: &ObjectId,
    ) -> Result<(), StoreError> {
        self.execute(
            "advance work session",
            "UPDATE work_session SET tip = ?3 WHERE dialog = ?1 AND number = ?2",
            (&dialog.0, number as i64, tip.as_bytes().as_slice()),
        )?;
        Ok(())
    }

    /// Closes a work session: merged if a commit approves it, else abandoned.
    pub fn close_session(
        &self,
        session: &WorkSession,
        approved: Option<&ObjectId>,
        message: Option<&str>,
        at: Millis,
    ) -> Result<(), StoreError> {
        let state = approved.map_or(SessionState::Abandoned, |_| SessionState::Merged);
        self.execute(
            "close work session",
            "UPDATE work_session SET state = ?3, closed_at = ?4, approved_commit = ?5, message = ?6
             WHERE dialog = ?1 AND number = ?2",
            (
                &session.dialog.0,
                session.number as i64,
                state.as_str(),
                at,
                approved.map(|oid| oid.as_bytes().as_slice()),
                message,
            ),
        )?;
        Ok(())
    }
}
