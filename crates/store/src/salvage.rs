//! Salvage: copies the readable rows of a damaged database into a new one.
//!
//! Works on copies: of the damaged files no byte is changed, and they are kept beside the new
//! database. A row that cannot be read is lost and reported; nothing is made up in its place.
//!
//! Invariant: stopped anywhere, either the damaged database is there with its log, or the next
//! process to open the record puts the new one in its place. A process that had the old one open
//! no longer writes ([`Store::is_in_place`]).

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::{FileLock, Store, StoreAccess, StoreError, wal};

/// Folder in which the new database is built.
const WORK_FOLDER: &str = "salvage.tmp";
/// Marker file: the new database is complete, and only the exchange is left to do.
const READY_FILE: &str = "salvage.tmp/ready";
/// Timeout of the lock for finishing an interrupted salvage, which takes little time.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// SQLite's page size.
const PAGE_BYTES: usize = 4096;
/// Tables that are not copied: they are derived from others.
const DERIVED_TABLES: [&str; 4] = ["tally", "folder_tree", "moved", "touched"];
/// Maximum ranges tried between damaged rows of one table.
const MAX_TRIES: u32 = 2_000;

/// Removes references to lost rows and recomputes counts.
const REPAIR_SQL: &str = "
DELETE FROM candidate WHERE change NOT IN (SELECT seq FROM change) OR call NOT IN (SELECT id FROM call);
DELETE FROM hunk WHERE change NOT IN (SELECT seq FROM change);
DELETE FROM shared_approval WHERE change NOT IN (SELECT seq FROM change);
DELETE FROM undoes WHERE operation NOT IN (SELECT seq FROM operation)
    OR undone NOT IN (SELECT seq FROM operation);
DELETE FROM mark WHERE operation NOT IN (SELECT seq FROM operation)
    OR change NOT IN (SELECT seq FROM change);
DELETE FROM rejection WHERE operation NOT IN (SELECT seq FROM operation);
DELETE FROM taken_part WHERE operation NOT IN (SELECT seq FROM operation)
    OR change NOT IN (SELECT seq FROM change);
DELETE FROM rejected_run WHERE operation NOT IN (SELECT seq FROM operation);
DELETE FROM added_again WHERE operation NOT IN (SELECT seq FROM operation)
    OR change NOT IN (SELECT seq FROM change);
DELETE FROM rejection_notice WHERE operation NOT IN (SELECT seq FROM operation);
DELETE FROM step WHERE operation NOT IN (SELECT seq FROM operation);
UPDATE operation SET undone_by = NULL WHERE undone_by NOT IN (SELECT seq FROM operation);
UPDATE change SET call = NULL WHERE call NOT IN (SELECT id FROM call);
UPDATE change SET joins = NULL WHERE joins NOT IN (SELECT seq FROM change);
UPDATE event SET change = NULL WHERE change NOT IN (SELECT seq FROM change);
DELETE FROM tally;
INSERT INTO tally SELECT count(*), count(*) - count(oid) FROM manifest;
INSERT OR REPLACE INTO meta SELECT 'changes', unhex(printf('%016x', count(*))) FROM change;
";

/// Query of the last `seq` of any record.
const SELECT_LAST_SEQ: &str = "
SELECT max(seq) FROM (
    SELECT max(seq) seq FROM event UNION ALL SELECT max(seq) FROM change
    UNION ALL SELECT max(seq) FROM checkpoint UNION ALL SELECT max(seq) FROM operation
    UNION ALL SELECT max(seq) FROM message UNION ALL SELECT max(seq) FROM sight
    UNION ALL SELECT max(end_seq) FROM call UNION ALL SELECT max(last_seq) FROM dialog)";

/// Result of a salvage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvageReport {
    /// Where the damaged files are kept.
    pub kept: PathBuf,
    /// The result for each table that had rows.
    pub tables: Vec<SalvagedTable>,
}

/// Result of a salvage for one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedTable {
    /// Its name.
    pub name: String,
    /// Rows that could be read.
    pub rows: u64,
    /// Whether these are all of them.
    pub whole: bool,
}

/// Puts a database with all that can be read in the place of the one in a project's folder. The
/// caller holds the project's lock; `kept` is a new name in that folder.
pub fn salvage(folder: &Path, kept: &str) -> Result<SalvageReport, StoreError> {
    let work = folder.join(WORK_FOLDER);
    if work.exists() {
        retake_seam::fs::remove_dir_all(&work).map_err(StoreError::io("remove", &work))?;
    }
    retake_seam::fs::create_private_dir_all(&work).map_err(StoreError::io("create", &work))?;
    let store = Store::open(&work, StoreAccess::Write)?;
    truncate_wal(&store.db)?;
    let new = work.join("retake.db");
    let first_page = read(&new)?[..PAGE_BYTES].to_vec();
    let old = copy_damaged(folder, &work, &first_page)?;
    let tables = copy_tables(&store.db, &old)?;
    advance_seq(&store)?;
    truncate_wal(&store.db)?;
    drop(store);
    sync(&new)?;
    let kept = folder.join(kept);
    keep_damaged(folder, &kept)?;
    let ready = folder.join(READY_FILE);
    retake_seam::fs::replace_durably(&ready, b"").map_err(StoreError::io("write", &ready))?;
    swap_databases(folder)?;
    Ok(SalvageReport { kept, tables })
}

/// Finishes a salvage that was stopped when only the exchange was left to do.
pub(crate) fn finish_interrupted(folder: &Path) -> Result<(), StoreError> {
    let ready = folder.join(READY_FILE);
    if !ready.exists() {
        return Ok(());
    }
    let Some(_lock) = FileLock::acquire(folder, LOCK_TIMEOUT)? else {
        let source = std::io::Error::from(std::io::ErrorKind::TimedOut);
        return Err(StoreError::io("lock, to finish a salvage,", folder)(source));
    };
    // Another process may have finished it meanwhile.
    if ready.exists() { swap_databases(folder) } else { Ok(()) }
}

fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    std::fs::read(path).map_err(StoreError::io("read", path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    retake_seam::fs::write_unsynced(path, bytes).map(drop).map_err(StoreError::io("write", path))
}

fn truncate_wal(db: &Connection) -> Result<(), StoreError> {
    Ok(db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

/// Copies the damaged files so that SQLite reads as much of them as possible.
fn copy_damaged(folder: &Path, work: &Path, first_page: &[u8]) -> Result<PathBuf, StoreError> {
    let old = work.join("old.db");
    let mut bytes = read(&folder.join("retake.db"))?;
    let log = folder.join("retake.db-wal");
    if log.exists() {
        let mut log = read(&log)?;
        wal::repair(&mut log);
        write(&work.join("old.db-wal"), &log)?;
    }
    write(&old, &bytes)?;
    if is_readable(&old)? {
        return Ok(old);
    }
    // The root pages are the same in every database of a version: tables are created in one order,
    // and their roots come first. So a new database's first page fits this one.
    let pages = (bytes.len() / PAGE_BYTES) as u32;
    bytes.resize(bytes.len().max(PAGE_BYTES), 0);
    bytes[..PAGE_BYTES].copy_from_slice(first_page);
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    bytes[32..40].fill(0);
    let counter: [u8; 4] = [bytes[24], bytes[25], bytes[26], bytes[27]];
    bytes[92..96].copy_from_slice(&counter);
    write(&old, &bytes)?;
    Ok(old)
}

fn is_readable(path: &Path) -> Result<bool, StoreError> {
    let sql =
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('object', 'change')";
    let count = |db: Connection| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok(unless_damaged(Connection::open(path).and_then(count))? == Some(2))
}

/// Returns `None` if the error is damage. A full or failing disk is an error: nothing is lost
/// by it, and the salvage can be retried.
fn unless_damaged<T>(result: rusqlite::Result<T>) -> Result<Option<T>, StoreError> {
    use rusqlite::ErrorCode as Code;
    let error = match result {
        Ok(value) => return Ok(Some(value)),
        Err(error) => error,
    };
    match error.sqlite_error_code() {
        Some(
            Code::SystemIoFailure
            | Code::CannotOpen
            | Code::DiskFull
            | Code::ReadOnly
            | Code::PermissionDenied
            | Code::DatabaseBusy
            | Code::DatabaseLocked,
        ) => Err(error.into()),
        _ => Ok(None),
    }
}

fn copy_tables(db: &Connection, old: &Path) -> Result<Vec<SalvagedTable>, StoreError> {
    db.pragma_update(None, "foreign_keys", "OFF")?;
    let size = std::fs::metadata(old).map_or(0, |data| data.len());
    let old = Connection::open(old)?;
    let sql = "SELECT name, wr FROM pragma_table_list
               WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut names = db.prepare(sql)?;
    let names =
        names.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
    let names: Vec<_> = names.collect::<Result<_, _>>()?;
    let mut tables = Vec::new();
    retake_seam::statement("salvage")?;
    db.execute_batch("BEGIN IMMEDIATE")?;
    for (name, keyed) in names.into_iter().filter(|(name, _)| !DERIVED_TABLES.contains(&&**name)) {
        let mut table = TableCopy::of(db, &old, name, size)?;
        if keyed {
            table.copy_by_key()?;
        } else {
            table.copy_by_number()?;
        }
        if table.rows > 0 || !table.whole {
            let TableCopy { name, rows, whole, .. } = table;
            tables.push(SalvagedTable { name, rows, whole });
        }
    }
    db.execute_batch(REPAIR_SQL)?;
    retake_seam::statement("commit")?;
    db.execute_batch("COMMIT")?;
    Ok(tables)
}

/// Advances `seq` past every record, so that none is given twice even if its counter is lost.
fn advance_seq(store: &Store) -> Result<(), StoreError> {
    let last: Option<i64> = store.db.query_row(SELECT_LAST_SEQ, [], |row| row.get(0))?;
    let last = last.map_or(0, |last| last as u64);
    if store.last_seq().unwrap_or(0) < last {
        let batch = store.batch()?;
        batch.set_meta("seq", &last.to_be_bytes())?;
        batch.commit()?;
    }
    Ok(())
}

struct TableCopy<'d> {
    db: &'d Connection,
    old: &'d Connection,
    name: String,
    /// Of both databases.
    columns: Vec<String>,
    key: String,
    /// More rows than there can be: a damaged table may lead in circles.
    max_rows: u64,
    rows: u64,
    whole: bool,
}

/// Result of one pass over a table.
struct TableWalk {
    last: Option<i64>,
    ended: bool,
}

impl<'d> TableCopy<'d> {
    fn of(
        db: &'d Connection,
        old: &'d Connection,
        name: String,
        size: u64,
    ) -> Result<Self, StoreError> {
        let columns = |of: &Connection| -> Result<Vec<(String, i64)>, StoreError> {
            let mut query = of.prepare("SELECT name, pk FROM pragma_table_info(?1)")?;
            let rows = query.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        // Columns that cannot be read of the damaged table are taken to be the current ones.
        let theirs = match columns(old) {
            Err(StoreError::Sqlite(error)) => unless_damaged(Err(error))?.unwrap_or_default(),
            result => result?,
        };
        let mut ours = columns(db)?;
        let is_common =
            |column: &String| theirs.is_empty() || theirs.iter().any(|(name, _)| name == column);
        let names = ours.iter().map(|(name, _)| name.clone()).filter(is_common).collect();
        ours.retain(|(_, place)| *place > 0);
        ours.sort_by_key(|(_, place)| *place);
        let key: Vec<_> = ours.into_iter().map(|(name, _)| name).collect();
        let most = size / 4 + 1000;
        Ok(Self {
            db,
            old,
            columns: names,
            key: key.join(", "),
            max_rows: most,
            rows: 0,
            whole: true,
            name,
        })
    }

    /// Copies from both ends, as far as each can be read.
    fn copy_by_key(&mut self) -> Result<(), StoreError> {
        let order = |direction: &str| {
            let keys: Vec<_> =
                self.key.split(", ").map(|key| format!("{key} {direction}")).collect();
            format!("1 ORDER BY {}", keys.join(", "))
        };
        let (up, down) = (order("ASC"), order("DESC"));
        if !self.walk("0", &up)?.ended {
            self.whole = false;
            self.walk("0", &down)?;
        }
        Ok(())
    }

    fn copy_by_number(&mut self) -> Result<(), StoreError> {
        let sql = format!("SELECT max(rowid) FROM {}", self.name);
        let last = self.old.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0));
        let last = unless_damaged(last)?.map_or(self.max_rows as i64, Option::unwrap_or_default);
        // Breadth first: wherever the damage is, readable rows beside it are found soon.
        let mut ranges = VecDeque::from([(i64::MIN, last)]);
        for _ in 0..MAX_TRIES {
            let Some((low, high)) = ranges.pop_front() else { break };
            ranges.extend(self.copy_between(low, high)?);
        }
        Ok(())
    }

    /// Copies from both ends; returns the halves of the unread range between.
    fn copy_between(&mut self, low: i64, high: i64) -> Result<Vec<(i64, i64)>, StoreError> {
        let between = |low: i64, high: i64, direction: &str| {
            format!("rowid BETWEEN {low} AND {high} ORDER BY rowid {direction}")
        };
        let up = self.walk("rowid", &between(low, high, "ASC"))?;
        if up.ended {
            return Ok(Vec::new());
        }
        self.whole = false;
        let low = up.last.map_or(low.max(0), |last| last.saturating_add(1));
        let down = self.walk("rowid", &between(low, high, "DESC"))?;
        let high = down.last.map_or(high, |last| last.saturating_sub(1));
        if down.ended || low >= high {
            return Ok(Vec::new());
        }
        let middle = low.midpoint(high);
        Ok(vec![(low, middle), (middle + 1, high)])
    }

    /// Copies rows until there are no more, or one cannot be reached.
    fn walk(&mut self, number: &str, which: &str) -> Result<TableWalk, StoreError> {
        let columns = self.columns.join(", ");
        let places = vec!["?"; self.columns.len()].join(", ");
        let into = format!("INSERT OR IGNORE INTO {}({columns}) VALUES({places})", self.name);
        let from = format!("SELECT {number}, {columns} FROM {} WHERE {which}", self.name);
        let mut into = self.db.prepare_cached(&into)?;
        let mut walk = TableWalk { last: None, ended: false };
        // A table that cannot be found is as lost as one that cannot be read.
        let Some(mut query) = unless_damaged(self.old.prepare(&from))? else { return Ok(walk) };
        let mut rows = query.query([])?;
        let mut seen = 0;
        while let Some(row) = unless_damaged(rows.next())? {
            let Some(row) = row else {
                walk.ended = true;
                break;
            };
            seen += 1;
            let place: i64 = row.get(0).unwrap_or_default();
            if seen > self.max_rows || (number != "0" && walk.last == Some(place)) {
                break;
            }
            walk.last = Some(place);
            let values = (1..=self.columns.len()).map(|at| row.get::<_, Value>(at));
            let values: Result<Vec<_>, _> = values.collect();
            let put = values.and_then(|values| into.execute(params_from_iter(values)));
            match unless_damaged(put)? {
                Some(new) => self.rows += new as u64,
                // A value that violates a constraint is damage, too.
                None => self.whole = false,
            }
        }
        Ok(walk)
    }
}

fn sync(path: &Path) -> Result<(), StoreError> {
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    retake_seam::fs::sync_file(&file).map_err(StoreError::io("sync", path))
}

/// Hard-links the damaged files into the folder `kept`.
fn keep_damaged(folder: &Path, kept: &Path) -> Result<(), StoreError> {
    retake_seam::fs::create_private_dir_all(kept).map_err(StoreError::io("create", kept))?;
    for name in ["retake.db", "retake.db-wal"] {
        let (from, to) = (folder.join(name), kept.join(name));
        if from.exists() {
            retake_seam::fs::hard_link(&from, &to).map_err(StoreError::io("keep", &from))?;
        }
    }
    retake_seam::fs::sync_dir(kept).map_err(StoreError::io("sync", kept))
}

/// The new database takes the damaged one's place. The damaged one's log goes before that: it would
/// be taken for the new one's. The caller holds the project's lock.
fn swap_databases(folder: &Path) -> Result<(), StoreError> {
    let (work, place) = (folder.join(WORK_FOLDER), folder.join("retake.db"));
    let (new, ready) = (work.join("retake.db"), folder.join(READY_FILE));
    if new.exists() {
        for log in ["retake.db-wal", "retake.db-shm"].map(|name| folder.join(name)) {
            if log.exists() {
                retake_seam::fs::remove_file(&log).map_err(StoreError::io("remove", &log))?;
            }
        }
        retake_seam::fs::rename(&new, &place).map_err(StoreError::io("replace", &place))?;
        retake_seam::fs::sync_dir(folder).map_err(StoreError::io("sync", folder))?;
    }
    // Durably, before anything can be written to the new one: its log must not be removed.
    retake_seam::fs::remove_file(&ready).map_err(StoreError::io("remove", &ready))?;
    retake_seam::fs::sync_dir(&work).map_err(StoreError::io("sync", &work))?;
    retake_seam::fs::remove_dir_all(&work).map_err(StoreError::io("remove", &work))
}
