//! Content in git packs: bulk imports, and packs of the user's own repository.
//!
//! A pack is two files in `packs/` that never change. It counts while the table `pack` names it; a
//! file that no row names is garbage. Rows of `object` come first: what is damaged in a pack is
//! mended by a row.
//!
//! - [`borrow`]: packs of the user's repository, hard-linked.
//! - [`writer`]: packs of our own.
//! - [`stream`]: objects as one pack for git to take in.
//! - [`repack`]: replaces packs of which little is needed.

mod borrow;
mod repack;
mod stream;
mod writer;

use std::cell::RefCell;
use std::fmt;
use std::fs::Metadata;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix_pack::Bundle;
use gix_pack::data::decode::header;
use gix_zlib::Inflate;
use retake_model::ObjectId;

use crate::objects::ObjectKind;
use crate::{Store, StoreError};

pub use borrow::{BorrowedPacks, InflateScratch};
pub(crate) use stream::write_pack;
pub use writer::{PackWriter, PackedObject, encode_packed};

/// Folder of the packs in the project's folder.
const PACKS_FOLDER: &str = "packs";
const HASH_KIND: gix_hash::Kind = gix_hash::Kind::Sha1;
/// Maximum bytes of an unpacked object: nothing that long is ever borrowed.
const MAX_UNPACK_BYTES: usize = 256 << 20;

/// An open pack.
pub(crate) struct Pack {
    name: String,
    bundle: Bundle,
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pack").field(&self.name).finish()
    }
}

impl Pack {
    fn open(folder: &Path, name: &str) -> Result<Self, StoreError> {
        let [pack, index] = pack_files(folder, name);
        let broken = |file: &Path, why: String| StoreError::Io {
            act: "open",
            path: file.to_owned(),
            source: std::io::Error::other(why),
        };
        let opened = catch_panic(|| {
            let data =
                gix_pack::data::File::at(&pack, HASH_KIND).map_err(|error| error.to_string())?;
            let data = data.with_alloc_limit_bytes(Some(MAX_UNPACK_BYTES));
            let index = gix_pack::index::File::at(&index, HASH_KIND).map_err(|e| e.to_string())?;
            Ok(Bundle { pack: data, index })
        });
        let bundle = opened.map_err(|why| broken(&pack, why))?;
        if bundle.index.num_objects() != bundle.pack.num_objects() {
            return Err(broken(&index, "it is not this pack's index".to_owned()));
        }
        Ok(Self { name: name.to_owned(), bundle })
    }

    /// The object's place in the index.
    fn find(&self, oid: &ObjectId) -> Option<u32> {
        self.bundle.index.lookup(gix_hash::oid::from_bytes_unchecked(oid.as_bytes()))
    }

    fn objects(&self) -> u32 {
        self.bundle.index.num_objects()
    }

    fn read(&self, at: u32) -> Result<(ObjectKind, Vec<u8>), String> {
        let mut bytes = Vec::new();
        let kind = catch_panic(|| {
            let never = &mut gix_pack::cache::Never;
            let found =
                self.bundle.get_object_by_index(at, &mut bytes, &mut Inflate::default(), never);
            let (data, _) = found.map_err(|error| error.to_string())?;
            kind_of(data.kind)
        })?;
        Ok((kind, bytes))
    }

    /// Kind and size, without unpacking.
    fn header(&self, at: u32, inflate: &mut Inflate) -> Result<(ObjectKind, u64), String> {
        let Bundle { pack, index } = &self.bundle;
        catch_panic(|| {
            let entry = |at| pack.entry(index.pack_offset_at_index(at));
            let base = |id: &gix_hash::oid| {
                index.lookup(id).map(|at| entry(at).map(header::ResolvedBase::InPack)).transpose()
            };
            let entry = entry(at).map_err(|error| error.to_string())?;
            let found = pack.decode_header(entry, inflate, &base);
            let found = found.map_err(|error| error.to_string())?;
            Ok((kind_of(found.kind)?, found.object_size))
        })
    }
}

fn kind_of(kind: gix_object::Kind) -> Result<ObjectKind, String> {
    match kind {
        gix_object::Kind::Blob => Ok(ObjectKind::Blob),
        gix_object::Kind::Tree => Ok(ObjectKind::Tree),
        gix_object::Kind::Commit => Ok(ObjectKind::Commit),
        gix_object::Kind::Tag => Err("it is a tag".to_owned()),
    }
}

/// Turns a panic into an error: input and parser are foreign, and must not end a hook.
fn catch_panic<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("it cannot be parsed (the parser gave up)".to_owned()))
}

/// The two files of a pack.
fn pack_files(folder: &Path, name: &str) -> [PathBuf; 2] {
    ["pack", "idx"].map(|end| folder.join(format!("{name}.{end}")))
}

/// Returns whether the file has no other hard link: then it takes space because of us.
#[cfg(unix)]
fn is_ours_alone(file: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(file) == 1
}

#[cfg(not(unix))]
fn is_ours_alone(_file: &Metadata) -> bool {
    true
}

/// The packs that are open, in the order of the table.
pub(crate) type OpenPacks = RefCell<Vec<Arc<Pack>>>;

/// A row of the table.
struct PackRow {
    name: String,
    borrowed: bool,
}

impl Store {
    pub(crate) fn packs_folder(&self) -> PathBuf {
        self.folder().join(PACKS_FOLDER)
    }

    fn pack_rows(&self) -> Result<Vec<PackRow>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT name, borrowed FROM pack ORDER BY name")?;
        let rows =
            query.query_map([], |row| Ok(PackRow { name: row.get(0)?, borrowed: row.get(1)? }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The packs as the table has them now. One that cannot be opened is left out: what is in it
    /// is missing, which `doctor` tells.
    fn packs(&self) -> Result<Vec<Arc<Pack>>, StoreError> {
        let mut open = self.open_packs.borrow_mut();
        let rows = self.pack_rows()?;
        if !rows.iter().map(|row| &row.name).eq(open.iter().map(|pack| &pack.name)) {
            let folder = self.packs_folder();
            let find = |row: PackRow| {
                let known = open.iter().find(|pack| pack.name == row.name).cloned();
                known.or_else(|| match Pack::open(&folder, &row.name) {
                    Ok(pack) => Some(Arc::new(pack)),
                    Err(error) => {
                        tracing::warn!(%error, "a pack cannot be opened");
                        None
                    }
                })
            };
            *open = rows.into_iter().filter_map(find).collect();
        }
        Ok(open.clone())
    }

    fn find_packed(&self, oid: &ObjectId) -> Result<Option<(Arc<Pack>, u32)>, StoreError> {
        let packs = self.packs()?;
        Ok(packs.into_iter().find_map(|pack| Some((pack.find(oid)?, pack))).map(|(at, p)| (p, at)))
    }

    /// Returns whether a pack has the object.
    pub(crate) fn is_packed(&self, oid: &ObjectId) -> Result<bool, StoreError> {
        Ok(self.find_packed(oid)?.is_some())
    }

    /// The bytes of a packed object; not verified. `None` if no pack has it.
    pub(crate) fn read_packed_unverified(
        &self,
        oid: &ObjectId,
    ) -> Result<Option<(ObjectKind, Vec<u8>)>, StoreError> {
        let Some((pack, at)) = self.find_packed(oid)? else { return Ok(None) };
        let damaged = |why| StoreError::Damaged { oid: *oid, why };
        pack.read(at).map(Some).map_err(damaged)
    }

    /// Kind and size of a packed object.
    pub(crate) fn packed_kind(
        &self,
        oid: &ObjectId,
    ) -> Result<Option<(ObjectKind, u64)>, StoreError> {
        let Some((pack, at)) = self.find_packed(oid)? else { return Ok(None) };
        let damaged = |why| StoreError::Damaged { oid: *oid, why };
        pack.header(at, &mut Inflate::default()).map(Some).map_err(damaged)
    }

    /// The bytes that packs take because of us.
    pub(crate) fn packs_size(&self) -> u64 {
        let entries = std::fs::read_dir(self.packs_folder()).into_iter().flatten().flatten();
        let sizes = entries.filter_map(|entry| entry.metadata().ok());
        sizes.filter(is_ours_alone).map(|data| data.len()).sum()
    }

    /// The packs that records count on and that cannot be opened, with the reason.
    pub(crate) fn broken_packs(&self) -> Result<Vec<(String, String)>, StoreError> {
        let folder = self.packs_folder();
        let broken = |row: PackRow| {
            let error = Pack::open(&folder, &row.name).err()?;
            Some((row.name, error.to_string()))
        };
        Ok(self.pack_rows()?.into_iter().filter_map(broken).collect())
    }

    /// The objects in our own packs.
    pub(crate) fn objects_in_own_packs(&self) -> Result<u64, StoreError> {
        let borrowed: Vec<_> =
            self.pack_rows()?.into_iter().filter(|row| row.borrowed).map(|row| row.name).collect();
        let own = self.packs()?.into_iter().filter(|pack| !borrowed.contains(&pack.name));
        Ok(own.map(|pack| u64::from(pack.objects())).sum())
    }
}
