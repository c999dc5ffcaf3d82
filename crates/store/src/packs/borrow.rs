//! Borrowed packs: hard links to packs of the user's repository, which cost no space and survive
//! changes of the repository.
//!
//! A pack is immutable, and git syncs it; other writers may not, so it is synced here once more
//! before a record counts on it. Where no link can be made (another file system, another owner)
//! nothing is borrowed.
//!
//! Invariant: what [`BorrowedPacks`] say they have can be counted on once [`Batch::keep_borrowed`]
//! and the commit are done, whatever happens to the repository.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gix_zlib::Inflate;
use retake_model::ObjectId;

use super::{Pack, pack_files};
use crate::objects::ObjectKind;
use crate::{Batch, Store, StoreError};

/// Maximum packs: more make lookups slow, and git itself would repack by then.
const MAX_PACKS: usize = 128;

/// Packs in which content may be found instead of being stored again: those of the store, and
/// those of the user's repository.
#[derive(Debug)]
pub struct BorrowedPacks {
    packs: Vec<BorrowedPack>,
}

#[derive(Debug)]
struct BorrowedPack {
    pack: Arc<Pack>,
    /// Linked only now: without a row it does not count.
    is_new: bool,
    used: AtomicBool,
}

impl BorrowedPack {
    fn new(pack: Arc<Pack>, is_new: bool) -> Self {
        Self { pack, is_new, used: AtomicBool::new(false) }
    }
}

impl BorrowedPacks {
    /// Returns whether there are no packs.
    pub fn is_empty(&self) -> bool {
        self.packs.is_empty()
    }

    /// Returns whether it has the object, which is then counted on.
    pub fn has(&self, oid: &ObjectId) -> bool {
        let found = self.packs.iter().find(|entry| entry.pack.find(oid).is_some());
        found.inspect(|entry| entry.used.store(true, Ordering::Relaxed)).is_some()
    }

    /// Returns whether it has a blob of just this size under the name, which is then counted on.
    pub fn has_blob(&self, oid: &ObjectId, size: u64, scratch: &mut InflateScratch) -> bool {
        let found = self.packs.iter().find_map(|entry| Some((entry, entry.pack.find(oid)?)));
        let Some((entry, at)) = found else { return false };
        let fits = entry.pack.header(at, &mut scratch.0) == Ok((ObjectKind::Blob, size));
        if fits {
            entry.used.store(true, Ordering::Relaxed);
        }
        fits
    }
}

/// Buffer for reading pack entries; one for each thread.
#[derive(Default)]
pub struct InflateScratch(Inflate);

impl Store {
    /// Links the packs that lie in these folders. The caller holds the project's lock.
    pub fn borrow_packs(&self, folders: &[PathBuf]) -> Result<BorrowedPacks, StoreError> {
        let ours = self.packs_folder();
        self.remove_stray_packs()?;
        let mut packs: Vec<_> =
            self.packs()?.into_iter().map(|pack| BorrowedPack::new(pack, false)).collect();
        let known: HashSet<String> = packs.iter().map(|entry| entry.pack.name.clone()).collect();
        for (folder, name) in folders.iter().flat_map(|folder| packs_in(folder)) {
            if known.contains(&name) || packs.len() >= MAX_PACKS {
                continue;
            }
            retake_seam::fs::create_private_dir_all(&ours)
                .map_err(StoreError::io("create", &ours))?;
            if let Some(pack) = link_pack(&folder, &ours, &name) {
                packs.push(BorrowedPack::new(Arc::new(pack), true));
            }
        }
        Ok(BorrowedPacks { packs })
    }

    /// Removes the files of packs that no row names. The caller holds the project's lock.
    pub(crate) fn remove_stray_packs(&self) -> Result<(), StoreError> {
        let rows: HashSet<_> = self.pack_rows()?.into_iter().map(|row| row.name).collect();
        let entries = std::fs::read_dir(self.packs_folder()).into_iter().flatten().flatten();
        for file in entries.map(|entry| entry.path()) {
            let name = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
            if !rows.contains(name) {
                retake_seam::fs::remove_file(&file).map_err(StoreError::io("remove", &file))?;
            }
        }
        Ok(())
    }
}

/// The packs in a folder that have an index.
fn packs_in(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        let file = entry.path();
        let name = file.file_stem()?.to_str()?;
        let is_pack = name.starts_with("pack-") && file.extension()? == "idx";
        is_pack.then(|| (folder.to_owned(), name.to_owned()))
    };
    let mut packs: Vec<_> = entries.filter_map(name).collect();
    packs.sort();
    packs
}

/// A pack that cannot be linked or read is not borrowed; the content is then read from files.
fn link_pack(from: &Path, to: &Path, name: &str) -> Option<Pack> {
    for (from, to) in pack_files(from, name).into_iter().zip(pack_files(to, name)) {
        // Not through a symbolic link: that could be changed later.
        if !from.symlink_metadata().ok()?.is_file() {
            return None;
        }
        if let Err(error) = retake_seam::fs::hard_link(&from, &to) {
            tracing::debug!(%error, name, "a pack cannot be linked");
            return None;
        }
    }
    Pack::open(to, name).inspect_err(|error| tracing::debug!(%error, "not borrowed")).ok()
}

impl Batch<'_> {
    /// Syncs and records the new packs that are in use; removes the others.
    pub fn keep_borrowed(&self, borrowed: &BorrowedPacks) -> Result<(), StoreError> {
        let folder = self.packs_folder();
        let new = borrowed.packs.iter().filter(|entry| entry.is_new);
        let (used, unused): (Vec<_>, Vec<_>) =
            new.partition(|entry| entry.used.load(Ordering::Relaxed));
        for entry in &used {
            for file in pack_files(&folder, &entry.pack.name) {
                let opened = File::open(&file).map_err(StoreError::io("open", &file))?;
                retake_seam::fs::sync_file(&opened).map_err(StoreError::io("sync", &file))?;
            }
        }
        if !used.is_empty() {
            retake_seam::fs::sync_dir(&folder).map_err(StoreError::io("sync", &folder))?;
        }
        for entry in used {
            self.put_pack(&entry.pack.name, true)?;
        }
        for file in unused.iter().flat_map(|entry| pack_files(&folder, &entry.pack.name)) {
            retake_seam::fs::remove_file(&file).map_err(StoreError::io("remove", &file))?;
        }
        Ok(())
    }

    /// Inserts the pack's row: its objects count once this is committed.
    pub(super) fn put_pack(&self, name: &str, borrowed: bool) -> Result<(), StoreError> {
        self.execute(
            "put pack",
            "INSERT OR IGNORE INTO pack(name, borrowed) VALUES(?1, ?2)",
            (name, borrowed),
        )?;
        Ok(())
    }
}
