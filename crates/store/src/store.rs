//! Opening a project's database.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::packs::OpenPacks;
use crate::schema::{self, CACHE_TABLE, SCHEMA_VERSION};
use crate::{Batch, StoreError};

/// Before this version SQLite could corrupt a WAL on reset.
const OLDEST_SQLITE: i32 = 3_051_003;
const APPLICATION_ID: i32 = 0x5265_7461; // "Reta"
/// Writers wait for the project's lock, so only a foreign program can keep the database busy.
const BUSY: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);
const CACHE_FILES: [&str; 3] = ["cache.db", "cache.db-wal", "cache.db-shm"];
/// A WAL longer than this is brought into the database and cut off.
const WAL_BYTES: u64 = 4 * 1024 * 1024;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading and, under the project's lock, writing. Creates and migrates.
    Write,
    /// Reading beside whoever writes.
    Read,
}

/// A project's database.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    /// While there is a group, the bytes of content that its batches have written.
    pub(crate) grouped: Cell<Option<usize>>,
    pub(crate) open_packs: OpenPacks,
    folder: PathBuf,
}

impl Store {
    /// Opens the database in a project's folder.
    pub fn open(folder: &Path, access: Access) -> Result<Self, StoreError> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(StoreError::OldSqlite(rusqlite::version()));
        }
        refuse_network(folder)?;
        let path = folder.join("retake.db");
        if path.exists() {
            refuse_newer(&path)?;
        }
        let db = match access {
            Access::Write => open_patiently(&path)?,
            // Not SQLite's own read-only mode: that would bind what is attached, too.
            Access::Read => Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?,
        };
        db.busy_timeout(BUSY)?;
        db.set_prepared_statement_cache_capacity(64);
        // Else SQLite plans many a statement anew each time, in the hope of better values.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        attach_cache(&db, folder, access)?;
        db.pragma_update(None, "query_only", access == Access::Read)?;
        let open_packs = OpenPacks::default();
        Ok(Self { db, grouped: Cell::new(None), open_packs, folder: folder.to_owned() })
    }

    /// The project's folder in the home.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a transaction, inside a group a part of it. The caller holds the project's lock.
    pub fn batch(&self) -> Result<Batch<'_>, StoreError> {
        Batch::begin(self)
    }

    /// A small value kept under a name.
    pub fn meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
        Ok(query.query_row([key], |row| row.get(0)).optional()?)
    }

    /// Differs from what it was if somebody else has written since: another connection, that is.
    pub fn generation(&self) -> Result<i64, StoreError> {
        let mut query = self.db.prepare_cached("PRAGMA main.data_version")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    /// The bytes that the project takes on disk; packs that the user's repository has, too, take
    /// none.
    pub fn disk_size(&self) -> u64 {
        let files: u64 = ["retake.db", "retake.db-wal", "cache.db", "cache.db-wal", "spool.jsonl"]
            .iter()
            .filter_map(|name| std::fs::metadata(self.folder.join(name)).ok())
            .map(|data| data.len())
            .sum();
        files + self.packs_size() + folder_size(&self.export_folder())
    }

    /// The bytes that are free on the store's file system.
    #[cfg(unix)]
    pub fn free_bytes(&self) -> Option<u64> {
        let found = rustix::fs::statvfs(&self.folder).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Works on the stat cache. Damage there is no failure: `None`, and the cache is made anew
    /// when the store is next opened.
    pub(crate) fn cached<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, ReadOnly};
        match work(&self.db) {
            Ok(value) => Ok(Some(value)),
            Err(error)
                if matches!(
                    error.sqlite_error_code(),
                    Some(DatabaseCorrupt | NotADatabase | ReadOnly)
                ) =>
            {
                tracing::warn!(%error, "the stat cache is damaged and will be made anew");
                for name in CACHE_FILES {
                    let _ = retake_seam::fs::remove_file(&self.folder.join(name));
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Brings a long WAL into the database. That it did not work now is no failure: the commit
    /// stands, and the next one tries again.
    pub(crate) fn shorten_wal(&self) {
        for (name, checkpoint) in [
            ("retake.db-wal", "PRAGMA main.wal_checkpoint(TRUNCATE)"),
            ("cache.db-wal", "PRAGMA cache.wal_checkpoint(TRUNCATE)"),
        ] {
            let length = std::fs::metadata(self.folder.join(name)).map_or(0, |data| data.len());
            if length > WAL_BYTES && retake_seam::step("shorten WAL").is_ok() {
                let done = self.db.query_row(checkpoint, [], |_| Ok(()));
                tracing::debug!(name, length, ?done, "WAL shortened");
            }
        }
    }
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

/// An older binary touches nothing: the version is read through a read-only connection.
fn refuse_newer(path: &Path) -> Result<(), StoreError> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    db.busy_timeout(BUSY)?;
    let found = schema::version(&db)?;
    if found > SCHEMA_VERSION {
        return Err(StoreError::NewerSchema {
            path: path.to_owned(),
            found,
            supported: SCHEMA_VERSION,
        });
    }
    Ok(())
}

/// Several may open a new database at once, and SQLite does not wait for all that this takes: not
/// for the change to a write-ahead log.
fn open_patiently(path: &Path) -> Result<Connection, StoreError> {
    let until = Instant::now() + BUSY;
    loop {
        match open_for_writing(path) {
            Err(error) if error.is_busy() && Instant::now() < until => {
                std::thread::sleep(PAUSE);
            }
            opened => return opened,
        }
    }
}

fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    retake_seam::step("open database")?;
    let mut db = Connection::open(path)?;
    db.busy_timeout(BUSY)?;
    // Closing the last connection would checkpoint: 20 ms that a hook does not have.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if schema::version(&db)? == 0 {
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
    schema::migrate(&mut db)?;
    Ok(db)
}

/// The stat cache is derived: if it cannot be used it is made anew, and if even
/// that fails it lives in memory for this connection. A reader needs none.
fn attach_cache(db: &Connection, folder: &Path, access: Access) -> Result<(), StoreError> {
    if access == Access::Read {
        return use_cache(db, ":memory:");
    }
    let file = folder.join("cache.db").to_string_lossy().into_owned();
    if use_cache(db, &file).is_err() {
        let _ = db.execute("DETACH cache", []);
        for name in CACHE_FILES {
            let stale = folder.join(name);
            if stale.exists() {
                retake_seam::fs::remove_file(&stale).map_err(StoreError::io("remove", &stale))?;
            }
        }
        if use_cache(db, &file).is_err() {
            let _ = db.execute("DETACH cache", []);
            use_cache(db, ":memory:")?;
        }
    }
    Ok(())
}

fn use_cache(db: &Connection, file: &str) -> Result<(), StoreError> {
    retake_seam::step("open cache")?;
    db.execute("ATTACH ?1 AS cache", [file])?;
    db.execute_batch("PRAGMA cache.journal_mode = WAL; PRAGMA cache.synchronous = OFF;")?;
    db.execute_batch(CACHE_TABLE)?;
    if db.is_readonly("cache")? {
        return Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied).into());
    }
    db.query_row("SELECT count(*) FROM (SELECT 1 FROM cache.stat LIMIT 1)", [], |_| Ok(()))?;
    Ok(())
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
