//! Counts for a summary of a project, each by an index or over a small table.

use retake_model::Millis;
use rusqlite::OptionalExtension as _;

use crate::{Store, StoreError};

/// Operations that are searched for files that were left alone: the newest ones.
const SEARCHED_OPERATIONS: u32 = 100;

/// Changes of agents that are not reviewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingCounts {
    /// Changes.
    pub changes: u64,
    /// Files that they concern.
    pub files: u64,
}

/// Operations that left files alone which they were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOutCounts {
    /// Operations.
    pub operations: u64,
    /// Files that they left.
    pub files: u64,
}

impl Store {
    /// Counts the pending changes of agents, also those that git took back.
    pub fn pending_counts(&self) -> Result<PendingCounts, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT count(*), count(DISTINCT path) FROM change INDEXED BY change_pending
             WHERE status = 'pending' AND actor = 'agent'",
        )?;
        Ok(query.query_row([], |row| {
            let (changes, files): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok(PendingCounts { changes: changes as u64, files: files as u64 })
        })?)
    }

    /// Counts, of the newest operations, those since a time that left files alone and were not
    /// undone.
    pub fn left_out_counts(&self, since: Millis) -> Result<LeftOutCounts, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT count(*), coalesce(sum(left_out), 0)
             FROM (SELECT * FROM operation ORDER BY seq DESC LIMIT ?2)
             WHERE left_out > 0 AND undone_by IS NULL AND at >= ?1",
        )?;
        Ok(query.query_row((since, SEARCHED_OPERATIONS), |row| {
            let (operations, files): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok(LeftOutCounts { operations: operations as u64, files: files as u64 })
        })?)
    }

    /// Counts what is not protected right now.
    pub fn gap_count(&self) -> Result<u64, StoreError> {
        let mut query = self.db.prepare_cached("SELECT count(*) FROM gap")?;
        Ok(query.query_row([], |row| row.get::<_, i64>(0))? as u64)
    }

    /// Returns when a dialog last did anything.
    pub fn last_activity(&self) -> Result<Option<Millis>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT max(last_at) FROM dialog")?;
        Ok(query.query_row([], |row| row.get(0)).optional()?.flatten())
    }

    /// Returns the newest activity of each product of agents.
    pub fn activity_by_kind(&self) -> Result<Vec<KindActivity>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT kind, max(last_at) FROM dialog WHERE kind NOT NULL GROUP BY kind",
        )?;
        let rows = query
            .query_map([], |row| Ok(KindActivity { kind: row.get(0)?, last_at: row.get(1)? }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The newest activity of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindActivity {
    /// The product, as `claude-code`.
    pub kind: String,
    /// When a dialog of it last did anything.
    pub last_at: Millis,
}
