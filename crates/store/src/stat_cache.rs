//! The stat cache: the stat under which each file of the manifest was last read.
//!
//! One immutable file holds it; its format is up to the caller. Later changes of single paths are
//! in the table `touched`, in the same transaction as the manifest. Invariant: for a path that is
//! not in `touched`, the file that `meta` names agrees with the manifest. The name is random, so
//! that no backup of one fits another by chance.
//!
//! It is derived: if its file is missing or damaged, files are read again and nothing else
//! happens. While there is none, touched paths are not recorded.

use std::path::{Path, PathBuf};

use retake_model::{FileKind, ProjectPath};
use rusqlite::Row;

use crate::manifest::{KIND_ABSENT, KIND_UNKNOWN, kind_code, kind_from, path_from};
use crate::{Batch, Store, StoreError};

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

/// Change of a path since the stat cache was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchedState {
    /// It is out of the manifest.
    Gone,
    /// It was read under this stat; `None` if none can be relied on.
    There(Option<StatRow>),
}

/// Random id of a stat cache.
pub type StatCacheId = u64;

/// A stat cache.
#[derive(Debug)]
pub struct StatCacheFile {
    /// Which one it is.
    pub id: StatCacheId,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// Where a batch records the paths that it touches.
#[derive(Debug)]
pub(crate) enum TouchedLog {
    /// There is no stat cache.
    Off,
    /// In the table, beside the file that is current.
    InTable,
    /// For the cache that is about to be made.
    InMemory(Vec<(ProjectPath, TouchedState)>),
}

/// Key in `meta` of the current cache's id.
const STAT_CACHE_KEY: &str = "stats";
/// Prefix of the cache's file name.
const STAT_CACHE_PREFIX: &str = "stats-";
/// Bytes of the file's header: checksum and id.
const HEADER_BYTES: usize = 4 + 8;

impl Store {
    /// Reads the stat cache, if there is an intact one.
    pub fn stat_cache(&self) -> Result<Option<StatCacheFile>, StoreError> {
        let Some(name) = self.stat_cache_id()? else { return Ok(None) };
        match read_checked(&self.stat_cache_path(name), name) {
            Ok(bytes) => Ok(Some(StatCacheFile { id: name, bytes })),
            Err(error) => {
                tracing::warn!(%error, "the stat cache cannot be used and will be made anew");
                Ok(None)
            }
        }
    }

    /// Which stat cache belongs to the manifest.
    pub fn stat_cache_id(&self) -> Result<Option<StatCacheId>, StoreError> {
        let name = self.meta(STAT_CACHE_KEY)?;
        Ok(name.and_then(|name| Some(StatCacheId::from_be_bytes(name.try_into().ok()?))))
    }

    /// Returns the paths touched since the stat cache was written.
    pub fn touched(&self) -> Result<Vec<(ProjectPath, TouchedState)>, StoreError> {
        let sql = "SELECT kind, mode, size, mtime, ctime, inode, path FROM touched";
        let mut query = self.db.prepare_cached(sql)?;
        let mut rows = query.query([])?;
        let mut touched = Vec::new();
        while let Some(row) = rows.next()? {
            touched.push((path_from(row.get(6)?)?, touched_from(row, 0)?));
        }
        Ok(touched)
    }

    pub(crate) fn stat_cache_path(&self, name: StatCacheId) -> PathBuf {
        self.folder().join(format!("{STAT_CACHE_PREFIX}{name:016x}"))
    }

    /// Removes stat caches that are not current. That some stay is no failure.
    pub(crate) fn remove_old_stat_caches(&self) {
        let Ok(Some(name)) = self.stat_cache_id() else { return };
        let current = self.stat_cache_path(name);
        for entry in std::fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_one = entry.file_name().to_string_lossy().starts_with(STAT_CACHE_PREFIX);
            if is_one && path != current {
                let _ = retake_seam::fs::remove_file(&path);
            }
        }
    }
}

fn read_checked(file: &Path, name: StatCacheId) -> std::io::Result<Vec<u8>> {
    let damaged = || std::io::Error::new(std::io::ErrorKind::InvalidData, "it is damaged");
    let mut bytes = std::fs::read(file)?;
    let (sum, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
    let is_whole = *sum == check_sum(rest);
    if !is_whole || !rest.starts_with(&name.to_be_bytes()) {
        return Err(damaged());
    }
    bytes.drain(..HEADER_BYTES);
    Ok(bytes)
}

fn check_sum(bytes: &[u8]) -> [u8; 4] {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum().to_le_bytes()
}

/// From the columns of `touched`, of which the first is here.
pub(crate) fn touched_from(row: &Row<'_>, at: usize) -> Result<TouchedState, StoreError> {
    let kind = match row.get(at)? {
        KIND_ABSENT => return Ok(TouchedState::Gone),
        KIND_UNKNOWN => return Ok(TouchedState::There(None)),
        code => kind_from(code)?,
    };
    Ok(TouchedState::There(Some(StatRow {
        kind,
        mode: row.get(at + 1)?,
        size: row.get::<_, i64>(at + 2)? as u64,
        mtime_ns: row.get(at + 3)?,
        ctime_ns: row.get(at + 4)?,
        inode: row.get::<_, i64>(at + 5)? as u64,
    })))
}

impl Batch<'_> {
    /// Records the stat of a file that agrees with the manifest.
    pub fn set_stat(&self, path: &ProjectPath, stat: &StatRow) -> Result<(), StoreError> {
        self.record_touched(path, TouchedState::There(Some(*stat)))
    }

    /// Drops the stat cache and collects touched paths in memory, for a new one.
    pub fn begin_stat_cache(&self) -> Result<(), StoreError> {
        self.execute("drop stats", "DELETE FROM meta WHERE key = ?1", [STAT_CACHE_KEY])?;
        self.execute("forget touched", "DELETE FROM touched", [])?;
        self.touched_log.replace(TouchedLog::InMemory(Vec::new()));
        Ok(())
    }

    /// Takes the paths that this batch has touched since it began a new stat cache.
    pub fn take_touched(&self) -> Vec<(ProjectPath, TouchedState)> {
        match self.touched_log.replace(TouchedLog::Off) {
            TouchedLog::InMemory(touched) => touched,
            TouchedLog::Off | TouchedLog::InTable => Vec::new(),
        }
    }

    /// Stores a new stat cache, which must cover every path of the manifest.
    ///
    /// `None` if it cannot be kept; then there is none.
    pub fn put_stat_cache(&self, bytes: &[u8]) -> Result<Option<StatCacheId>, StoreError> {
        let random = self.db.query_row("SELECT random()", [], |row| row.get::<_, i64>(0))?;
        let name = random.cast_unsigned();
        let mut file = vec![0; 4];
        file.extend_from_slice(&name.to_be_bytes());
        file.extend_from_slice(bytes);
        let sum = check_sum(&file[4..]);
        file[..4].copy_from_slice(&sum);
        if let Err(error) = retake_seam::fs::write_unsynced(&self.stat_cache_path(name), &file) {
            tracing::warn!(%error, "the stat cache cannot be written");
            return Ok(None);
        }
        self.set_meta(STAT_CACHE_KEY, &name.to_be_bytes())?;
        self.touched_log.replace(TouchedLog::InTable);
        self.has_new_stat_cache.set(true);
        Ok(Some(name))
    }

    pub(crate) fn record_touched(
        &self,
        path: &ProjectPath,
        touched: TouchedState,
    ) -> Result<(), StoreError> {
        match &mut *self.touched_log.borrow_mut() {
            TouchedLog::Off => return Ok(()),
            TouchedLog::InMemory(all) => {
                all.push((path.clone(), touched));
                return Ok(());
            }
            TouchedLog::InTable => {}
        }
        let (kind, stat) = match touched {
            TouchedState::Gone => (KIND_ABSENT, None),
            TouchedState::There(None) => (KIND_UNKNOWN, None),
            TouchedState::There(Some(stat)) => (kind_code(stat.kind), Some(stat)),
        };
        let number = |field: fn(StatRow) -> i64| stat.map_or(0, field);
        self.execute(
            "note touched",
            "INSERT OR REPLACE INTO touched(path, kind, mode, size, mtime, ctime, inode)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                path.as_bytes(),
                kind,
                number(|stat| stat.mode.into()),
                number(|stat| stat.size as i64),
                number(|stat| stat.mtime_ns),
                number(|stat| stat.ctime_ns),
                number(|stat| stat.inode as i64),
            ),
        )?;
        Ok(())
    }
}
