//! The manifest: the state of every tracked path as of the last scan.
//!
//! Invariant: every change of a row also updates the stat cache (see `stats`), the tree cache
//! (see `folders`) and the counts.

use retake_model::{FileKind, FileState, ObjectId, PathState, ProjectPath};
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};

use crate::stat_cache::{StatRow, TouchedState, touched_from};
use crate::{Batch, Store, StoreError};

/// A file's state in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestState {
    /// Captured.
    Known(FileState),
    /// There, but not captured; a gap says why.
    Unknown,
}

impl From<ManifestState> for PathState {
    fn from(stored: ManifestState) -> Self {
        match stored {
            ManifestState::Known(state) => Self::Known(state),
            ManifestState::Unknown => Self::Unknown,
        }
    }
}

/// One path of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The path.
    pub path: ProjectPath,
    /// Its state.
    pub state: ManifestState,
    /// Its change since the stat cache was written, if any.
    pub touched: Option<TouchedState>,
}

/// Values of the columns `kind`, `before_kind` and the like.
pub(crate) const KIND_ABSENT: i64 = 0;
const KIND_FILE: i64 = 1;
const KIND_LINK: i64 = 2;
pub(crate) const KIND_UNKNOWN: i64 = 3;

pub(crate) fn kind_code(kind: FileKind) -> i64 {
    match kind {
        FileKind::File => KIND_FILE,
        FileKind::Link => KIND_LINK,
    }
}

pub(crate) fn kind_from(code: i64) -> Result<FileKind, StoreError> {
    match code {
        KIND_FILE => Ok(FileKind::File),
        KIND_LINK => Ok(FileKind::Link),
        _ => Err(StoreError::Row(format!("file kind {code}"))),
    }
}

pub(crate) fn path_from(bytes: Vec<u8>) -> Result<ProjectPath, StoreError> {
    ProjectPath::new(bytes).map_err(|error| StoreError::Row(error.to_string()))
}

pub(crate) fn oid_from(bytes: &[u8]) -> Result<ObjectId, StoreError> {
    ObjectId::try_from(bytes).map_err(|error| StoreError::Row(error.to_string()))
}

const SELECT_MANIFEST: &str = "SELECT path, kind, mode, size, oid FROM manifest";
const SELECT_MANIFEST_WITH_STAT: &str =
    "SELECT m.path AS path, m.kind, m.mode, m.size, m.oid, t.kind, t.mode, t.size, t.mtime, t.ctime,
         t.inode FROM manifest m LEFT JOIN touched t ON t.path = m.path";

impl Store {
    /// The whole manifest, sorted by path.
    pub fn manifest(&self) -> Result<Vec<ManifestEntry>, StoreError> {
        self.entries(&format!("{SELECT_MANIFEST_WITH_STAT} ORDER BY m.path"), &[])
    }

    /// Returns the entries of a path and of everything beneath it, sorted by path.
    pub fn manifest_beneath(&self, path: &ProjectPath) -> Result<Vec<ManifestEntry>, StoreError> {
        let [from, to] = bounds_beneath(path);
        // Not `OR`, which would sort the rows once more.
        let sql = format!(
            "{SELECT_MANIFEST_WITH_STAT} WHERE m.path = ?1
             UNION ALL {SELECT_MANIFEST_WITH_STAT} WHERE m.path > ?2 AND m.path < ?3 ORDER BY path"
        );
        self.entries(&sql, &[path.as_bytes(), &from, &to])
    }

    /// Returns the entry of one path.
    pub fn manifest_entry(&self, path: &ProjectPath) -> Result<Option<ManifestEntry>, StoreError> {
        let mut query =
            self.db.prepare_cached(&format!("{SELECT_MANIFEST_WITH_STAT} WHERE m.path = ?1"))?;
        Ok(query.query_row([path.as_bytes()], entry_with_stat_from).optional()?.flatten())
    }

    fn entries(&self, sql: &str, bounds: &[&[u8]]) -> Result<Vec<ManifestEntry>, StoreError> {
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map(params_from_iter(bounds), entry_with_stat_from)?;
        Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
    }

    /// The paths of the manifest, sorted.
    pub fn tracked_paths(&self) -> Result<Vec<ProjectPath>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT path FROM manifest ORDER BY path")?;
        let rows = query.query_map([], |row| Ok(path_from(row.get(0)?).ok()))?;
        // As in `entry_from`: a row without a path is none.
        Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
    }

    /// Up to `limit` entries from this path on, without their stats.
    pub(crate) fn manifest_from(
        &self,
        from: &[u8],
        limit: usize,
    ) -> Result<Vec<ManifestEntry>, StoreError> {
        let sql = format!("{SELECT_MANIFEST} WHERE path >= ?1 ORDER BY path LIMIT ?2");
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((from, limit as i64), entry_from)?;
        Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
    }

    /// The tracked paths beneath a folder.
    pub fn tracked_beneath(&self, folder: &ProjectPath) -> Result<Vec<ProjectPath>, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT path FROM manifest WHERE path > ?1 AND path < ?2")?;
        let rows = query.query_map(bounds_beneath(folder), |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|path| path_from(path?)).collect()
    }
}

/// Exclusive bounds of the paths beneath a folder.
pub(crate) fn bounds_beneath(folder: &ProjectPath) -> [Vec<u8>; 2] {
    // `0` follows `/`.
    [b"/", b"0"].map(|end| [folder.as_bytes(), end].concat())
}

/// A row that cannot be parsed is a file that was not captured; one without a path is skipped.
fn entry_from(row: &Row<'_>) -> rusqlite::Result<Option<ManifestEntry>> {
    let Ok(path) = path_from(row.get(0)?) else { return Ok(None) };
    let state = |oid: Vec<u8>| -> Option<FileState> {
        Some(FileState {
            kind: kind_from(row.get(1).ok()?).ok()?,
            mode: row.get(2).ok()?,
            size: row.get::<_, i64>(3).ok()? as u64,
            oid: oid_from(&oid).ok()?,
        })
    };
    let stored = row.get::<_, Option<Vec<u8>>>(4)?.and_then(state);
    let stored = stored.map_or(ManifestState::Unknown, ManifestState::Known);
    Ok(Some(ManifestEntry { path, state: stored, touched: None }))
}

fn entry_with_stat_from(row: &Row<'_>) -> rusqlite::Result<Option<ManifestEntry>> {
    let Some(mut entry) = entry_from(row)? else { return Ok(None) };
    if row.get_ref(5)? != ValueRef::Null {
        // A damaged row means that no stat can be relied on.
        entry.touched = Some(touched_from(row, 5).unwrap_or(TouchedState::There(None)));
    }
    Ok(Some(entry))
}

impl Batch<'_> {
    /// Sets what the manifest says of a path, and the stat under which it was read, if that can be
    /// relied on.
    pub fn set_manifest(
        &self,
        path: &ProjectPath,
        stored: &ManifestState,
        stat: Option<&StatRow>,
    ) -> Result<(), StoreError> {
        self.record_moved(path)?;
        let (kind, mode, size, oid) = match stored {
            ManifestState::Unknown => (KIND_UNKNOWN, 0, 0, None),
            ManifestState::Known(state) => (
                kind_code(state.kind),
                state.mode,
                state.size as i64,
                Some(state.oid.as_bytes().as_slice()),
            ),
        };
        let row = (path.as_bytes(), kind, mode, size, oid);
        let new = self.execute(
            "set manifest",
            "INSERT INTO manifest(path, kind, mode, size, oid) VALUES(?1, ?2, ?3, ?4, ?5)
             ON CONFLICT(path) DO NOTHING",
            row,
        )?;
        if new == 0 {
            self.remove_from_counts(path)?;
            self.execute(
                "set manifest",
                "UPDATE manifest SET kind = ?2, mode = ?3, size = ?4, oid = ?5 WHERE path = ?1",
                row,
            )?;
        }
        self.add_to_counts(oid.is_none());
        self.record_touched(path, TouchedState::There(stat.copied()))
    }

    /// Takes a path out of the manifest: it is gone.
    pub fn remove_manifest(&self, path: &ProjectPath) -> Result<(), StoreError> {
        self.record_moved(path)?;
        self.remove_from_counts(path)?;
        self.execute("remove manifest", "DELETE FROM manifest WHERE path = ?1", [path.as_bytes()])?;
        self.record_touched(path, TouchedState::Gone)
    }
}
