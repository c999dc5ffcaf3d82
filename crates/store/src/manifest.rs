//! What the project looked like when it was last looked at, kept continuously.
//!
//! The stat fields beside it are a cache: a row counts only while it names the
//! same object as the manifest, so a lost or stale cache costs a read, never an error.

use retake_model::{FileKind, FileState, ObjectId, ProjectPath, Side};
use rusqlite::{OptionalExtension as _, Row};

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

const MANIFEST: &str = "SELECT path, kind, mode, size, oid FROM manifest";
const STAT: &str = "SELECT path, oid, kind, mode, size, mtime, ctime, inode FROM cache.stat";

impl Store {
    /// The whole manifest, sorted by path.
    pub fn manifest(&self) -> Result<Vec<ManifestEntry>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{MANIFEST} ORDER BY path"))?;
        let rows = query.query_map([], entry_from)?;
        let entries = rows.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let stats = self.cached(|db| {
            let mut query = db.prepare_cached(&format!("{STAT} ORDER BY path"))?;
            query.query_map([], cached_from)?.collect::<Result<_, _>>()
        })?;
        Ok(with_stats(entries, stats.unwrap_or_default()))
    }

    /// What the manifest says of a path and of everything beneath it, sorted by path.
    pub fn manifest_beneath(&self, path: &ProjectPath) -> Result<Vec<ManifestEntry>, StoreError> {
        let [from, to] = beneath(path);
        let bounds = [path.as_bytes(), &from, &to];
        // Not `OR`, which would sort the rows once more.
        let here = |rows: &str| {
            format!(
                "{rows} WHERE path = ?1 UNION ALL {rows} WHERE path > ?2 AND path < ?3 ORDER BY path"
            )
        };
        let mut query = self.db.prepare_cached(&here(MANIFEST))?;
        let rows = query.query_map(bounds, entry_from)?;
        let entries: Vec<_> = rows.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        if entries.is_empty() {
            return Ok(entries);
        }
        let stats = self.cached(|db| {
            let mut query = db.prepare_cached(&here(STAT))?;
            query.query_map(bounds, cached_from)?.collect::<Result<_, _>>()
        })?;
        Ok(with_stats(entries, stats.unwrap_or_default()))
    }

    /// What the manifest says of one path.
    pub fn manifest_entry(&self, path: &ProjectPath) -> Result<Option<ManifestEntry>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{MANIFEST} WHERE path = ?1"))?;
        let found = query.query_row([path.as_bytes()], entry_from).optional()?.flatten();
        let Some(mut entry) = found else { return Ok(None) };
        let stat = self.cached(|db| {
            let mut query = db.prepare_cached(&format!("{STAT} WHERE path = ?1"))?;
            query.query_row([path.as_bytes()], cached_from).optional()
        });
        entry.stat = stat?.flatten().and_then(|stat| stat_of(&entry.stored, stat));
        Ok(Some(entry))
    }

    /// Up to `limit` entries from this path on, without their stats.
    pub(crate) fn manifest_from(
        &self,
        from: &[u8],
        limit: i64,
    ) -> Result<Vec<ManifestEntry>, StoreError> {
        let sql = format!("{MANIFEST} WHERE path >= ?1 ORDER BY path LIMIT ?2");
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((from, limit), entry_from)?;
        Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
    }

    /// The tracked paths beneath a folder.
    pub fn tracked_beneath(&self, folder: &ProjectPath) -> Result<Vec<ProjectPath>, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT path FROM manifest WHERE path > ?1 AND path < ?2")?;
        let rows = query.query_map(beneath(folder), |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|path| path_from(path?)).collect()
    }

    /// The number of paths in the manifest.
    pub fn manifest_len(&self) -> Result<u64, StoreError> {
        let count: i64 =
            self.db.query_row("SELECT count(*) FROM manifest", [], |row| row.get(0))?;
        Ok(count as u64)
    }
}

/// Everything beneath a folder lies between these two.
fn beneath(folder: &ProjectPath) -> [Vec<u8>; 2] {
    // `0` follows `/`.
    [b"/", b"0"].map(|end| [folder.as_bytes(), end].concat())
}

/// Gives each entry its stat; both are sorted by path.
fn with_stats(mut entries: Vec<ManifestEntry>, stats: Vec<CachedStat>) -> Vec<ManifestEntry> {
    let mut stats = stats.into_iter().peekable();
    for entry in &mut entries {
        while stats.next_if(|(path, ..)| path.as_slice() < entry.path.as_bytes()).is_some() {}
        let same = |(path, ..): &CachedStat| path.as_slice() == entry.path.as_bytes();
        entry.stat = stats.next_if(same).and_then(|stat| stat_of(&entry.stored, stat));
    }
    entries
}

/// A row of the stat cache: path, the object that it vouches for, kind and stat.
type CachedStat = (Vec<u8>, Vec<u8>, i64, StatRow);

fn cached_from(row: &Row<'_>) -> rusqlite::Result<CachedStat> {
    let stat = StatRow {
        kind: FileKind::File,
        mode: row.get(3)?,
        size: row.get::<_, i64>(4)? as u64,
        mtime_ns: row.get(5)?,
        ctime_ns: row.get(6)?,
        inode: row.get::<_, i64>(7)? as u64,
    };
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, stat))
}

/// The cached stat, if it vouches for just this state.
fn stat_of(stored: &Stored, (_, oid, kind, stat): CachedStat) -> Option<StatRow> {
    let Stored::Known(state) = stored else { return None };
    let kind = kind_from(kind).ok()?;
    (oid == state.oid.as_bytes()).then_some(StatRow { kind, ..stat })
}

/// A row that cannot be understood is a file that was not captured; one without a path is none.
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
    let stored = stored.map_or(Stored::Unknown, Stored::Known);
    Ok(Some(ManifestEntry { path, stored, stat: None }))
}

impl Store {
    /// The files that may have been written at this time, in nanoseconds, or later, as of the last
    /// look. One that was written just then has no stat that can be relied on.
    pub fn written_since(&self, mtime_ns: i64) -> Result<Vec<ProjectPath>, StoreError> {
        let mut query = self.db.prepare(
            "SELECT path FROM manifest m WHERE NOT EXISTS
                 (SELECT 1 FROM cache.stat s WHERE s.path = m.path AND s.mtime < ?1)",
        )?;
        let mut rows = query.query([mtime_ns])?;
        let mut paths = Vec::new();
        while let Some(row) = rows.next()? {
            paths.push(path_from(row.get(0)?)?);
        }
        Ok(paths)
    }
}

impl Batch<'_> {
    /// Sets what the manifest says of a path.
    pub fn set_manifest(&self, path: &ProjectPath, stored: &Stored) -> Result<(), StoreError> {
        self.forget_trees(path)?;
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
        self.forget_trees(path)?;
        self.execute("remove manifest", "DELETE FROM manifest WHERE path = ?1", [path.as_bytes()])?;
        Ok(())
    }

    /// Remembers under which stat a path's content was read; `None` forgets it.
    pub fn set_stat(
        &self,
        path: &ProjectPath,
        stat: Option<(&ObjectId, &StatRow)>,
    ) -> Result<(), StoreError> {
        retake_seam::step("set stat")?;
        let Some((oid, stat)) = stat else {
            self.cached(|db| {
                db.prepare_cached("DELETE FROM cache.stat WHERE path = ?1")?
                    .execute([path.as_bytes()])
            })?;
            return Ok(());
        };
        self.cached(|db| {
            db.prepare_cached(
                "INSERT OR REPLACE INTO cache.stat
                     (path, oid, kind, mode, size, mtime, ctime, inode)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute((
                path.as_bytes(),
                oid.as_bytes().as_slice(),
                kind_code(stat.kind),
                stat.mode,
                stat.size as i64,
                stat.mtime_ns,
                stat.ctime_ns,
                stat.inode as i64,
            ))
        })?;
        Ok(())
    }
}
