//! Operations: the journal of what Retake does to the user's files.
//!
//! An operation is written down with everything that it is about to do, before it
//! does any of it. One that is still `running` when no process holds the
//! project's lock was interrupted.

use retake_model::{
    ChangeId, ChangeStatus, DialogId, Millis, ObjectId, Operation, OperationId, OperationKind,
    OperationState, PathState, ProjectPath,
};
use rusqlite::types::Value as SqlValue;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::callers::caller_from;
use crate::changes::{parse_text_column, path_state_columns, path_state_from};
use crate::manifest::{oid_from, path_from};
use crate::{Batch, Store, StoreError};

/// An operation about to begin.
#[derive(Clone, Debug)]
pub struct NewOperation<'a> {
    /// When.
    pub at: Millis,
    /// What it does.
    pub kind: OperationKind,
    /// What it is called.
    pub title: &'a str,
    /// The dialog that it is about.
    pub dialog: Option<&'a DialogId>,
    /// The checkpoint of everything as it was before.
    pub safety: &'a ObjectId,
    /// Files that were asked for and are left alone.
    pub left_out: u64,
    /// Follow-up work once the files are written, for the process that finishes it.
    pub follow_up: &'a Value,
}

/// One path of an operation. Steps of the same part are done together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationStep {
    /// The part of the operation that it belongs to.
    pub part: u64,
    /// The path.
    pub path: ProjectPath,
    /// The temporary name beside it.
    pub temp: ProjectPath,
    /// What is there now.
    pub now: PathState,
    /// What shall be there.
    pub then: PathState,
}

/// The review status that an operation gives to a change.
///
/// A mark of the part [`StatusMark::LEFT`] is never applied: it records that the change was asked
/// for and left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusMark {
    /// The change.
    pub change: ChangeId,
    /// The part of the operation that must be done for it.
    pub part: u64,
    /// Its status before.
    pub old: ChangeStatus,
    /// Its status after.
    pub new: ChangeStatus,
}

impl StatusMark {
    /// No part of the operation: the change stays as it is. (In the database, -2.)
    pub const LEFT: u64 = u64::MAX - 1;
}

/// Query of all columns that [`operation_from`] reads.
const SELECT_OPERATION: &str = "SELECT seq, at, kind, title, dialog, state, safety, undone_by,
        (SELECT text FROM caller WHERE id = operation.caller) FROM operation";

impl Store {
    /// The operations, newest first.
    pub fn operations(&self, limit: usize) -> Result<Vec<Operation>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.operations_where(&format!("ORDER BY seq DESC LIMIT {limit}"), &[])
    }

    /// One operation.
    pub fn operation(&self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        Ok(self.operations_where("WHERE seq = ?1", &[id.0 as i64])?.pop())
    }

    /// The operations of which a temporary file may be left.
    pub fn untidy_operations(&self) -> Result<Vec<Operation>, StoreError> {
        self.operations_where("WHERE untidy = 1 ORDER BY seq", &[])
    }

    /// The operation that was begun and not finished.
    pub fn unfinished_operation(&self) -> Result<Option<Operation>, StoreError> {
        Ok(self.operations_where("WHERE state = 'running' ORDER BY seq LIMIT 1", &[])?.pop())
    }

    fn operations_where(&self, rest: &str, values: &[i64]) -> Result<Vec<Operation>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT_OPERATION} {rest}"))?;
        let mut rows = query.query(params_from_iter(values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(operation_from(row)?);
        }
        Ok(found)
    }

    /// Returns the number of files that an operation was asked for and left alone.
    pub fn left_out_count(&self, id: OperationId) -> Result<u64, StoreError> {
        let sql = "SELECT left_out FROM operation WHERE seq = ?1";
        Ok(self.db.query_row(sql, [id.0 as i64], |row| row.get::<_, i64>(0))? as u64)
    }

    /// Returns whether a path is, or was, a temporary file of an operation.
    pub fn is_step_temp(&self, path: &ProjectPath) -> Result<bool, StoreError> {
        let mut query = self.db.prepare_cached("SELECT 1 FROM step WHERE temp = ?1 LIMIT 1")?;
        Ok(query.exists([path.as_bytes()])?)
    }

    /// Returns the follow-up work once an operation's files are written.
    pub fn follow_up(&self, id: OperationId) -> Result<Value, StoreError> {
        let sql = "SELECT sequel FROM operation WHERE seq = ?1";
        let text: String = self.db.query_row(sql, [id.0 as i64], |row| row.get(0))?;
        serde_json::from_str(&text).map_err(|error| StoreError::Row(format!("{id}: {error}")))
    }

    /// The paths of an operation, in its order.
    pub fn operation_steps(&self, id: OperationId) -> Result<Vec<OperationStep>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT part, path, temp, now_kind, now_mode, now_size, now_oid,
                    then_kind, then_mode, then_size, then_oid
             FROM step WHERE operation = ?1 ORDER BY number",
        )?;
        let mut rows = query.query([id.0 as i64])?;
        let mut steps = Vec::new();
        while let Some(row) = rows.next()? {
            steps.push(OperationStep {
                part: row.get::<_, i64>(0)? as u64,
                path: path_from(row.get(1)?)?,
                temp: path_from(row.get(2)?)?,
                now: path_state_from(row, 3)?,
                then: path_state_from(row, 7)?,
            });
        }
        Ok(steps)
    }

    /// Returns the number of paths of an operation.
    pub fn step_count(&self, id: OperationId) -> Result<u64, StoreError> {
        let mut query = self.db.prepare_cached("SELECT count(*) FROM step WHERE operation = ?1")?;
        Ok(query.query_row([id.0 as i64], |row| row.get::<_, i64>(0))? as u64)
    }

    /// Returns the marks of an operation; with `set_only` only those that were applied.
    pub fn marks(&self, id: OperationId, set_only: bool) -> Result<Vec<StatusMark>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT change, part, old_status, new_status FROM mark
             WHERE operation = ?1 AND set_it >= ?2 ORDER BY change",
        )?;
        let mut rows = query.query((id.0 as i64, i64::from(set_only)))?;
        let mut marks = Vec::new();
        while let Some(row) = rows.next()? {
            marks.push(StatusMark {
                change: ChangeId(row.get::<_, i64>(0)? as u64),
                part: row.get::<_, i64>(1)? as u64,
                old: parse_text_column(row, 2)?,
                new: parse_text_column(row, 3)?,
            });
        }
        Ok(marks)
    }

    /// Returns whether an operation has set the status of any change.
    pub fn has_marks(&self, id: OperationId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM mark WHERE operation = ?1 AND set_it = 1 LIMIT 1";
        Ok(self.db.prepare_cached(sql)?.exists([id.0 as i64])?)
    }

    /// The status that earlier changes had at a place in the order, if operations after it
    /// changed that.
    pub fn statuses_at(&self, seq: u64) -> Result<Vec<(ChangeId, ChangeStatus)>, StoreError> {
        // Beside a minimum, SQLite gives the columns of the row that has it.
        let mut query = self.db.prepare_cached(
            "SELECT change, old_status, min(operation) FROM mark
             WHERE set_it = 1 AND operation > ?1 AND change < ?1 GROUP BY change",
        )?;
        let mut rows = query.query([seq as i64])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((ChangeId(row.get::<_, i64>(0)? as u64), parse_text_column(row, 1)?));
        }
        Ok(found)
    }

    /// The operation that last took a change back, and the part of it that did.
    pub fn taken_back_by(
        &self,
        change: ChangeId,
    ) -> Result<Option<(OperationId, u64)>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT operation, part FROM mark WHERE change = ?1 AND set_it = 1
                 AND new_status IN ('reverted', 'rejected') ORDER BY operation DESC LIMIT 1",
        )?;
        let found = query.query_row([change.0 as i64], |row| {
            Ok((OperationId(row.get::<_, i64>(0)? as u64), row.get::<_, i64>(1)? as u64))
        });
        Ok(found.optional()?)
    }

    /// The operations that this one takes back.
    pub fn operations_undone_by(&self, id: OperationId) -> Result<Vec<OperationId>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT undone FROM undoes WHERE operation = ?1 ORDER BY undone")?;
        let rows = query.query_map([id.0 as i64], |row| row.get::<_, i64>(0))?;
        rows.map(|seq| Ok(OperationId(seq? as u64))).collect()
    }

    /// The decisions on single hunks of a change: number from 1, status.
    pub fn hunk_decisions(&self, change: ChangeId) -> Result<Vec<(u32, ChangeStatus)>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT number, status FROM hunk WHERE change = ?1 ORDER BY number")?;
        let mut rows = query.query([change.0 as i64])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, parse_text_column(row, 1)?));
        }
        Ok(found)
    }
}

fn operation_from(row: &Row<'_>) -> Result<Operation, StoreError> {
    Ok(Operation {
        id: OperationId(row.get::<_, i64>(0)? as u64),
        at: row.get(1)?,
        kind: parse_text_column(row, 2)?,
        title: row.get(3)?,
        dialog: row.get::<_, Option<String>>(4)?.map(DialogId),
        state: parse_text_column(row, 5)?,
        safety: oid_from(&row.get::<_, Vec<u8>>(6)?)?,
        undone_by: row.get::<_, Option<i64>>(7)?.map(|seq| OperationId(seq as u64)),
        said_by: caller_from(row.get(8)?),
    })
}

impl Batch<'_> {
    /// Writes down an operation that is about to begin.
    pub fn begin_operation(&self, new: &NewOperation<'_>) -> Result<OperationId, StoreError> {
        let id = OperationId(self.next_seq());
        self.execute(
            "begin operation",
            "INSERT INTO operation(seq, at, kind, title, dialog, state, safety, left_out, sequel,
                caller) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            (
                id.0 as i64,
                new.at,
                new.kind.as_str(),
                new.title,
                new.dialog.map(|id| &id.0),
                OperationState::Running.as_str(),
                new.safety.as_bytes().as_slice(),
                new.left_out as i64,
                new.follow_up.to_string(),
                self.current_caller_row()?,
            ),
        )?;
        Ok(id)
    }

    /// Writes down the paths that an operation is about to write, after those that it has.
    pub fn put_steps(&self, id: OperationId, steps: &[OperationStep]) -> Result<(), StoreError> {
        let sql = "SELECT coalesce(max(number) + 1, 0) FROM step WHERE operation = ?1";
        let first: i64 = self.db.query_row(sql, [id.0 as i64], |row| row.get(0))?;
        for (number, step) in (first..).zip(steps) {
            let head: [SqlValue; 5] = [
                (id.0 as i64).into(),
                number.into(),
                (step.part as i64).into(),
                step.path.as_bytes().to_vec().into(),
                step.temp.as_bytes().to_vec().into(),
            ];
            let [now, then] = [&step.now, &step.then].map(path_state_columns);
            self.execute(
                "put step",
                "INSERT INTO step(operation, number, part, path, temp, now_kind, now_mode,
                    now_size, now_oid, then_kind, then_mode, then_size, then_oid)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                params_from_iter(head.into_iter().chain(now).chain(then)),
            )?;
        }
        Ok(())
    }

    /// Writes down what an operation is to make of a change.
    pub fn put_mark(&self, id: OperationId, mark: &StatusMark) -> Result<(), StoreError> {
        self.execute(
            "put mark",
            "INSERT OR REPLACE INTO mark(operation, change, part, old_status, new_status)
             VALUES(?1, ?2, ?3, ?4, ?5)",
            (
                id.0 as i64,
                mark.change.0 as i64,
                mark.part as i64,
                mark.old.as_str(),
                mark.new.as_str(),
            ),
        )?;
        Ok(())
    }

    /// Applies a mark.
    pub fn apply_mark(
        &self,
        id: OperationId,
        mark: &StatusMark,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.set_status(mark.change, mark.new, at)?;
        self.execute(
            "set mark",
            "UPDATE mark SET set_it = 1 WHERE operation = ?1 AND change = ?2",
            (id.0 as i64, mark.change.0 as i64),
        )?;
        Ok(())
    }

    /// Sets the review status of a change, with its event.
    pub fn set_status(
        &self,
        change: ChangeId,
        status: ChangeStatus,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.execute(
            "set status",
            "UPDATE change SET status = ?2 WHERE seq = ?1",
            (change.0 as i64, status.as_str()),
        )?;
        self.put_status_event(change, at)
    }

    /// Records that a work session approved a change, with its event.
    pub fn set_approved(
        &self,
        change: ChangeId,
        session: u64,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.execute(
            "set approved",
            "UPDATE change SET status = 'accepted', approved = ?2 WHERE seq = ?1",
            (change.0 as i64, session as i64),
        )?;
        self.put_status_event(change, at)
    }

    /// Clears an approval, with its event: the change was reverted, and that was approved.
    pub fn clear_approval(&self, change: ChangeId, at: Millis) -> Result<(), StoreError> {
        let sql = "UPDATE change SET approved = NULL WHERE seq = ?1";
        self.execute("forget approval", sql, [change.0 as i64])?;
        self.put_status_event(change, at)
    }

    /// Records that one of the dialogs that may have made a change approved it; returns how many
    /// of them have.
    pub fn approve_shared(&self, change: ChangeId, dialog: &DialogId) -> Result<u64, StoreError> {
        self.execute(
            "approve shared",
            "INSERT OR IGNORE INTO shared_approval(change, dialog) VALUES(?1, ?2)",
            (change.0 as i64, &dialog.0),
        )?;
        let sql = "SELECT count(*) FROM shared_approval WHERE change = ?1";
        Ok(self.db.query_row(sql, [change.0 as i64], |row| row.get::<_, i64>(0))? as u64)
    }

    /// Sets the decision on one hunk of a change; `None` clears it.
    pub fn decide_hunk(
        &self,
        change: ChangeId,
        number: u32,
        status: Option<ChangeStatus>,
    ) -> Result<(), StoreError> {
        match status {
            Some(status) => self.execute(
                "decide hunk",
                "INSERT OR REPLACE INTO hunk(change, number, status) VALUES(?1, ?2, ?3)",
                (change.0 as i64, number, status.as_str()),
            )?,
            None => self.execute(
                "forget hunk",
                "DELETE FROM hunk WHERE change = ?1 AND number = ?2",
                (change.0 as i64, number),
            )?,
        };
        Ok(())
    }

    /// Clears the decisions on hunks of all changes of a path.
    pub fn forget_hunks_of(&self, path: &ProjectPath) -> Result<(), StoreError> {
        self.execute(
            "forget hunks",
            "DELETE FROM hunk WHERE change IN (SELECT seq FROM change WHERE path = ?1)",
            [path.as_bytes()],
        )?;
        Ok(())
    }

    /// Records that an operation undoes another one.
    pub fn put_undoes(&self, id: OperationId, undone: OperationId) -> Result<(), StoreError> {
        self.execute(
            "put undoes",
            "INSERT OR IGNORE INTO undoes(operation, undone) VALUES(?1, ?2)",
            (id.0 as i64, undone.0 as i64),
        )?;
        Ok(())
    }

    /// Sets the operation by which another one is undone now, if any.
    pub fn set_undone(&self, id: OperationId, by: Option<OperationId>) -> Result<(), StoreError> {
        self.execute(
            "set undone",
            "UPDATE operation SET undone_by = ?2 WHERE seq = ?1",
            (id.0 as i64, by.map(|by| by.0 as i64)),
        )?;
        Ok(())
    }

    /// Ends an operation; `untidy` if a temporary file of it could not be removed.
    pub fn end_operation(
        &self,
        id: OperationId,
        state: OperationState,
        untidy: bool,
    ) -> Result<(), StoreError> {
        self.execute(
            "end operation",
            "UPDATE operation SET state = ?2, untidy = ?3 WHERE seq = ?1",
            (id.0 as i64, state.as_str(), untidy),
        )?;
        Ok(())
    }

    /// Ends an operation that wrote no file. What it was to make of changes and operations is
    /// forgotten; its paths are kept, as long as a temporary file may be left.
    pub fn cancel_operation(&self, id: OperationId, untidy: bool) -> Result<(), StoreError> {
        self.execute("cancel marks", "DELETE FROM mark WHERE operation = ?1", [id.0 as i64])?;
        self.execute("cancel undoes", "DELETE FROM undoes WHERE operation = ?1", [id.0 as i64])?;
        self.end_operation(id, OperationState::Cancelled, untidy)
    }
}
