//! The range of `seq` that each dialog's records span, and the first `seq` in use.

use std::collections::HashMap;

use retake_model::{DialogId, JournalKind, Millis, ObjectId, WorkSession};
use rusqlite::OptionalExtension as _;

use crate::gc::reachability::LiveObjects;
use crate::gc::retention::RetentionPlan;
use crate::manifest::oid_from;
use crate::{Store, StoreError};

/// Number of newest operations that stay undoable.
const MIN_OPERATIONS_KEPT: i64 = 10;

/// Query of the changes that a dialog's calls can have made.
const SELECT_CHANGES_OF_CALLS: &str =
    "SELECT k.dialog, min(a.change), max(a.change) FROM candidate a
    JOIN call k ON k.id = a.call JOIN change c ON c.seq = a.change";
/// SQL condition: an effective agent change without approval.
const UNAPPROVED_CONDITION: &str = "c.actor = 'agent' AND c.status IN ('pending', 'accepted')
    AND c.approved IS NULL";

/// The range of `seq` in which a dialog has records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DialogRange {
    pub(crate) dialog: DialogId,
    pub(crate) last_at: Millis,
    /// Its first record of any kind.
    pub(crate) first: u64,
    /// Its last record of any kind.
    pub(crate) last: u64,
    /// Its first effective change without approval.
    pub(crate) unapproved: Option<u64>,
    /// The first place that its open work needs.
    pub(crate) needed: u64,
}

/// Makes `last_at` monotonic along `seq`; clocks may have been set back. A time in the future is
/// ignored.
fn make_last_at_monotonic(spans: &mut [DialogRange], now: Millis) {
    let mut latest = Millis::MIN;
    for span in spans.iter_mut().rev() {
        if span.last_at <= now {
            latest = latest.max(span.last_at);
            span.last_at = latest;
        }
    }
}

impl Store {
    /// The spans of all dialogs, the latest activity first.
    pub(crate) fn dialog_ranges(&self, now: Millis) -> Result<Vec<DialogRange>, StoreError> {
        let mut spans = self.empty_dialog_ranges()?;
        make_last_at_monotonic(&mut spans, now);
        let places: HashMap<DialogId, usize> =
            spans.iter().enumerate().map(|(place, span)| (span.dialog.clone(), place)).collect();
        let mut widen = |sql: &str, open: bool| {
            self.for_each_range(sql, |dialog, first, last| {
                let Some(span) = places.get(&dialog).map(|place| &mut spans[*place]) else {
                    return;
                };
                span.first = span.first.min(first);
                span.last = span.last.max(last);
                if open {
                    span.unapproved = Some(span.unapproved.map_or(first, |old| old.min(first)));
                    span.needed = span.needed.min(first);
                }
            })
        };
        // A notice about changes by others is no activity of the dialog.
        let notice = JournalKind::StaleContext;
        let events = format!("(SELECT dialog, seq FROM event WHERE kind <> '{notice}')");
        for table in ["change", &events, "checkpoint", "operation"] {
            let own = format!("SELECT dialog, min(seq), max(seq) FROM {table}");
            widen(&format!("{own} WHERE dialog NOT NULL GROUP BY 1"), false)?;
        }
        widen(&format!("{SELECT_CHANGES_OF_CALLS} GROUP BY 1"), false)?;
        let direct = "SELECT c.dialog, min(c.seq), max(c.seq) FROM change c";
        widen(
            &format!("{direct} WHERE c.dialog NOT NULL AND {UNAPPROVED_CONDITION} GROUP BY 1"),
            true,
        )?;
        widen(&format!("{SELECT_CHANGES_OF_CALLS} WHERE {UNAPPROVED_CONDITION} GROUP BY 1"), true)?;
        for (dialog, base) in self.active_bases()? {
            if let Some(place) = places.get(&dialog) {
                let seq = self.commit_links(&base)?.seq;
                spans[*place].needed = spans[*place].needed.min(seq);
                spans[*place].first = spans[*place].first.min(seq);
            }
        }
        Ok(spans)
    }

    /// The dialogs, before it is known where their records lie.
    fn empty_dialog_ranges(&self) -> Result<Vec<DialogRange>, StoreError> {
        let sql = "SELECT id, last_at, last_seq FROM dialog ORDER BY last_seq DESC, id";
        let mut query = self.db.prepare(sql)?;
        let spans = query.query_map([], |row| {
            Ok(DialogRange {
                dialog: DialogId(row.get(0)?),
                last_at: row.get(1)?,
                first: u64::MAX,
                last: row.get::<_, i64>(2)? as u64,
                unapproved: None,
                needed: u64::MAX,
            })
        })?;
        Ok(spans.collect::<Result<_, _>>()?)
    }

    fn for_each_range(
        &self,
        sql: &str,
        mut tell: impl FnMut(DialogId, u64, u64),
    ) -> Result<(), StoreError> {
        let mut query = self.db.prepare(sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let place = |at| Ok::<_, StoreError>(row.get::<_, i64>(at)? as u64);
            tell(DialogId(row.get(0)?), place(1)?, place(2)?);
        }
        Ok(())
    }

    fn active_bases(&self) -> Result<Vec<(DialogId, ObjectId)>, StoreError> {
        let sql = "SELECT dialog, base FROM work_session WHERE state = 'active'";
        let mut query = self.db.prepare(sql)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        rows.map(|row| {
            let (dialog, base) = row?;
            Ok((DialogId(dialog), oid_from(&base)?))
        })
        .collect()
    }

    /// The first place that unfinished, untidy and the newest operations need.
    pub(crate) fn first_seq_in_use(&self) -> Result<u64, StoreError> {
        let mut first = u64::MAX;
        let mut query = self.db.prepare(
            "WITH RECURSIVE used(seq) AS (
                 SELECT seq FROM operation WHERE state = 'running' OR untidy = 1
                 UNION SELECT seq FROM (SELECT seq FROM operation ORDER BY seq DESC LIMIT ?1)
                 UNION SELECT u.undone FROM undoes u JOIN used ON u.operation = used.seq)
             SELECT o.seq, o.safety, (SELECT min(change) FROM mark WHERE operation = o.seq)
             FROM operation o JOIN used ON used.seq = o.seq",
        )?;
        let mut rows = query.query([MIN_OPERATIONS_KEPT])?;
        while let Some(row) = rows.next()? {
            let safety = oid_from(&row.get::<_, Vec<u8>>(1)?)?;
            let mark = row.get::<_, Option<i64>>(2)?.map_or(u64::MAX, |seq| seq as u64);
            let safety = self.commit_links(&safety)?.seq;
            first = first.min(row.get::<_, i64>(0)? as u64).min(safety).min(mark);
        }
        Ok(first)
    }

    /// Returns the `seq` after all records from before a time, at most that of the first newer one.
    pub(crate) fn first_seq_since(&self, at: Millis) -> Result<u64, StoreError> {
        let (mut behind, mut newer) = (0, u64::MAX);
        for table in ["change", "checkpoint", "operation"] {
            let place = |sql: &str| -> Result<Option<u64>, StoreError> {
                let found: Option<i64> = self.db.query_row(sql, [at], |row| row.get(0))?;
                Ok(found.map(|seq| seq as u64))
            };
            let old = place(&format!("SELECT max(seq) FROM {table} WHERE at < ?1"))?;
            behind = behind.max(old.map_or(0, |seq| seq + 1));
            let new = place(&format!("SELECT min(seq) FROM {table} WHERE at >= ?1"))?;
            newer = newer.min(new.unwrap_or(u64::MAX));
        }
        Ok(behind.min(newer))
    }

    /// The checkpoints that go, by their place.
    pub(crate) fn doomed_checkpoints(&self, plan: &RetentionPlan) -> Result<Vec<u64>, StoreError> {
        let mut query = self.db.prepare(
            "SELECT seq, dialog, EXISTS (SELECT 1 FROM operation o
                 WHERE o.safety = checkpoint.oid AND o.seq >= ?1)
             FROM checkpoint ORDER BY seq",
        )?;
        let mut rows = query.query([plan.cut as i64])?;
        let mut doomed = Vec::new();
        while let Some(row) = rows.next()? {
            let seq = row.get::<_, i64>(0)? as u64;
            let dialog: Option<String> = row.get(1)?;
            let collected = dialog.is_some_and(|id| plan.collected.contains_key(&DialogId(id)));
            let needed: bool = row.get(2)?;
            if seq < plan.cut || (collected && !needed) {
                doomed.push(seq);
            }
        }
        Ok(doomed)
    }

    /// The work sessions that go, and those that stay.
    pub(crate) fn partition_sessions(
        &self,
        plan: &RetentionPlan,
    ) -> Result<(Vec<WorkSession>, Vec<WorkSession>), StoreError> {
        let (mut doomed, mut kept) = (Vec::new(), Vec::new());
        let mut query = self.db.prepare("SELECT DISTINCT dialog FROM work_session")?;
        let dialogs = query.query_map([], |row| Ok(DialogId(row.get(0)?)))?;
        for dialog in dialogs {
            let dialog = dialog?;
            let sessions = self.work_sessions(&dialog)?;
            let newest = sessions.last().map(|session| session.number);
            for session in sessions {
                let goes = if plan.collected.contains_key(&dialog) {
                    true
                } else if newest == Some(session.number) || session.closed_at.is_none() {
                    false // numbers only grow, and the newest one knows the last
                } else {
                    plan.cut > 0 && self.commit_links(&session.tip)?.seq < plan.cut
                };
                if goes { &mut doomed } else { &mut kept }.push(session);
            }
        }
        Ok((doomed, kept))
    }

    /// Counts the rows of a table below a `seq`.
    pub(crate) fn count_below(&self, table: &str, cut: u64) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {table} WHERE seq < ?1");
        Ok(self.db.query_row(&sql, [cut as i64], |row| row.get::<_, i64>(0))? as u64)
    }

    /// The bytes of all content that is not in the set.
    pub(crate) fn bytes_not_in(&self, live: &LiveObjects) -> Result<u64, StoreError> {
        let mut query = self.db.prepare("SELECT oid, length(data) FROM object")?;
        let mut rows = query.query([])?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let oid = oid_from(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)?;
            if !live.contains(&oid) {
                bytes += row.get::<_, i64>(1)? as u64;
            }
        }
        Ok(bytes + self.packed_bytes_not_in(live)?)
    }

    /// The bytes of the database that are in use, and those of packs.
    pub(crate) fn used_bytes(&self) -> Result<u64, StoreError> {
        let number = |name: &str| -> Result<u64, StoreError> {
            let sql = format!("PRAGMA main.{name}");
            let found: Option<i64> = self.db.query_row(&sql, [], |row| row.get(0)).optional()?;
            Ok(found.unwrap_or(0) as u64)
        };
        let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
        Ok(pages * number("page_size")? + self.packs_size())
    }
}
