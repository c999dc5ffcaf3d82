//! The changes of one call by their places among each other.
//!
//! Invariant: a query steps along the index `change_by_call` over the changes that it counts, and
//! over no others: a call may have made any number of changes.

use retake_model::{CallId, ChangeId, DialogId};
use rusqlite::OptionalExtension as _;

use crate::{Store, StoreError};

/// The changes that exactly one call can have made; `?1` is its dialog, `?2` its id there.
///
/// The conditions are those of the index, and the order of the join is fixed.
const FROM_CALL_CHANGES: &str = "FROM call k CROSS JOIN change c INDEXED BY change_by_call
    WHERE k.dialog = ?1 AND k.call = ?2 AND c.call = k.id AND c.actor = 'agent'";

impl Store {
    /// Returns the number of a call's changes after one place and before another, at most `limit`.
    pub fn count_call_changes(
        &self,
        dialog: &DialogId,
        call: &CallId,
        after: u64,
        before: u64,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 {FROM_CALL_CHANGES} AND c.seq > ?3 AND c.seq < ?4
             LIMIT ?5)"
        );
        let [after, before] = [after, before].map(|seq| i64::try_from(seq).unwrap_or(i64::MAX));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut query = self.db.prepare_cached(&sql)?;
        let count: i64 =
            query.query_row((&dialog.0, &call.0, after, before, limit), |row| row.get(0))?;
        Ok(count as u64)
    }

    /// Returns the change with this number among those of a call; the oldest one is 0.
    pub fn nth_call_change(
        &self,
        dialog: &DialogId,
        call: &CallId,
        number: u64,
    ) -> Result<Option<ChangeId>, StoreError> {
        let sql = format!("SELECT c.seq {FROM_CALL_CHANGES} ORDER BY c.seq LIMIT 1 OFFSET ?3");
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let mut query = self.db.prepare_cached(&sql)?;
        let found: Option<i64> =
            query.query_row((&dialog.0, &call.0, number), |row| row.get(0)).optional()?;
        Ok(found.map(|seq| ChangeId(seq as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreAccess;

    #[test]
    fn the_changes_of_a_call_are_found_along_the_index_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN SELECT 1 {FROM_CALL_CHANGES} AND c.seq > ?3");
        let mut query = store.db.prepare(&sql).unwrap();
        let rows = query.query_map(("d", "c", 0), |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<String> = rows.collect::<Result<_, _>>().unwrap();
        let covering = "USING COVERING INDEX change_by_call (call=? AND seq>?)";
        assert!(plan.iter().any(|step| step.ends_with(covering)), "{plan:#?}");
    }
}
