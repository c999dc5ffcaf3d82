//! Sums over changes.

use rusqlite::{Row, params_from_iter};

use crate::{ChangeFilter, Store, StoreError};

/// Sums over some changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeTotals {
    /// How many changes.
    pub changes: u64,
    /// How many paths they are of.
    pub files: u64,
    /// Lines that they added.
    pub added: u64,
    /// Lines that they removed.
    pub removed: u64,
    /// Agents' changes that are not reviewed.
    pub pending: u64,
    /// Agents' changes that were accepted.
    pub accepted: u64,
    /// Agents' changes that were rejected.
    pub rejected: u64,
    /// Agents' changes that an operation took back.
    pub reverted: u64,
}

/// The columns that [`totals_from`] reads, of changes `c`.
pub(crate) const TOTAL_COLUMNS: &str =
    "count(*), count(DISTINCT c.path), total(c.added), total(c.removed),
    total(c.actor = 'agent' AND c.status = 'pending'),
    total(c.actor = 'agent' AND c.status = 'accepted'),
    total(c.actor = 'agent' AND c.status = 'rejected'),
    total(c.actor = 'agent' AND c.status = 'reverted')";

impl Store {
    /// The sums over all changes that a filter lets through, on whichever page they are.
    pub fn change_totals(&self, filter: &ChangeFilter) -> Result<ChangeTotals, StoreError> {
        let (sql, values) = filter.totals_sql();
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row(params_from_iter(values), |row| totals_from(row, 0))?)
    }
}

/// Sums from a row whose columns from `at` on are [`TOTAL_COLUMNS`].
pub(crate) fn totals_from(row: &Row<'_>, at: usize) -> rusqlite::Result<ChangeTotals> {
    let count = |column: usize| row.get::<_, i64>(at + column).map(|count| count as u64);
    // SQLite's `total` is never null, and a float.
    let sum = |column: usize| row.get::<_, f64>(at + column).map(|sum| sum as u64);
    Ok(ChangeTotals {
        changes: count(0)?,
        files: count(1)?,
        added: sum(2)?,
        removed: sum(3)?,
        pending: sum(4)?,
        accepted: sum(5)?,
        rejected: sum(6)?,
        reverted: sum(7)?,
    })
}
