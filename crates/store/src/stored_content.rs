//! A content that is read in pieces, so that memory is bounded by a piece and not by the content.
//!
//! Invariants: each piece is verified by its own id, and the pieces are as long as the content.
//! A reader that reads all of them verifies the whole with [`ContentCheck`], since a damaged list of
//! chunks can name sound chunks of another content.

use std::ops::Range;

use retake_model::{ObjectId, ProjectPath};

use crate::manifest::path_from;
use crate::objects::{ObjectKind, StoredChunk, finish_hash, hasher};
use crate::{Store, StoreError};

/// A blob in the store, and the pieces that it is kept in.
#[derive(Clone, Debug)]
pub struct StoredContent {
    oid: ObjectId,
    size: u64,
    pieces: Vec<StoredChunk>,
}

impl StoredContent {
    /// The content's id.
    pub fn oid(&self) -> &ObjectId {
        &self.oid
    }

    /// The content's length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of its pieces.
    pub fn piece_count(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the bytes of its largest piece: what reading it takes in memory.
    pub fn largest_piece(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.length).max().unwrap_or(0)
    }

    /// Returns the number of the piece that holds the byte at `offset`, and where it begins.
    pub fn piece_at(&self, offset: u64) -> Option<PiecePlace> {
        let mut start = 0;
        for (number, piece) in self.pieces.iter().enumerate() {
            if offset < start + piece.length {
                return Some(PiecePlace { number, start });
            }
            start += piece.length;
        }
        None
    }

    /// Begins to verify the content as a whole.
    pub fn check(&self) -> ContentCheck {
        ContentCheck { oid: self.oid, hasher: hasher(ObjectKind::Blob, self.size) }
    }
}

/// Where a piece lies in its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiecePlace {
    /// Its number, from 0.
    pub number: usize,
    /// The offset of its first byte.
    pub start: u64,
}

/// Verifies a content whose pieces are read one after the other.
pub struct ContentCheck {
    oid: ObjectId,
    hasher: gix_hash::Hasher,
}

impl std::fmt::Debug for ContentCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ContentCheck").field(&self.oid).finish()
    }
}

impl ContentCheck {
    /// Adds the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// Fails if the pieces were not the content.
    pub fn finish(self) -> Result<(), StoreError> {
        let found = finish_hash(self.hasher)?;
        if found == self.oid {
            return Ok(());
        }
        Err(StoreError::Damaged { oid: self.oid, why: format!("its hash is {found}") })
    }
}

impl Store {
    /// Finds a content; what is there but no blob is missing. Nothing of it is read yet.
    pub fn stored_content(&self, oid: &ObjectId) -> Result<StoredContent, StoreError> {
        let (kind, size) = self.object_kind(oid)?;
        if kind != ObjectKind::Blob {
            return Err(StoreError::Missing(*oid));
        }
        let chunks = self.chunks_with_lengths(oid)?;
        let pieces =
            if chunks.is_empty() { vec![StoredChunk { oid: *oid, length: size }] } else { chunks };
        for piece in pieces.iter().filter(|piece| piece.oid != *oid) {
            if !self.has(&piece.oid)? {
                return Err(StoreError::Missing(*oid));
            }
        }
        Ok(StoredContent { oid: *oid, size, pieces })
    }

    /// Reads one piece of a content, verified by its own id; past the last one there is none.
    pub fn read_piece(
        &self,
        content: &StoredContent,
        number: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(piece) = content.pieces.get(number) else { return Ok(None) };
        let bytes = self.read(&piece.oid)?;
        if bytes.len() as u64 == piece.length {
            return Ok(Some(bytes));
        }
        let why = "a piece has another length than its list says".to_owned();
        Err(StoreError::Damaged { oid: content.oid, why })
    }

    /// Reads a part of a content; the range lies in it.
    pub fn read_content_range(
        &self,
        content: &StoredContent,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        let mut place = content.piece_at(range.start);
        while let Some(PiecePlace { number, start }) = place.filter(|place| place.start < range.end)
        {
            let Some(piece) = self.read_piece(content, number)? else { break };
            let end = start + piece.len() as u64;
            let from = range.start.saturating_sub(start).min(piece.len() as u64) as usize;
            let to = range.end.min(end).saturating_sub(start) as usize;
            bytes.extend_from_slice(&piece[from..to]);
            place = (number + 1 < content.pieces.len())
                .then_some(PiecePlace { number: number + 1, start: end });
        }
        Ok(bytes)
    }

    /// Returns the paths that have, or had, this content on record.
    pub fn names_of_content(&self, oid: &ObjectId) -> Result<Vec<ProjectPath>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT path FROM manifest WHERE oid = ?1
             UNION SELECT path FROM change WHERE after_oid = ?1
             UNION SELECT coalesce(old_path, path) FROM change WHERE before_oid = ?1",
        )?;
        let rows = query.query_map([oid.as_bytes().as_slice()], |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|path| path_from(path?)).collect()
    }

    /// Returns the length of a content; `None` if the store does not have it.
    pub fn content_size(&self, oid: &ObjectId) -> Result<Option<u64>, StoreError> {
        match self.object_kind(oid) {
            Ok((_, size)) => Ok(Some(size)),
            Err(StoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{CHUNK_THRESHOLD_BYTES, encode, encode_stream};
    use crate::{FileLock, StoreAccess};

    #[test]
    fn a_content_in_chunks_is_read_in_parts_and_verified() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let _lock = FileLock::acquire(folder.path(), std::time::Duration::ZERO).unwrap();
        let text: Vec<u8> =
            (0..CHUNK_THRESHOLD_BYTES / 4).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let batch = store.batch().unwrap();
        let size = text.len() as u64;
        let oid = encode_stream(&mut text.as_slice(), size, &mut |object| {
            batch.put_object(&object).map_err(std::io::Error::other)?;
            Ok(())
        })
        .unwrap();
        let small = encode(ObjectKind::Blob, b"small").unwrap();
        batch.put_object(&small).unwrap();
        batch.commit().unwrap();

        let content = store.stored_content(&oid).unwrap();
        assert!(content.piece_count() > 4 && content.largest_piece() < size / 2);
        let (mut check, mut whole) = (content.check(), Vec::new());
        for number in 0..content.piece_count() {
            let piece = store.read_piece(&content, number).unwrap().unwrap();
            check.update(&piece);
            whole.extend(piece);
        }
        check.finish().unwrap();
        assert!(whole == text);
        for range in [0..1, 0..size, size - 1..size, 70_000..200_001, 5..5] {
            let part = store.read_content_range(&content, range.clone()).unwrap();
            assert!(part == text[range.start as usize..range.end as usize], "{range:?}");
        }
        let mut check = content.check();
        check.update(&text[1..]);
        assert!(matches!(check.finish(), Err(StoreError::Damaged { .. })));
        let small = store.stored_content(&small.oid).unwrap();
        assert_eq!((small.piece_count(), small.size()), (1, 5));
        assert_eq!(store.read_content_range(&small, 1..3).unwrap(), b"ma");
    }
}
