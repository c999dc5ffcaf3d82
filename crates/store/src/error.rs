//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use retake_model::ObjectId;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite failed.
    #[error("the database of this project failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A file of the store could not be read or written.
    #[error("cannot {act} {}: {source}", path.display())]
    Io {
        /// What was tried.
        act: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The seam was told to fail, or a write outside of SQLite failed.
    #[error("a write of the store failed: {0}")]
    Write(#[from] io::Error),
    /// A newer Retake wrote this store.
    #[error(
        "the store {} was written by a newer retake (schema {found}, this one knows {supported}), \
         and nothing was touched", path.display()
    )]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that this program knows.
        supported: u32,
    },
    /// An object is named by a record but is not there.
    #[error("object {0} is missing from the store")]
    Missing(ObjectId),
    /// An object is there, but its bytes are not what its name says.
    #[error("object {oid} is damaged ({why})")]
    Damaged {
        /// The object.
        oid: ObjectId,
        /// What was seen.
        why: String,
    },
    /// Acknowledged records in the database's log are out of reach.
    #[error("the store {} is damaged, and nothing was touched: {why}", path.display())]
    DamagedLog {
        /// The database.
        path: PathBuf,
        /// What was seen.
        why: String,
    },
    /// Another file is the database now, or none is.
    #[error("the store {} is not the one that was opened, so nothing was written", .0.display())]
    NotInPlace(PathBuf),
    /// The content was never captured.
    #[error("this content was not captured, so it cannot be shown")]
    NotCaptured,
    /// The content is an attack on SHA-1.
    #[error("the content carries a SHA-1 collision attack and cannot be stored: {0}")]
    Collision(String),
    /// SQLite's WAL does not work on network file systems.
    #[error(
        "the store {} lies on a network file system ({kind}), where it cannot be safe", path.display()
    )]
    NetworkFileSystem {
        /// The store's folder.
        path: PathBuf,
        /// The file system.
        kind: &'static str,
    },
    /// The linked SQLite has a known corruption bug.
    #[error("SQLite {0} is linked, but at least 3.51.3 is needed (WAL corruption before it)")]
    OldSqlite(&'static str),
    /// A row holds something that no version of Retake writes.
    #[error("the store holds a row that cannot be understood: {0}")]
    Row(String),
}

impl StoreError {
    /// Returns whether the store exists but cannot be written.
    pub fn is_read_only(&self) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
        match self {
            Self::Sqlite(error) => {
                let code = error.sqlite_error_code();
                matches!(code, Some(CannotOpen | PermissionDenied | ReadOnly))
            }
            _ => false,
        }
    }

    /// Returns whether another connection holds a lock on the database.
    pub(crate) fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        match self {
            Self::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
            }
            _ => false,
        }
    }

    /// An I/O error with its act and path.
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { act, path, source }
    }
}
