//! Content-addressed objects under git ids: compressed, large files in chunks.
//!
//! An object is a row, or it is in a pack ([`crate::packs`]); the row comes first.
//! Encoding is pure, so several threads can do it; a [`crate::Batch`] inserts.
//! A chunk is itself a blob; a large file is a list of chunks, so a small edit
//! of a large file costs a chunk and not a copy.

use std::io::{self, BufReader, Read, Write};

use gix_object::Kind;
use retake_model::ObjectId;
use rusqlite::OptionalExtension as _;

use crate::compression::{zstd_compress, zstd_decompress};
use crate::{Store, StoreError};

/// Content above this size is split into chunks.
pub const CHUNK_THRESHOLD_BYTES: u64 = 256 * 1024;
/// Average chunk size. A small edit stores one chunk and the list of all: larger chunks cost more
/// for the first (at 64 KiB, an edit of a file of 1 MB took three times the space), smaller ones
/// for the second.
const CHUNK_AVERAGE_BYTES: usize = 16 * 1024;
const CHUNK_MIN_BYTES: usize = CHUNK_AVERAGE_BYTES / 4;
const CHUNK_MAX_BYTES: usize = CHUNK_AVERAGE_BYTES * 4;
/// Bytes of an entry in a chunk list: object id and length.
const CHUNK_LIST_ENTRY_BYTES: usize = 24;
/// Maximum uncompressed bytes of a row. A larger claim is damage: longer content is chunked.
const MAX_ROW_BYTES: u64 = 256 << 20;

/// The kinds of git objects that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Content of a file or the target of a link.
    Blob,
    /// A folder.
    Tree,
    /// A checkpoint.
    Commit,
}

impl ObjectKind {
    fn git(self) -> Kind {
        match self {
            Self::Blob => Kind::Blob,
            Self::Tree => Kind::Tree,
            Self::Commit => Kind::Commit,
        }
    }

    pub(crate) fn code(self) -> i64 {
        match self {
            Self::Blob => 1,
            Self::Tree => 2,
            Self::Commit => 3,
        }
    }

    fn from_code(code: i64) -> Result<Self, StoreError> {
        match code {
            1 => Ok(Self::Blob),
            2 => Ok(Self::Tree),
            3 => Ok(Self::Commit),
            _ => Err(StoreError::Row(format!("object kind {code}"))),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectEncoding {
    Raw,
    Zstd,
    Chunks,
}

impl ObjectEncoding {
    pub(crate) fn code(self) -> i64 {
        match self {
            Self::Raw => 0,
            Self::Zstd => 1,
            Self::Chunks => 2,
        }
    }

    fn from_code(code: i64) -> Result<Self, StoreError> {
        match code {
            0 => Ok(Self::Raw),
            1 => Ok(Self::Zstd),
            2 => Ok(Self::Chunks),
            _ => Err(StoreError::Row(format!("object encoding {code}"))),
        }
    }
}

/// An object ready to be inserted.
#[derive(Debug)]
pub struct EncodedObject {
    /// Its name.
    pub oid: ObjectId,
    pub(crate) kind: ObjectKind,
    pub(crate) encoding: ObjectEncoding,
    pub(crate) size: u64,
    pub(crate) data: Vec<u8>,
}

/// Names and compresses content that is in memory.
pub fn encode(kind: ObjectKind, bytes: &[u8]) -> Result<EncodedObject, StoreError> {
    let oid = hash_object(kind, bytes)?;
    let (encoding, data) = compress(bytes)?;
    Ok(EncodedObject { oid, kind, encoding, size: bytes.len() as u64, data })
}

fn compress(bytes: &[u8]) -> io::Result<(ObjectEncoding, Vec<u8>)> {
    let packed = zstd_compress(bytes)?;
    if packed.len() < bytes.len() {
        Ok((ObjectEncoding::Zstd, packed))
    } else {
        Ok((ObjectEncoding::Raw, bytes.to_vec()))
    }
}

/// Names a large blob of `size` bytes while handing its chunks, then itself, to `emit`.
///
/// Memory stays bounded by a chunk and the chunk list. Content of another
/// length than `size` is an error of kind `UnexpectedEof`: the file changed.
pub fn encode_stream(
    reader: &mut dyn Read,
    size: u64,
    emit: &mut dyn FnMut(EncodedObject) -> io::Result<()>,
) -> Result<ObjectId, StoreError> {
    let mut whole = hasher(ObjectKind::Blob, size);
    let mut list = Vec::new();
    let mut seen = 0;
    let mut previous: Option<(Vec<u8>, ObjectId)> = None;
    for chunk in fastcdc::v2020::StreamCDC::new(
        reader,
        CHUNK_MIN_BYTES,
        CHUNK_AVERAGE_BYTES,
        CHUNK_MAX_BYTES,
    ) {
        let data = chunk.map_err(io::Error::from)?.data;
        whole.update(&data);
        seen += data.len() as u64;
        // Runs of equal chunks (sparse files) are hashed and compressed once.
        let oid = match &previous {
            Some((bytes, oid)) if *bytes == data => *oid,
            _ => {
                let encoded = encode(ObjectKind::Blob, &data)?;
                let oid = encoded.oid;
                emit(encoded)?;
                oid
            }
        };
        list.extend_from_slice(oid.as_bytes());
        list.extend_from_slice(&(data.len() as u32).to_be_bytes());
        previous = Some((data, oid));
    }
    if seen != size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let oid = finish_hash(whole)?;
    // A single chunk is the content itself, under the same name: it needs no list.
    if list.len() <= CHUNK_LIST_ENTRY_BYTES {
        if list.is_empty() {
            emit(encode(ObjectKind::Blob, b"")?)?;
        }
        return Ok(oid);
    }
    let data = zstd_compress(&list)?;
    emit(EncodedObject {
        oid,
        kind: ObjectKind::Blob,
        encoding: ObjectEncoding::Chunks,
        size,
        data,
    })?;
    Ok(oid)
}

pub(crate) fn hasher(kind: ObjectKind, size: u64) -> gix_hash::Hasher {
    let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
    hasher.update(&gix_object::encode::loose_header(kind.git(), size));
    hasher
}

pub(crate) fn finish_hash(hasher: gix_hash::Hasher) -> Result<ObjectId, StoreError> {
    let oid = hasher.try_finalize().map_err(|error| StoreError::Collision(error.to_string()))?;
    ObjectId::try_from(oid.as_bytes()).map_err(|error| StoreError::Row(error.to_string()))
}

/// The name that content has as a blob: what `git hash-object` prints.
pub fn hash_blob(bytes: &[u8]) -> Result<ObjectId, StoreError> {
    hash_object(ObjectKind::Blob, bytes)
}

/// The name that content of this length has as a blob; of another length, an error of kind
/// `UnexpectedEof`.
pub fn hash_stream(reader: &mut dyn Read, size: u64) -> Result<ObjectId, StoreError> {
    let mut hasher = hasher(ObjectKind::Blob, size);
    let mut buffer = vec![0; 64 * 1024];
    let mut seen = 0;
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        seen += read as u64;
    }
    if seen != size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    finish_hash(hasher)
}

pub(crate) fn hash_object(kind: ObjectKind, bytes: &[u8]) -> Result<ObjectId, StoreError> {
    let mut hasher = hasher(kind, bytes.len() as u64);
    hasher.update(bytes);
    finish_hash(hasher)
}

/// A part of a content that is kept as an object of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredChunk {
    pub(crate) oid: ObjectId,
    pub(crate) length: u64,
}

struct ObjectRow {
    kind: ObjectKind,
    encoding: ObjectEncoding,
    size: u64,
    data: Vec<u8>,
}

impl Store {
    /// Returns whether the store has the object; its bytes are not verified.
    pub fn has(&self, oid: &ObjectId) -> Result<bool, StoreError> {
        Ok(self.has_row(oid)? || self.is_packed(oid)?)
    }

    pub(crate) fn has_row(&self, oid: &ObjectId) -> Result<bool, StoreError> {
        let mut query = self.db.prepare_cached("SELECT 1 FROM object WHERE oid = ?1")?;
        Ok(query.exists([oid.as_bytes().as_slice()])?)
    }

    /// The object's bytes, verified against its name.
    pub fn read(&self, oid: &ObjectId) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        self.read_into(oid, &mut bytes)?;
        Ok(bytes)
    }

    /// Like [`Store::read`], but `None` if the object is missing or damaged.
    ///
    /// For callers that only add detail to a record: damage of one old version must
    /// not keep anything new from being recorded.
    pub fn read_if_intact(&self, oid: &ObjectId) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(bytes) = self.object_cache.get(oid) {
            return Ok(Some(bytes));
        }
        match self.read(oid) {
            Ok(bytes) => {
                self.object_cache.insert(oid, &bytes);
                Ok(Some(bytes))
            }
            Err(StoreError::Missing(_) | StoreError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Streams the object's bytes into `out`; an error means that `out` got garbage.
    pub fn read_into(&self, oid: &ObjectId, out: &mut dyn Write) -> Result<u64, StoreError> {
        let Some(row) = self.object_row(oid)? else {
            let bytes = self.read_packed(oid)?.ok_or(StoreError::Missing(*oid))?;
            out.write_all(&bytes)?;
            return Ok(bytes.len() as u64);
        };
        let damaged = |why: String| StoreError::Damaged { oid: *oid, why };
        let mut hasher = hasher(row.kind, row.size);
        match row.encoding {
            ObjectEncoding::Chunks => {
                let mut left = row.size;
                for chunk in chunk_list(&row).map_err(|error| damaged(error.to_string()))? {
                    let bytes =
                        self.read_chunk(&chunk.oid).map_err(|error| damaged(error.to_string()))?;
                    left = left
                        .checked_sub(bytes.len() as u64)
                        .ok_or_else(|| damaged("its chunks are longer than it".to_owned()))?;
                    hasher.update(&bytes);
                    out.write_all(&bytes)?;
                }
            }
            ObjectEncoding::Raw | ObjectEncoding::Zstd => {
                let bytes = decode_row(&row).map_err(|error| damaged(error.to_string()))?;
                hasher.update(&bytes);
                out.write_all(&bytes)?;
            }
        }
        let found = finish_hash(hasher)?;
        if found == *oid { Ok(row.size) } else { Err(damaged(format!("its hash is {found}"))) }
    }

    /// A chunk is never chunked itself, whatever a damaged row claims.
    fn read_chunk(&self, oid: &ObjectId) -> Result<Vec<u8>, StoreError> {
        let Some(row) = self.object_row(oid)? else {
            return self.read_packed(oid)?.ok_or(StoreError::Missing(*oid));
        };
        let damaged = |why: String| StoreError::Damaged { oid: *oid, why };
        if row.encoding == ObjectEncoding::Chunks {
            return Err(damaged("a chunk in chunks".to_owned()));
        }
        let bytes = decode_row(&row).map_err(|error| damaged(error.to_string()))?;
        let found = hash_object(row.kind, &bytes)?;
        if found == *oid { Ok(bytes) } else { Err(damaged(format!("its hash is {found}"))) }
    }

    /// The chunks of a chunked object; empty for any other.
    pub(crate) fn chunks_of(&self, oid: &ObjectId) -> Result<Vec<ObjectId>, StoreError> {
        Ok(self.chunks_with_lengths(oid)?.into_iter().map(|chunk| chunk.oid).collect())
    }

    /// The same, each with its length.
    pub(crate) fn chunks_with_lengths(
        &self,
        oid: &ObjectId,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        match self.object_row(oid)? {
            Some(row) if row.encoding == ObjectEncoding::Chunks => chunk_list(&row)
                .map_err(|error| StoreError::Damaged { oid: *oid, why: error.to_string() }),
            Some(_) => Ok(Vec::new()),
            None if self.is_packed(oid)? => Ok(Vec::new()),
            None => Err(StoreError::Missing(*oid)),
        }
    }

    /// The verified bytes of an object in a pack; `None` if no pack has it.
    pub(crate) fn read_packed(&self, oid: &ObjectId) -> Result<Option<Vec<u8>>, StoreError> {
        let Some((kind, bytes)) = self.read_packed_unverified(oid)? else { return Ok(None) };
        let found = hash_object(kind, &bytes)?;
        let why = || format!("its hash is {found}");
        if found == *oid {
            Ok(Some(bytes))
        } else {
            Err(StoreError::Damaged { oid: *oid, why: why() })
        }
    }

    /// The kind and size of an object, without reading its bytes.
    pub(crate) fn object_kind(&self, oid: &ObjectId) -> Result<(ObjectKind, u64), StoreError> {
        let mut query = self.db.prepare_cached("SELECT kind, size FROM object WHERE oid = ?1")?;
        let row = query
            .query_row([oid.as_bytes().as_slice()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))
            .optional()?;
        match row {
            Some((kind, size)) => Ok((ObjectKind::from_code(kind)?, size as u64)),
            None => self.packed_kind(oid)?.ok_or(StoreError::Missing(*oid)),
        }
    }

    fn object_row(&self, oid: &ObjectId) -> Result<Option<ObjectRow>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT kind, encoding, size, data FROM object WHERE oid = ?1")?;
        let row = query
            .query_row([oid.as_bytes().as_slice()], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?, row.get(3)?))
            })
            .optional()?;
        let Some((kind, encoding, size, data)) = row else { return Ok(None) };
        Ok(Some(ObjectRow {
            kind: ObjectKind::from_code(kind)?,
            encoding: ObjectEncoding::from_code(encoding)?,
            size: size as u64,
            data,
        }))
    }
}

fn decode_row(row: &ObjectRow) -> io::Result<Vec<u8>> {
    match row.encoding {
        ObjectEncoding::Raw => Ok(row.data.clone()),
        _ if row.size > MAX_ROW_BYTES => Err(io::Error::other("its row claims to be too long")),
        _ => zstd_decompress(&row.data, row.size),
    }
}

/// Reads a row's chunk list while its lengths are valid: a damaged list is never unpacked whole.
fn chunk_list(row: &ObjectRow) -> io::Result<Vec<StoredChunk>> {
    let damaged = || io::Error::other("the chunk list is damaged");
    let mut unpacked = BufReader::new(zstd::stream::Decoder::new(row.data.as_slice())?);
    let (mut list, mut seen) = (Vec::new(), 0);
    let (mut oid, mut length) = ([0; 20], [0; CHUNK_LIST_ENTRY_BYTES - 20]);
    while seen < row.size {
        unpacked.read_exact(&mut oid)?;
        unpacked.read_exact(&mut length)?;
        let length = u64::from(u32::from_be_bytes(length));
        seen += length;
        // Only the last one may be short.
        if seen > row.size || (seen < row.size && length < CHUNK_MIN_BYTES as u64) {
            return Err(damaged());
        }
        list.push(StoredChunk { oid: ObjectId::from_bytes(oid), length });
    }
    if unpacked.read(&mut [0])? == 0 { Ok(list) } else { Err(damaged()) }
}
