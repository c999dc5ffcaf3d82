//! Garbage collection: removes what the retention plan releases, in small transactions.
//!
//! Kill-safe at every step: checkpoints, work sessions and operations go before
//! the changes that they are worked out from, changes go oldest first, records go
//! before the content that they name, and what names others before what it names.
//! So each commit leaves a store that is whole.
//!
//! The project's lock is held for one transaction at a time. Whenever another
//! process has written in between, the plan is made again: what is garbage at
//! one moment may be named at the next.

pub(crate) mod dialog_range;
pub(crate) mod links;
pub(crate) mod reachability;
pub(crate) mod retention;
pub(crate) mod sweep;

use serde::{Deserialize, Serialize};
use std::time::Duration;

use retake_model::{DialogId, Millis};

use crate::gc::reachability::LiveObjects;
use crate::gc::retention::{RetentionLimits, RetentionPlan};
use crate::{Batch, FileLock, Store, StoreError};

/// Maximum rows removed in one transaction.
const MAX_ROWS_PER_TX: usize = 2000;
/// Maximum pages vacuumed in one transaction.
const MAX_PAGES_PER_TX: u32 = 2000;
/// Pause between transactions, long enough for a waiting process to get the lock.
const PAUSE_BETWEEN_TX: Duration = Duration::from_millis(5);
/// Maximum plans per collection; after as many interruptions the rest is left for the next one.
const MAX_ATTEMPTS: usize = 20;

/// Disk usage of the record, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUsage {
    /// All files of the project in the home.
    pub disk: u64,
    /// Content, in the database and in packs.
    pub content: u64,
    /// Everything else in the database that is in use.
    pub records: u64,
}

/// What a collection removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedRecords {
    /// Dialogs of which nothing is left.
    pub dialogs: u64,
    /// Changes.
    pub changes: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Work sessions.
    pub sessions: u64,
    /// Operations.
    pub operations: u64,
    /// Events.
    pub events: u64,
    /// Objects.
    pub objects: u64,
}

/// Result of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcReport {
    /// What was removed.
    pub removed: RemovedRecords,
    /// The record before.
    pub before: DiskUsage,
    /// The record after.
    pub after: DiskUsage,
    /// Bytes over the limit that had to stay.
    pub over_bytes: u64,
    /// Whether all was done; concurrent writers may have interrupted it too often.
    pub complete: bool,
}

/// Why nothing more was collected.
#[derive(Debug, thiserror::Error)]
pub enum GcError {
    /// Another process holds the project.
    #[error("the project is in use and did not become free in time")]
    Busy,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Measures the disk usage of the record.
    pub fn disk_usage(&self) -> Result<DiskUsage, StoreError> {
        let sql = "SELECT coalesce(sum(length(data)), 0) FROM object";
        let rows = self.db.query_row(sql, [], |row| row.get::<_, i64>(0))? as u64;
        let content = rows + self.packs_size();
        let records = self.used_bytes()?.saturating_sub(content);
        Ok(DiskUsage { disk: self.disk_size(), content, records })
    }

    /// Removes what the limits let go, and every content that nothing names.
    ///
    /// `wait` is for the lock, each time; `progress` is told how many of how many rows are done.
    pub fn gc(
        &self,
        limits: &RetentionLimits,
        now: Millis,
        wait: Duration,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<GcReport, GcError> {
        self.gc_until(limits, now, wait, progress, &|| false)
    }

    /// Like [`Store::gc`]; ends before the next transaction once `is_cancelled`, and is not
    /// complete then.
    pub fn gc_until(
        &self,
        limits: &RetentionLimits,
        now: Millis,
        wait: Duration,
        progress: &mut dyn FnMut(u64, u64),
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<GcReport, GcError> {
        let mut done = GcReport { before: self.disk_usage()?, ..GcReport::default() };
        let unchecked = UncheckedForeignKeys::begin(self)?;
        for _ in 0..MAX_ATTEMPTS {
            if is_cancelled() {
                break;
            }
            let version = self.data_version()?;
            let planned = self.retention_plan(limits, now)?;
            done.over_bytes = planned.over_bytes;
            let mut work = GcRun {
                store: self,
                version,
                wait,
                removed: &mut done.removed,
                total: 0,
                done: 0,
                progress,
                is_cancelled,
            };
            if work.run(&planned.plan, &planned.live)? {
                done.complete = true;
                break;
            }
        }
        drop(unchecked);
        if done.removed.objects > 0
            && let Some(_lock) = FileLock::acquire_export(self.folder(), wait)?
        {
            self.remove_export()?;
        }
        self.finish_purge(wait)?;
        self.vacuum_free_pages(wait)?;
        done.after = self.disk_usage()?;
        Ok(done)
    }

    /// Completes a purge that was interrupted.
    fn finish_purge(&self, wait: Duration) -> Result<(), GcError> {
        if self.needs_scrub()? {
            let _lock = FileLock::acquire(self.folder(), wait)?.ok_or(GcError::Busy)?;
            let export = FileLock::acquire_export(self.folder(), wait)?;
            self.scrub(export.is_some())?;
        }
        Ok(())
    }

    /// Changes whenever another connection commits; asking for it reads no table.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        Ok(self.db.query_row("PRAGMA main.data_version", [], |row| row.get(0))?)
    }

    /// Returns free pages to the file system by incremental vacuum.
    pub(crate) fn vacuum_free_pages(&self, wait: Duration) -> Result<(), GcError> {
        loop {
            let sql = "PRAGMA main.freelist_count";
            let free: i64 =
                self.db.query_row(sql, [], |row| row.get(0)).map_err(StoreError::from)?;
            if free == 0 {
                break;
            }
            let _lock = FileLock::acquire(self.folder(), wait)?.ok_or(GcError::Busy)?;
            retake_seam::statement("give back pages").map_err(StoreError::from)?;
            let sql = format!("PRAGMA main.incremental_vacuum({MAX_PAGES_PER_TX})");
            self.run_pragma(&sql)?;
            self.shorten_wal();
            let left: i64 = self
                .db
                .query_row("PRAGMA main.freelist_count", [], |row| row.get(0))
                .map_err(StoreError::from)?;
            if left >= free {
                break; // a reader keeps them; the next collection tries again
            }
            std::thread::sleep(PAUSE_BETWEEN_TX);
        }
        Ok(self.truncate_wal().map(drop)?)
    }

    /// Steps a pragma to its end: each step may do a part of its work.
    pub(crate) fn run_pragma(&self, sql: &str) -> Result<(), StoreError> {
        let mut query = self.db.prepare(sql)?;
        let mut rows = query.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// Checkpoints and truncates the WAL; returns whether no reader prevented it.
    pub(crate) fn truncate_wal(&self) -> Result<bool, StoreError> {
        retake_seam::statement("cut WAL")?;
        let sql = "PRAGMA main.wal_checkpoint(TRUNCATE)";
        Ok(self.db.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0)
    }
}

/// Disables foreign-key checks while ranges of records are removed; enables them on drop.
struct UncheckedForeignKeys<'s> {
    store: &'s Store,
}

impl<'s> UncheckedForeignKeys<'s> {
    fn begin(store: &'s Store) -> Result<Self, StoreError> {
        store.db.pragma_update(None, "foreign_keys", "OFF")?;
        Ok(Self { store })
    }
}

impl Drop for UncheckedForeignKeys<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.store.db.pragma_update(None, "foreign_keys", "ON") {
            tracing::error!(%error, "foreign keys stay unchecked");
        }
    }
}

/// Another process wrote, so the plan may be out of date.
struct PlanOutdated;

type GcStep<T> = Result<Result<T, PlanOutdated>, GcError>;

/// Goes on if the plan still holds, else stops with `false`.
macro_rules! still {
    ($step:expr) => {
        match $step? {
            Ok(value) => value,
            Err(PlanOutdated) => return Ok(false),
        }
    };
}

struct GcRun<'w> {
    store: &'w Store,
    version: i64,
    wait: Duration,
    removed: &'w mut RemovedRecords,
    total: u64,
    done: u64,
    progress: &'w mut dyn FnMut(u64, u64),
    is_cancelled: &'w dyn Fn() -> bool,
}

impl GcRun<'_> {
    /// Runs one transaction under the lock, if no other process wrote since the plan was made and it
    /// is not cancelled.
    fn transact<T>(
        &mut self,
        work: impl FnOnce(&Batch<'_>, &mut RemovedRecords) -> Result<T, StoreError>,
    ) -> GcStep<T> {
        if (self.is_cancelled)() {
            return Ok(Err(PlanOutdated));
        }
        let lock = FileLock::acquire(self.store.folder(), self.wait)?.ok_or(GcError::Busy)?;
        let batch = self.store.batch()?;
        if self.store.data_version()? != self.version {
            return Ok(Err(PlanOutdated));
        }
        let mut removed = *self.removed;
        let value = work(&batch, &mut removed)?;
        batch.commit()?;
        *self.removed = removed;
        drop(lock);
        std::thread::sleep(PAUSE_BETWEEN_TX);
        Ok(Ok(value))
    }

    fn report_progress(&mut self, rows: usize) {
        self.done += rows as u64;
        (self.progress)(self.done.min(self.total), self.total);
    }

    /// Executes the plan; returns whether all of it was done.
    fn run(&mut self, plan: &RetentionPlan, live: &LiveObjects) -> Result<bool, GcError> {
        let garbage = self.store.garbage_rows(live)?;
        let records = self.store.count_below("change", plan.cut)?
            + self.store.count_below("event", plan.cut)?;
        self.total = garbage.len() as u64 + records;
        still!(self.remove_checkpoints_and_sessions(plan));
        still!(self.remove_operations(plan.cut));
        loop {
            let rows = still!(self.remove_events(plan.cut));
            self.report_progress(rows);
            if rows == 0 {
                break;
            }
        }
        for table in ["message", "sight"] {
            while still!(self.remove_rows(table, plan.cut)) > 0 {}
        }
        loop {
            let rows = still!(self.remove_changes(plan.cut));
            self.report_progress(rows);
            if rows == 0 {
                break;
            }
        }
        let calls = self.store.doomed_calls(plan)?;
        for calls in calls.chunks(MAX_ROWS_PER_TX) {
            still!(self.transact(|batch, _| {
                for call in calls {
                    batch.execute("remove call", "DELETE FROM call WHERE id = ?1", [call])?;
                }
                Ok(())
            }));
        }
        still!(self.remove_dialogs(&plan.gone));
        for rows in garbage.chunks(MAX_ROWS_PER_TX) {
            still!(self.transact(|batch, removed| {
                for id in rows {
                    batch.execute("remove object", "DELETE FROM object WHERE id = ?1", [id])?;
                }
                removed.objects += rows.len() as u64;
                Ok(())
            }));
            self.report_progress(rows.len());
        }
        still!(self.replace_packs(live));
        Ok(true)
    }

    /// Repacks what is needed of wasteful packs in one transaction; the old files are removed only
    /// after it.
    fn replace_packs(&mut self, live: &LiveObjects) -> GcStep<()> {
        let wasteful = self.store.wasteful_packs(live)?;
        if !wasteful.is_empty() {
            match self.transact(|batch, _| batch.replace_packs(&wasteful, live)) {
                // Damage is no reason to remove anything; `doctor` reports it.
                Err(GcError::Store(error @ StoreError::Damaged { .. })) => {
                    tracing::warn!(%error, "packs are kept as they are");
                }
                other => {
                    if let Err(outdated) = other? {
                        return Ok(Err(outdated));
                    }
                }
            }
        }
        let _lock = FileLock::acquire(self.store.folder(), self.wait)?.ok_or(GcError::Busy)?;
        Ok(Ok(self.store.remove_stray_packs()?))
    }

    /// Checkpoints and work sessions.
    fn remove_checkpoints_and_sessions(&mut self, plan: &RetentionPlan) -> GcStep<()> {
        let points = self.store.doomed_checkpoints(plan)?;
        let sessions = self.store.partition_sessions(plan)?.0;
        for rows in points.chunks(MAX_ROWS_PER_TX) {
            let step = self.transact(|batch, removed| {
                for seq in rows {
                    let sql = "DELETE FROM checkpoint WHERE seq = ?1";
                    batch.execute("remove checkpoint", sql, [*seq as i64])?;
                }
                removed.checkpoints += rows.len() as u64;
                Ok(())
            })?;
            if let Err(outdated) = step {
                return Ok(Err(outdated));
            }
        }
        for rows in sessions.chunks(MAX_ROWS_PER_TX) {
            let step = self.transact(|batch, removed| {
                for session in rows {
                    let sql = "DELETE FROM work_session WHERE dialog = ?1 AND number = ?2";
                    let row = (&session.dialog.0, session.number as i64);
                    batch.execute("remove work session", sql, row)?;
                }
                removed.sessions += rows.len() as u64;
                Ok(())
            })?;
            if let Err(outdated) = step {
                return Ok(Err(outdated));
            }
        }
        Ok(Ok(()))
    }

    /// Operations, each with all of its steps: half of one could not be undone.
    fn remove_operations(&mut self, cut: u64) -> GcStep<()> {
        loop {
            let step = self.transact(|batch, removed| {
                let sql = "SELECT min(seq) FROM operation WHERE seq < ?1";
                let seq: Option<i64> = batch.db.query_row(sql, [cut as i64], |row| row.get(0))?;
                let Some(seq) = seq else { return Ok(false) };
                for (what, sql) in [
                    ("remove steps", "DELETE FROM step WHERE operation = ?1"),
                    ("remove marks", "DELETE FROM mark WHERE operation = ?1"),
                    ("remove undoes", "DELETE FROM undoes WHERE operation = ?1 OR undone = ?1"),
                    ("remove rejection", "DELETE FROM rejection WHERE operation = ?1"),
                    ("remove taken parts", "DELETE FROM taken_part WHERE operation = ?1"),
                    ("remove rejected runs", "DELETE FROM rejected_run WHERE operation = ?1"),
                    ("remove repeats", "DELETE FROM added_again WHERE operation = ?1"),
                    ("remove notices", "DELETE FROM rejection_notice WHERE operation = ?1"),
                    ("forget undone", "UPDATE operation SET undone_by = NULL WHERE undone_by = ?1"),
                    ("remove operation", "DELETE FROM operation WHERE seq = ?1"),
                ] {
                    batch.execute(what, sql, [seq])?;
                }
                removed.operations += 1;
                Ok(true)
            })?;
            match step {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(())),
                Err(outdated) => return Ok(Err(outdated)),
            }
        }
    }

    fn remove_events(&mut self, cut: u64) -> GcStep<usize> {
        self.transact(|batch, removed| {
            let sql = "DELETE FROM event WHERE seq IN
                (SELECT seq FROM event WHERE seq < ?1 ORDER BY seq LIMIT ?2)";
            let rows = batch.execute("remove events", sql, (cut as i64, MAX_ROWS_PER_TX as i64))?;
            batch.record_events_removed(cut.saturating_sub(1))?;
            removed.events += rows as u64;
            Ok(rows)
        })
    }

    /// Removes messages and file reads. The views of messages stay, so that hidden messages do not
    /// reappear.
    fn remove_rows(&mut self, table: &str, cut: u64) -> GcStep<usize> {
        self.transact(|batch, _| {
            // The oldest come first, so those that go are met without passing those that stay.
            let sql = format!(
                "DELETE FROM {table} WHERE id IN
                     (SELECT id FROM {table} WHERE seq < ?1 ORDER BY id LIMIT ?2)"
            );
            batch.execute("remove rows", &sql, (cut as i64, MAX_ROWS_PER_TX as i64))
        })
    }

    /// The oldest changes, with everything that hangs on them.
    fn remove_changes(&mut self, cut: u64) -> GcStep<usize> {
        self.transact(|batch, removed| {
            let sql = "SELECT max(seq) FROM
                (SELECT seq FROM change WHERE seq < ?1 ORDER BY seq LIMIT ?2)";
            let last: Option<i64> =
                batch.db.query_row(sql, (cut as i64, MAX_ROWS_PER_TX as i64), |row| row.get(0))?;
            let Some(last) = last else { return Ok(0) };
            for (what, sql) in [
                ("forget joins", "UPDATE change SET joins = NULL WHERE joins <= ?1"),
                ("remove candidates", "DELETE FROM candidate WHERE change <= ?1"),
                ("remove hunks", "DELETE FROM hunk WHERE change <= ?1"),
                ("remove approvals", "DELETE FROM shared_approval WHERE change <= ?1"),
                ("remove marks", "DELETE FROM mark WHERE change <= ?1"),
                ("remove taken parts", "DELETE FROM taken_part WHERE change <= ?1"),
                ("remove repeats", "DELETE FROM added_again WHERE change <= ?1"),
                ("remove their events", "DELETE FROM event WHERE change <= ?1"),
            ] {
                batch.execute(what, sql, [last])?;
            }
            let rows =
                batch.execute("remove changes", "DELETE FROM change WHERE seq <= ?1", [last])?;
            batch.change_count_delta.set(batch.change_count_delta.get() - rows as i64);
            removed.changes += rows as u64;
            Ok(rows)
        })
    }

    fn remove_dialogs(&mut self, dialogs: &[DialogId]) -> GcStep<()> {
        if dialogs.is_empty() {
            return Ok(Ok(()));
        }
        self.transact(|batch, removed| {
            for dialog in dialogs {
                for (what, sql) in [
                    ("remove agents", "DELETE FROM agent WHERE dialog = ?1"),
                    ("remove title", "DELETE FROM dialog_title WHERE dialog = ?1"),
                    ("remove transcripts", "DELETE FROM transcript WHERE dialog = ?1"),
                    ("remove sights", "DELETE FROM sight WHERE dialog = ?1"),
                    ("remove told", "DELETE FROM told WHERE dialog = ?1"),
                    ("remove cursors", "DELETE FROM history_cursor WHERE dialog = ?1"),
                    ("remove messages", "DELETE FROM message WHERE dialog = ?1"),
                    ("remove views", "DELETE FROM conversation_view WHERE dialog = ?1"),
                    ("remove notices", "DELETE FROM rejection_notice WHERE dialog = ?1"),
                    ("remove dialog", "DELETE FROM dialog WHERE id = ?1"),
                ] {
                    batch.execute(what, sql, [&dialog.0])?;
                }
            }
            batch.remove_unused_callers()?;
            removed.dialogs += dialogs.len() as u64;
            Ok(())
        })
    }
}
