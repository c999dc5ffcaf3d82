//! Rejections that wait until the agents concerned have ended their turns.

use retake_model::{DialogId, OperationId, ProjectPath, QueueState, QueuedRejection};
use rusqlite::{OptionalExtension as _, Row};

use crate::callers::caller_from;
use crate::changes::parse_text_column;
use crate::manifest::path_from;
use crate::{Batch, Store, StoreError};

/// Query of all columns that [`queued_from`] reads.
const SELECT_QUEUED: &str = "SELECT id, at, path, request, reason, dialogs, state, outcome,
    operation, hunk, (SELECT text FROM caller WHERE id = queued_rejection.caller) FROM queued_rejection";

impl Store {
    /// The rejections that wait, oldest first.
    pub fn waiting_rejections(&self) -> Result<Vec<QueuedRejection>, StoreError> {
        self.queued_where("WHERE state = 'waiting' ORDER BY id", [])
    }

    /// The rejections that wait for a file, oldest first.
    pub fn waiting_rejections_of(
        &self,
        path: &ProjectPath,
    ) -> Result<Vec<QueuedRejection>, StoreError> {
        self.queued_where("WHERE state = 'waiting' AND path = ?1 ORDER BY id", [path.as_bytes()])
    }

    /// The newest rejections that were queued, settled ones included, newest first.
    pub fn queued_rejections(&self, limit: usize) -> Result<Vec<QueuedRejection>, StoreError> {
        self.queued_where("ORDER BY id DESC LIMIT ?1", [i64::try_from(limit).unwrap_or(i64::MAX)])
    }

    /// One queued rejection.
    pub fn queued_rejection(&self, id: u64) -> Result<Option<QueuedRejection>, StoreError> {
        Ok(self.queued_where("WHERE id = ?1", [id as i64])?.pop())
    }

    /// Returns whether a rejection waits.
    pub fn has_waiting_rejections(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM queued_rejection WHERE state = 'waiting' LIMIT 1";
        let found = self.db.prepare_cached(sql)?.query_row([], |_| Ok(())).optional()?;
        Ok(found.is_some())
    }

    fn queued_where(
        &self,
        rest: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<QueuedRejection>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT_QUEUED} {rest}"))?;
        let mut rows = query.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(queued_from(row)?);
        }
        Ok(found)
    }
}

impl Batch<'_> {
    /// Queues a rejection; its id and its caller are set here. Returns the id.
    pub fn put_queued_rejection(&self, new: &QueuedRejection) -> Result<u64, StoreError> {
        let dialogs: Vec<_> = new.dialogs.iter().map(|dialog| &dialog.0).collect();
        let dialogs = serde_json::to_string(&dialogs)
            .map_err(|error| StoreError::Row(format!("a queued rejection: {error}")))?;
        self.execute(
            "queue rejection",
            "INSERT INTO queued_rejection(at, path, hunk, request, reason, dialogs, caller, state)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                new.at,
                new.path.as_bytes(),
                new.hunk.to_string(),
                &new.request,
                &new.reason,
                dialogs,
                self.current_caller_row()?,
                new.state.as_str(),
            ),
        )?;
        Ok(self.last_row_id() as u64)
    }

    /// Settles a queued rejection.
    pub fn settle_queued_rejection(
        &self,
        id: u64,
        state: QueueState,
        outcome: Option<&str>,
        operation: Option<OperationId>,
    ) -> Result<(), StoreError> {
        self.execute(
            "settle rejection",
            "UPDATE queued_rejection SET state = ?2, outcome = ?3, operation = ?4 WHERE id = ?1",
            (id as i64, state.as_str(), outcome, operation.map(|operation| operation.0 as i64)),
        )?;
        Ok(())
    }
}

fn queued_from(row: &Row<'_>) -> Result<QueuedRejection, StoreError> {
    let dialogs: Vec<String> = serde_json::from_str(&row.get::<_, String>(5)?)
        .map_err(|error| StoreError::Row(format!("a queued rejection: {error}")))?;
    Ok(QueuedRejection {
        id: row.get::<_, i64>(0)? as u64,
        at: row.get(1)?,
        path: path_from(row.get(2)?)?,
        hunk: parse_text_column(row, 9)?,
        request: row.get(3)?,
        reason: row.get(4)?,
        dialogs: dialogs.into_iter().map(DialogId).collect(),
        state: parse_text_column(row, 6)?,
        outcome: row.get(7)?,
        operation: row.get::<_, Option<i64>>(8)?.map(|seq| OperationId(seq as u64)),
        said_by: caller_from(row.get(10)?),
    })
}
