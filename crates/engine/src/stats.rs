//! Stats under which files were last read, between the store, which keeps them, and the walk, which
//! uses them.
//!
//! A full scan takes them from the stat cache and, once enough paths have been touched since that
//! was written, renews it. Narrower scans use the cache if it is in memory already, and load it
//! only if it may save more than it costs.

use std::sync::Arc;

use retake_model::{FileKind, ProjectPath};
use retake_store::{Batch, ManifestEntry, StatRow, StatsName, StoreError, Touched};
use retake_workspace::{Known, Stat, StatKind};

use crate::observe::Observation;

/// Minimum touched paths at which renewing the stat cache is cheaper than reading them at each
/// scan.
const MANY: usize = 256;

/// Bytes of files whose reading costs about as much as loading the stat cache.
pub(crate) const WORTH_READING: u64 = 1024 * 1024;

/// A stat cache in memory.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    name: StatsName,
    known: Known,
}

impl Kept {
    /// Loads the stat cache.
    pub(crate) fn read(batch: &Batch<'_>) -> Result<Option<Self>, StoreError> {
        Ok(batch.stats()?.and_then(|stats| {
            Some(Self { name: stats.name, known: Known::from_bytes(stats.bytes)? })
        }))
    }
}

/// Stats of every path of the manifest, for one scan.
#[derive(Debug)]
pub(crate) struct Recalled {
    /// Every path of the manifest.
    pub(crate) known: Known,
    /// The stat cache they come from.
    pub(crate) kept: Option<Kept>,
    /// Number of paths that were touched since that was written.
    touched: usize,
}

impl Recalled {
    /// Loads the stats of every path.
    pub(crate) fn all(batch: &Batch<'_>) -> Result<Self, StoreError> {
        let Some(kept) = Kept::read(batch)? else {
            let paths = batch.tracked()?.into_iter().map(|path| (path, None));
            return Ok(Self { known: Known::new(paths), kept: None, touched: 0 });
        };
        let touched = batch.touched()?;
        let mut known = kept.known.clone();
        for (path, now) in &touched {
            apply(&mut known, (path, *now));
        }
        Ok(Self { known, kept: Some(kept), touched: touched.len() })
    }

    /// Returns true if renewing the stat cache pays off, given this many more touched paths.
    pub(crate) fn is_worn(&self, more: usize) -> bool {
        self.kept.is_none() || self.touched + more >= MANY
    }
}

fn apply(known: &mut Known, (path, now): (&ProjectPath, Touched)) {
    match now {
        Touched::Gone => known.remove(path),
        Touched::There(stat) => known.insert(path, stat.map(stat_of)),
    }
}

/// Renews the stat cache from the known stats and those that the batch has touched since.
pub(crate) fn renew(batch: &Batch<'_>, observation: &mut Observation) -> Result<(), StoreError> {
    let Some(recalled) = &mut observation.recalled else { return Ok(()) };
    for (path, now) in batch.take_touched() {
        apply(&mut recalled.known, (&path, now));
    }
    let bytes = recalled.known.to_bytes();
    let name = batch.put_stats(&bytes)?;
    recalled.touched = 0;
    recalled.kept = name.and_then(|name| Some(Kept { name, known: Known::from_bytes(bytes)? }));
    if let Some(view) = &mut observation.view {
        Arc::make_mut(view).stats.clone_from(&recalled.kept);
    }
    Ok(())
}

/// The stats of these entries; for untouched ones those of the cache in memory, if it is still
/// current.
pub(crate) fn known(
    batch: &Batch<'_>,
    entries: &[ManifestEntry],
    kept: Option<&Kept>,
) -> Result<Known, StoreError> {
    let name = batch.stats_name()?;
    let kept = kept.filter(|kept| Some(kept.name) == name);
    let stat = |entry: &ManifestEntry| match entry.touched {
        Some(Touched::There(stat)) => stat.map(stat_of),
        Some(Touched::Gone) => None,
        None => kept.and_then(|kept| kept.known.stat(&entry.path)),
    };
    Ok(Known::new(entries.iter().map(|entry| (entry.path.clone(), stat(entry)))))
}

/// The inode last read at a path, if it is stored.
pub(crate) fn inode(batch: &Batch<'_>, path: &ProjectPath) -> Result<Option<u64>, StoreError> {
    let Some(entry) = batch.manifest_entry(path)? else { return Ok(None) };
    let kept = if entry.touched.is_none() { Kept::read(batch)? } else { None };
    Ok(known(batch, &[entry], kept.as_ref())?.stat(path).map(|stat| stat.inode))
}

fn stat_of(row: StatRow) -> Stat {
    Stat {
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
