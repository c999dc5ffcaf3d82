//! Opens a project's database and maintains its WAL.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use retake_model::Caller;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction};

use crate::object_cache::ObjectCache;
use crate::packs::OpenPacks;
use crate::schema::{self, SCHEMA_VERSION};
use crate::{Batch, FileLock, StoreError, salvage, wal};

/// Minimum SQLite version: earlier ones could corrupt a WAL on reset.
const MIN_SQLITE_VERSION: i32 = 3_051_003;
/// SQLite's `application_id` of a store.
const APPLICATION_ID: i32 = 0x5265_7461; // "Reta"
/// SQLite's busy timeout. Writers wait for the project's lock, so only a foreign program can keep
/// the database busy.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// SQLite's busy timeout of [`StoreAccess::Peek`], for which a person waits at the prompt.
const PEEK_TIMEOUT: Duration = Duration::from_millis(100);
/// Interval between attempts to open a busy database.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// Files of the stat cache of earlier versions.
const OLD_CACHE_FILES: [&str; 3] = ["cache.db", "cache.db-wal", "cache.db-shm"];
/// Capacity of the prepared-statement cache: more than any event needs, since preparing a
/// statement costs more than running it.
const STATEMENT_CACHE_CAPACITY: usize = 256;
/// A WAL longer than this is checkpointed and truncated.
const LONG_WAL_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum WAL size: above it every commit checkpoints, even after [`Store::shorten_wal_later`].
const MAX_WAL_BYTES: u64 = 64 * 1024 * 1024;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreAccess {
    /// Reading and, under the project's lock, writing. Creates and migrates.
    Write,
    /// Reading, concurrently with a writer.
    Read,
    /// Reading without a trace: creates and checkpoints no WAL, and finishes no salvage.
    Peek,
}

/// A project's database.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    /// While there is a group, the bytes of content that its batches have written.
    pub(crate) group_bytes: Cell<Option<usize>>,
    pub(crate) open_packs: OpenPacks,
    pub(crate) object_cache: ObjectCache,
    /// A WAL longer than this is checkpointed after a commit.
    wal_limit: Cell<u64>,
    /// Whether there are stat caches to be removed after the next commit.
    pub(crate) has_new_stat_cache: Cell<bool>,
    /// Who says what is recorded, unless an event names its own caller.
    pub(crate) caller: RefCell<Caller>,
    /// Which file the database is.
    file: DatabaseFileId,
    folder: PathBuf,
}

/// A read transaction, see [`Store::snapshot`].
#[derive(Debug)]
pub struct StoreSnapshot<'s> {
    _tx: Option<Transaction<'s>>,
}

impl Store {
    /// Opens the database in a project's folder.
    pub fn open(folder: &Path, access: StoreAccess) -> Result<Self, StoreError> {
        if rusqlite::version_number() < MIN_SQLITE_VERSION {
            return Err(StoreError::OldSqlite(rusqlite::version()));
        }
        refuse_network(folder)?;
        #[cfg(feature = "inject")]
        crate::vfs::register();
        if access != StoreAccess::Peek {
            salvage::finish_interrupted(folder)?;
        }
        let path = folder.join("retake.db");
        let db = match access {
            StoreAccess::Write => open_with_retry(&path)?,
            StoreAccess::Read => open_for_reading(&path)?,
            StoreAccess::Peek => open_without_trace(&path)?,
        };
        #[cfg(feature = "inject")]
        let mut db = db;
        #[cfg(feature = "inject")]
        crate::step_count::attach(&mut db)?;
        db.set_prepared_statement_cache_capacity(STATEMENT_CACHE_CAPACITY);
        // Else SQLite replans many statements on each run, for other bound values.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // A batch of a group can be taken back alone: what its pages were before need not go
        // through a file for that.
        db.pragma_update(None, "temp_store", "MEMORY")?;
        db.pragma_update(None, "query_only", access != StoreAccess::Write)?;
        let file = file_id(&path).map_err(StoreError::io("look at", &path))?;
        Ok(Self {
            db,
            file,
            group_bytes: Cell::default(),
            open_packs: OpenPacks::default(),
            object_cache: ObjectCache::default(),
            wal_limit: Cell::new(LONG_WAL_BYTES),
            has_new_stat_cache: Cell::default(),
            caller: RefCell::default(),
            folder: folder.to_owned(),
        })
    }

    /// The project's folder in the home.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether the file that was opened is still the project's database: writes to one that
    /// was removed, or that a salvage has put aside, are not on record.
    pub fn is_in_place(&self) -> bool {
        file_id(&self.folder.join("retake.db")).is_ok_and(|file| file == self.file)
    }

    /// Starts a transaction, inside a group a part of it. The caller holds the project's lock.
    pub fn batch(&self) -> Result<Batch<'_>, StoreError> {
        Batch::begin(self)
    }

    /// Begins a read transaction that lasts until it is dropped. Many small queries are faster so:
    /// SQLite locks once for all of them. No batch can begin meanwhile.
    pub fn snapshot(&self) -> Result<StoreSnapshot<'_>, StoreError> {
        // Inside a group there is one already.
        let alone = self.db.is_autocommit();
        Ok(StoreSnapshot { _tx: alone.then(|| self.db.unchecked_transaction()).transpose()? })
    }

    /// A small value kept under a name.
    pub fn meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
        Ok(query.query_row([key], |row| row.get(0)).optional()?)
    }

    /// A number that changes when another connection has written.
    pub fn generation(&self) -> Result<i64, StoreError> {
        let mut query = self.db.prepare_cached("PRAGMA main.data_version")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    /// The bytes that the project takes on disk; packs that the user's repository has, too, take
    /// none.
    pub fn disk_size(&self) -> u64 {
        let files =
            ["retake.db", "retake.db-wal", "spool.jsonl"].map(|name| self.folder.join(name));
        let stats = self.stat_cache_id().ok().flatten().map(|name| self.stat_cache_path(name));
        let size = |file: PathBuf| std::fs::metadata(file).map_or(0, |data| data.len());
        let files: u64 = files.into_iter().chain(stats).map(size).sum();
        files + self.packs_size() + folder_size(&self.export_folder())
    }

    /// The bytes that are free on the store's file system.
    #[cfg(unix)]
    pub fn free_bytes(&self) -> Option<u64> {
        free_bytes(&self.folder)
    }

    /// Defers WAL checkpoints to [`Store::shorten_wal`], which the caller must call when idle: no
    /// request then waits for one.
    pub fn shorten_wal_later(&self) {
        self.wal_limit.set(MAX_WAL_BYTES);
    }

    /// Returns whether the WAL is long enough for [`Store::shorten_wal`].
    pub fn has_long_wal(&self) -> bool {
        self.wal_length() > LONG_WAL_BYTES
    }

    fn wal_length(&self) -> u64 {
        std::fs::metadata(self.folder.join("retake.db-wal")).map_or(0, |data| data.len())
    }

    /// Checkpoints and truncates a long WAL. A failure is ignored: commits stand, and the next call
    /// retries. The caller holds the project's lock.
    pub fn shorten_wal(&self) {
        self.shorten_wal_above(LONG_WAL_BYTES);
    }

    pub(crate) fn shorten_wal_after_commit(&self) {
        self.shorten_wal_above(self.wal_limit.get());
    }

    /// Truncates the WAL after a commit that failed with an I/O error. Its frames stand in the WAL
    /// and can be read, by other processes even as committed, but may never reach the disk; frames
    /// appended to them would be lost as well. So what was durable before is checkpointed, and the
    /// rest is cut off. If even that fails, nothing is worse for it.
    pub(crate) fn truncate_wal_after_failure(&self, error: rusqlite::Error) -> rusqlite::Error {
        let is_io = error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure);
        if is_io && (self.db.is_autocommit() || self.db.execute_batch("ROLLBACK").is_ok()) {
            let done = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            tracing::warn!(%error, ?done, "a commit failed; its part of the WAL is cut off");
        }
        error
    }

    fn shorten_wal_above(&self, limit: u64) {
        let length = self.wal_length();
        if length > limit && retake_seam::statement("shorten WAL").is_ok() {
            let done = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            tracing::debug!(length, ?done, "WAL shortened");
        }
    }
}

/// The bytes that are free on a folder's file system.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Device and inode.
type DatabaseFileId = (u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> std::io::Result<DatabaseFileId> {
    use std::os::unix::fs::MetadataExt as _;
    let data = std::fs::metadata(path)?;
    Ok((data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn file_id(path: &Path) -> std::io::Result<DatabaseFileId> {
    // An open file cannot be replaced there.
    std::fs::metadata(path).map(|_| (0, 0))
}

/// The bytes of the files in a folder and beneath it; links are not followed.
fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => folder_size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    // Not SQLite's own read-only mode: that cannot bring in a WAL that a kill left.
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    // A newer program's WAL stays as it is, even if this is the last to close it.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    supported_version(&db, path)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(db)
}

/// Opens for reading and leaves the folder as it is. Where there is no WAL, SQLite would create one:
/// then the database file is everything, and is read as one that does not change. If a writer comes and
/// checkpoints while it is read, what is read may be wrong: good enough for what a person looks at.
fn open_without_trace(path: &Path) -> Result<Connection, StoreError> {
    let db = if path.with_file_name("retake.db-wal").exists() {
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?
    } else {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(immutable_uri(path), flags)?
    };
    db.busy_timeout(PEEK_TIMEOUT)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    supported_version(&db, path)?;
    Ok(db)
}

/// SQLite's URI of a file that does not change while it is open.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => {
                let _ = write!(uri, "%{byte:02x}");
            }
        }
    }
    uri + "?immutable=1"
}

/// Reads the schema version; a newer one than this program knows is an error.
fn supported_version(db: &Connection, path: &Path) -> Result<u32, StoreError> {
    let (found, supported) = (schema::version(db)?, SCHEMA_VERSION);
    if found > supported {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, supported });
    }
    Ok(found)
}

/// Refuses a damaged WAL. Frames that SQLite does not see are from a killed commit, from one that
/// another process has not finished, or damage: then the next commit would overwrite
/// acknowledged records.
fn refuse_damaged_log(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let log = path.with_file_name("retake.db-wal");
    let length = std::fs::metadata(&log).map_or(0, |data| data.len());
    // Only tells how many frames there are.
    let seen: i64 = db.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1))?;
    if length <= wal::length_of_frames(seen.max(0) as u64) {
        return Ok(());
    }
    if wal::describe_damage(&log).is_none() {
        return Ok(());
    }
    // Another process may be writing to it; under the project's lock none does.
    let _lock = path.parent().map(|folder| FileLock::acquire(folder, BUSY_TIMEOUT)).transpose()?;
    match wal::describe_damage(&log) {
        Some(why) => Err(StoreError::DamagedLog { path: path.to_owned(), why }),
        None => Ok(()),
    }
}

/// Opens for writing and retries while busy: several processes may open a new database at once,
/// and SQLite's busy timeout does not cover the change to a write-ahead log.
fn open_with_retry(path: &Path) -> Result<Connection, StoreError> {
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        match open_for_writing(path) {
            Err(error) if error.is_busy() && Instant::now() < until => {
                std::thread::sleep(RETRY_INTERVAL);
            }
            opened => return opened,
        }
    }
}

fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    retake_seam::statement("open database")?;
    let mut db = Connection::open(path)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    // Closing the last connection would checkpoint: 20 ms that a hook does not have.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let version = supported_version(&db, path)?;
    refuse_damaged_log(&db, path)?;
    if version == 0 {
        // The WAL will have the same mode.
        retake_seam::fs::make_private(path)?;
        // Only an empty database takes these.
        db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        db.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    // SQLite's own checkpoints never cut off the WAL of processes that come and go: the next one
    // reads all of it again and appends. See `shorten_wal`.
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.pragma_update(None, "foreign_keys", "ON")?;
    if schema::migrate(&mut db)? {
        for old in OLD_CACHE_FILES {
            let _ = retake_seam::fs::remove_file(&path.with_file_name(old));
        }
    }
    Ok(db)
}

#[cfg(target_os = "linux")]
fn refuse_network(folder: &Path) -> Result<(), StoreError> {
    const NETWORK: &[(u64, &str)] =
        &[(0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0xfe53_4d42, "SMB2"), (0x517b, "SMB")];
    let Ok(found) = rustix::fs::statfs(folder) else {
        return Ok(());
    };
    let kind = found.f_type as u64 & 0xffff_ffff;
    match NETWORK.iter().find(|(magic, _)| *magic == kind) {
        Some((_, kind)) => Err(StoreError::NetworkFileSystem { path: folder.to_owned(), kind }),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_network(_folder: &Path) -> Result<(), StoreError> {
    Ok(())
}
