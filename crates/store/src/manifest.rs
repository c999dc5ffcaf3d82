//! What the project looked like when it was last looked at, kept continuously.
//!
//! The stat fields beside it are a cache: a row counts only while it names the
//! same object as the manifest, so a lost or stale cache costs a read, never an error.

use retake_model::{FileKind, FileState, ObjectId, ProjectPath, Side};
use rusqlite::Row;

use crate::{Batch, Store, StoreError};

/// A file's state in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Captured.
    Known(FileState),
    /// There, but not captured; a gap says why.
    Unknown,
}

impl From<Stored> for Side {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Known(state) => Self::Known(state),
            Stored::Unknown => Self::Unknown,
        }
    }
}

/// One path of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The path.
    pub path: ProjectPath,
    /// Its state.
    pub stored: Stored,
    /// The stat under which that state was read, if it is still to be trusted.
    pub stat: Option<StatRow>,
}

/// The stat fields that tell whether a file may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatRow {
    /// Regular file or link.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// Length in bytes.
    pub size: u64,
    /// Last change of the content.
    pub mtime_ns: i64,
    /// Last change of the inode.
    pub ctime_ns: i64,
    /// The inode.
    pub inode: u64,
}

pub(crate) const ABSENT: i64 = 0;
const FILE: i64 = 1;
const LINK: i64 = 2;
pub(crate) const UNKNOWN: i64 = 3;

pub(crate) fn kind_code(kind: FileKind) -> i64 {
    match kind {
        FileKind::File => FILE,
        FileKind::Link => LINK,
    }
}

pub(crate) fn kind_from(code: i64) -> Result<FileKind, StoreError> {
    match code {
        FILE => Ok(FileKind::File),
        LINK => Ok(FileKind::Link),
        _ => Err(StoreError::Row(format!("file kind {code}"))),
    }
}

pub(crate) fn path_from(bytes: Vec<u8>) -> Result<ProjectPath, StoreError> {
    ProjectPath::new(bytes).map_err(|error| StoreError::Row(error.to_string()))
}

pub(crate) fn oid_from(bytes: &[u8]) -> Result<ObjectId, StoreError> {
    ObjectId::try_from(bytes).map_err(|error| StoreError::Row(error.to_string()))
}

const SELECT: &str = "SELECT m.path, m.kind, m.mode, m.size, m.oid,
        s.kind, s.mode, s.size, s.mtime, s.ctime, s.inode
    FROM manifest m LEFT JOIN cache.stat s ON s.path = m.path AND s.oid = m.oid";

impl Store {
    /// The whole manifest, sorted by path.
    pub fn manifest(&self) -> Result<Vec<ManifestEntry>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT} ORDER BY m.path"))?;
        let mut rows = query.query([])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.push(entry_from(row)?);
        }
        Ok(entries)
    }

    /// What the manifest says of one path.
    pub fn manifest_entry(&self, path: &ProjectPath) -> Result<Option<ManifestEntry>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT} WHERE m.path = ?1"))?;
        let mut rows = query.query([path.as_bytes()])?;
        rows.next()?.map(entry_from).transpose()
    }

    /// The number of paths in the manifest.
    pub fn manifest_len(&self) -> Result<u64, StoreError> {
        let count: i64 =
            self.db.query_row("SELECT count(*) FROM manifest", [], |row| row.get(0))?;
        Ok(count as u64)
    }
}

fn entry_from(row: &Row<'_>) -> Result<ManifestEntry, StoreError> {
    let stat = match row.get::<_, Option<i64>>(5)? {
        None => None,
        Some(kind) => Some(StatRow {
            kind: kind_from(kind)?,
            mode: row.get(6)?,
            size: row.get::<_, i64>(7)? as u64,
            mtime_ns: row.get(8)?,
            ctime_ns: row.get(9)?,
            inode: row.get::<_, i64>(10)? as u64,
        }),
    };
    Ok(ManifestEntry {
        path: path_from(row.get(0)?)?,
        stored: stored_from(row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)?,
        stat,
    })
}

fn stored_from(
    kind: i64,
    mode: u32,
    size: i64,
    oid: Option<Vec<u8>>,
) -> Result<Stored, StoreError> {
    match oid {
        None => Ok(Stored::Unknown),
        Some(oid) => Ok(Stored::Known(FileState {
            kind: kind_from(kind)?,
            mode,
            oid: oid_from(&oid)?,
            size: size as u64,
        })),
    }
}

impl Batch<'_> {
    /// Sets what the manifest says of a path.
    pub fn set_manifest(&self, path: &ProjectPath, stored: &Stored) -> Result<(), StoreError> {
        let (kind, mode, size, oid) = match stored {
            Stored::Unknown => (UNKNOWN, 0, 0, None),
            Stored::Known(state) => (
                kind_code(state.kind),
                state.mode,
                state.size as i64,
                Some(state.oid.as_bytes().as_slice()),
            ),
        };
        self.execute(
            "set manifest",
            "INSERT INTO manifest(path, kind, mode, size, oid) VALUES(?1, ?2, ?3, ?4, ?5)
             ON CONFLICT(path) DO UPDATE SET
                 kind = excluded.kind, mode = excluded.mode,
                 size = excluded.size, oid = excluded.oid",
            (path.as_bytes(), kind, mode, size, oid),
        )?;
        Ok(())
    }

    /// Takes a path out of the manifest: it is gone.
    pub fn remove_manifest(&self, path: &ProjectPath) -> Result<(), StoreError> {
        self.execute("remove manifest", "DELETE FROM manifest WHERE path = ?1", [path.as_bytes()])?;
        Ok(())
    }

    /// Remembers under which stat a path's content was read; `None` forgets it.
    pub fn set_stat(
        &self,
        path: &ProjectPath,
        stat: Option<(&ObjectId, &StatRow)>,
    ) -> Result<(), StoreError> {
        let Some((oid, stat)) = stat else {
            self.execute(
                "forget stat",
                "DELETE FROM cache.stat WHERE path = ?1",
                [path.as_bytes()],
            )?;
            return Ok(());
        };
        self.execute(
            "set stat",
            "INSERT OR REPLACE INTO cache.stat(path, oid, kind, mode, size, mtime, ctime, inode)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                path.as_bytes(),
                oid.as_bytes().as_slice(),
                kind_code(stat.kind),
                stat.mode,
                stat.size as i64,
                stat.mtime_ns,
                stat.ctime_ns,
                stat.inode as i64,
            ),
        )?;
        Ok(())
    }
}
