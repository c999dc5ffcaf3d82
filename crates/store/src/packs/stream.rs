//! Objects as a git pack, streamed to a program that makes its index.
//!
//! Nothing is compared with anything else (no deltas), so memory stays bounded
//! by one chunk whatever the objects' sizes.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use retake_model::ObjectId;

use super::writer::entry_header;
use crate::{Store, StoreError};

/// Writes a pack of these objects.
pub(crate) fn write_pack(
    store: &Store,
    objects: &[ObjectId],
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let count = u32::try_from(objects.len())
        .map_err(|_| StoreError::Row("too many objects for one pack".to_owned()))?;
    let mut pack = HashingWriter { out, hasher: gix_hash::hasher(gix_hash::Kind::Sha1) };
    pack.write_all(b"PACK\0\0\0\x02")?;
    pack.write_all(&count.to_be_bytes())?;
    for (done, oid) in objects.iter().enumerate() {
        let (kind, size) = store.object_kind(oid)?;
        pack.write_all(&entry_header(kind, size))?;
        let mut packed = ZlibEncoder::new(&mut pack, Compression::fast());
        store.read_into(oid, &mut packed)?;
        packed.finish()?;
        progress(done as u64 + 1, u64::from(count));
    }
    let HashingWriter { out, hasher } = pack;
    let sum = hasher.try_finalize().map_err(|error| StoreError::Collision(error.to_string()))?;
    out.write_all(sum.as_bytes())?;
    Ok(())
}

/// Hashes what passes through.
struct HashingWriter<'a> {
    out: &'a mut dyn Write,
    hasher: gix_hash::Hasher,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
