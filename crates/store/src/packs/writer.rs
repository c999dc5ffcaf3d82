//! Writes packs of our own, for bulk imports where a row for each object would take longer.
//!
//! Entries are made by several threads ([`encode_packed`]) and appended by one. Nothing is compared
//! with anything else (no deltas), so memory stays bounded by one content.
//!
//! Invariant: a pack gets its name only when its bytes and its index are synced, and counts only
//! with the row that the batch then writes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use retake_model::ObjectId;
use retake_seam::fs::StepWriter;

use super::pack_files;
use crate::objects::ObjectKind;
use crate::{Batch, Store, StoreError};

const PACK_HEADER: &[u8] = b"PACK\0\0\0\x02\0\0\0\0";
const INDEX_HEADER: &[u8] = b"\xfftOc\0\0\0\x02";
/// Offset of the object count in a pack.
const OBJECT_COUNT_OFFSET: u64 = 8;
/// First offset that does not fit into 31 bits.
const LARGE_OFFSET: u64 = 1 << 31;

/// An object ready to be appended to a pack.
#[derive(Debug)]
pub struct PackedObject {
    /// Its name.
    pub oid: ObjectId,
    bytes: Vec<u8>,
    crc: u32,
}

/// Compresses content for a pack under a name that is known to be its own.
pub fn encode_packed(kind: ObjectKind, oid: ObjectId, bytes: &[u8]) -> io::Result<PackedObject> {
    let header = entry_header(kind, bytes.len() as u64);
    let mut packed = ZlibEncoder::new(header, Compression::fast());
    packed.write_all(bytes)?;
    let bytes = packed.finish()?;
    let mut crc = Crc::new();
    crc.update(&bytes);
    Ok(PackedObject { oid, crc: crc.sum(), bytes })
}

/// A pack that is being written.
#[derive(Debug)]
pub struct PackWriter {
    folder: PathBuf,
    temp: String,
    file: BufWriter<StepWriter<File>>,
    length: u64,
    entries: Vec<PackIndexEntry>,
    names: HashSet<ObjectId>,
}

#[derive(Debug)]
struct PackIndexEntry {
    oid: ObjectId,
    crc: u32,
    offset: u64,
}

impl PackWriter {
    /// Begins a pack; until it is finished it is a temporary file.
    pub fn new(store: &Store) -> Result<Self, StoreError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = store.packs_folder();
        retake_seam::fs::create_private_dir_all(&folder)
            .map_err(StoreError::io("create", &folder))?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temp = format!("tmp-{}-{count}", std::process::id());
        let [pack, _] = pack_files(&folder, &temp);
        let file =
            retake_seam::fs::create_private(&pack).map_err(StoreError::io("create", &pack))?;
        let mut file = BufWriter::with_capacity(1 << 20, StepWriter(file));
        file.write_all(PACK_HEADER)?;
        let length = PACK_HEADER.len() as u64;
        Ok(Self { folder, temp, file, length, entries: Vec::new(), names: HashSet::new() })
    }

    /// Appends an object, unless it is there already.
    pub fn add(&mut self, object: &PackedObject) -> Result<(), StoreError> {
        if !self.names.insert(object.oid) {
            return Ok(());
        }
        self.entries.push(PackIndexEntry { oid: object.oid, crc: object.crc, offset: self.length });
        self.file.write_all(&object.bytes)?;
        self.length += object.bytes.len() as u64;
        Ok(())
    }

    /// Makes the pack durable and lets it count with the batch. One without objects is dropped.
    pub fn finish(mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let [pack, index] = pack_files(&self.folder, &self.temp);
        let sum = self.close().map_err(StoreError::io("write", &pack))?;
        self.write_index(&index, &sum).map_err(StoreError::io("write", &index))?;
        let name = format!("pack-{}", ObjectId::from_bytes(sum));
        for (from, to) in
            pack_files(&self.folder, &self.temp).iter().zip(pack_files(&self.folder, &name))
        {
            retake_seam::fs::rename(from, &to).map_err(StoreError::io("rename", from))?;
        }
        retake_seam::fs::sync_dir(&self.folder).map_err(StoreError::io("sync", &self.folder))?;
        batch.put_pack(&name, false)
    }

    /// Writes the number of objects and the checksum.
    fn close(&mut self) -> io::Result<[u8; 20]> {
        self.file.flush()?;
        let file = &mut self.file.get_mut().0;
        file.seek(SeekFrom::Start(OBJECT_COUNT_OFFSET))?;
        let count = u32::try_from(self.entries.len()).map_err(io::Error::other)?;
        retake_seam::fs::write_all(file, &count.to_be_bytes())?;
        file.seek(SeekFrom::Start(0))?;
        let sum = checksum(file)?;
        retake_seam::fs::write_all(file, &sum)?;
        retake_seam::fs::sync_file(file)?;
        Ok(sum)
    }

    fn write_index(&mut self, path: &Path, pack: &[u8; 20]) -> io::Result<()> {
        self.entries.sort_unstable_by_key(|entry| entry.oid);
        let mut bytes = INDEX_HEADER.to_vec();
        let mut at = 0;
        for first in 0..=u8::MAX {
            at += self.entries[at..].partition_point(|entry| entry.oid.as_bytes()[0] <= first);
            bytes.extend((at as u32).to_be_bytes());
        }
        for entry in &self.entries {
            bytes.extend(entry.oid.as_bytes());
        }
        for entry in &self.entries {
            bytes.extend(entry.crc.to_be_bytes());
        }
        let mut far = Vec::new();
        for PackIndexEntry { offset, .. } in &self.entries {
            let near = if *offset < LARGE_OFFSET {
                *offset
            } else {
                far.push(*offset);
                LARGE_OFFSET | (far.len() as u64 - 1)
            };
            bytes.extend((near as u32).to_be_bytes());
        }
        bytes.extend(far.into_iter().flat_map(u64::to_be_bytes));
        bytes.extend(pack);
        let sum = checksum(&mut bytes.as_slice())?;
        bytes.extend(sum);
        let file = retake_seam::fs::create_private(path)?;
        retake_seam::fs::write_all(&file, &bytes)?;
        retake_seam::fs::sync_file(&file)
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        // After the rename they are gone.
        for file in pack_files(&self.folder, &self.temp) {
            if file.exists() {
                let _ = retake_seam::fs::remove_file(&file);
            }
        }
    }
}

fn checksum(reader: &mut dyn Read) -> io::Result<[u8; 20]> {
    let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match reader.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    let sum = hasher.try_finalize().map_err(io::Error::other)?;
    sum.as_bytes().try_into().map_err(io::Error::other)
}

/// Kind and size: 4 bits of size, then 7 a byte, the lowest first.
pub(super) fn entry_header(kind: ObjectKind, size: u64) -> Vec<u8> {
    let code = match kind {
        ObjectKind::Commit => 1,
        ObjectKind::Tree => 2,
        ObjectKind::Blob => 3,
    };
    let mut byte = (code << 4) | (size & 0x0f) as u8;
    let mut rest = size >> 4;
    let mut header = Vec::new();
    while rest > 0 {
        header.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    header.push(byte);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_git_reads_them() {
        assert_eq!(entry_header(ObjectKind::Blob, 0), [0x30]);
        assert_eq!(entry_header(ObjectKind::Tree, 15), [0x2f]);
        assert_eq!(entry_header(ObjectKind::Blob, 16), [0xb0, 0x01]);
        assert_eq!(entry_header(ObjectKind::Commit, 0x0fff), [0x9f, 0xff, 0x01]);
    }
}
