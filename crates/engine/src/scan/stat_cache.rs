//! Stats under which files were last read, between the store, which keeps them, and the walk, which
//! uses them.
//!
//! A full scan takes them from the stat cache and, once enough paths have been touched since that
//! was written, renews it. Narrower scans use the cache if it is in memory already, and load it
//! only if it may save more than it costs.

use std::sync::Arc;

use retake_model::{FileKind, ProjectPath};
use retake_store::{Batch, ManifestEntry, StatCacheId, StatRow, StoreError, TouchedState};
use retake_workspace::{FileStat, StatCache, StatKind};

use crate::scan::observation::Observation;

/// Minimum touched paths at which renewing the stat cache is cheaper than reading them at each
/// scan.
const MIN_TOUCHED_FOR_RENEWAL: usize = 256;

/// Bytes of files whose reading costs about as much as loading the stat cache.
pub(crate) const STAT_CACHE_READ_COST_BYTES: u64 = 1024 * 1024;

/// A stat cache in memory.
#[derive(Clone, Debug)]
pub(crate) struct LoadedStatCache {
    name: StatCacheId,
    known: StatCache,
}

impl LoadedStatCache {
    /// Loads the stat cache.
    pub(crate) fn load(batch: &Batch<'_>) -> Result<Option<Self>, StoreError> {
        Ok(batch.stat_cache()?.and_then(|stats| {
            Some(Self { name: stats.id, known: StatCache::from_bytes(stats.bytes)? })
        }))
    }
}

/// Stats of every path of the manifest, for one scan.
#[derive(Debug)]
pub(crate) struct RecalledStats {
    /// Every path of the manifest.
    pub(crate) known: StatCache,
    /// The stat cache they come from.
    pub(crate) cache: Option<LoadedStatCache>,
    /// Number of paths that were touched since that was written.
    touched: usize,
}

impl RecalledStats {
    /// Loads the stats of every path.
    pub(crate) fn load(batch: &Batch<'_>) -> Result<Self, StoreError> {
        let Some(cache) = LoadedStatCache::load(batch)? else {
            let paths = batch.tracked_paths()?.into_iter().map(|path| (path, None));
            return Ok(Self { known: StatCache::new(paths), cache: None, touched: 0 });
        };
        let touched = batch.touched()?;
        let mut known = cache.known.clone();
        for (path, now) in &touched {
            apply_touched(&mut known, path, *now);
        }
        Ok(Self { known, cache: Some(cache), touched: touched.len() })
    }

    /// Returns true if renewing the stat cache pays off, given this many more touched paths.
    pub(crate) fn needs_renewal(&self, more: usize) -> bool {
        self.cache.is_none() || self.touched + more >= MIN_TOUCHED_FOR_RENEWAL
    }
}

fn apply_touched(known: &mut StatCache, path: &ProjectPath, now: TouchedState) {
    match now {
        TouchedState::Gone => known.remove(path),
        TouchedState::There(stat) => known.insert(path, stat.map(stat_of)),
    }
}

/// Renews the stat cache from the known stats and those that the batch has touched since.
pub(crate) fn renew_stat_cache(
    batch: &Batch<'_>,
    observation: &mut Observation,
) -> Result<(), StoreError> {
    let Some(recalled) = &mut observation.recalled else { return Ok(()) };
    for (path, now) in batch.take_touched() {
        apply_touched(&mut recalled.known, &path, now);
    }
    let bytes = recalled.known.to_bytes();
    let name = batch.put_stat_cache(&bytes)?;
    recalled.touched = 0;
    recalled.cache =
        name.and_then(|name| Some(LoadedStatCache { name, known: StatCache::from_bytes(bytes)? }));
    if let Some(snapshot) = &mut observation.snapshot {
        Arc::make_mut(snapshot).stat_cache.clone_from(&recalled.cache);
    }
    Ok(())
}

/// The stats of these entries; for untouched ones those of the cache in memory, if it is still
/// current.
pub(crate) fn known_stats(
    batch: &Batch<'_>,
    entries: &[ManifestEntry],
    cache: Option<&LoadedStatCache>,
) -> Result<StatCache, StoreError> {
    let name = batch.stat_cache_id()?;
    let cache = cache.filter(|cache| Some(cache.name) == name);
    let stat = |entry: &ManifestEntry| match entry.touched {
        Some(TouchedState::There(stat)) => stat.map(stat_of),
        Some(TouchedState::Gone) => None,
        None => cache.and_then(|cache| cache.known.stat(&entry.path)),
    };
    Ok(StatCache::new(entries.iter().map(|entry| (entry.path.clone(), stat(entry)))))
}

/// The inode last read at a path, if it is stored.
pub(crate) fn last_read_inode(
    batch: &Batch<'_>,
    path: &ProjectPath,
) -> Result<Option<u64>, StoreError> {
    let Some(entry) = batch.manifest_entry(path)? else { return Ok(None) };
    let cache = if entry.touched.is_none() { LoadedStatCache::load(batch)? } else { None };
    Ok(known_stats(batch, &[entry], cache.as_ref())?.stat(path).map(|stat| stat.inode))
}

fn stat_of(row: StatRow) -> FileStat {
    FileStat {
        kind: match row.kind {
            FileKind::File => StatKind::File,
            FileKind::Link => StatKind::Link,
        },
        mode: row.mode,
        size: row.size,
        mtime_ns: row.mtime_ns,
        ctime_ns: row.ctime_ns,
        inode: row.inode,
    }
}
