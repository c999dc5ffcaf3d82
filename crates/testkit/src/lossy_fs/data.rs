//! The bytes of one file, in blocks that copies share.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a block, which a disk writes as a whole or not at all.
pub(super) const BLOCK_BYTES: u64 = 4096;

type DataBlock = [u8; BLOCK_BYTES as usize];

/// A file's bytes. A block that is not there is zeros; beyond the size there is none.
#[derive(Clone, Debug, Default)]
pub(super) struct FileData {
    size: u64,
    blocks: BTreeMap<u64, Arc<DataBlock>>,
}

impl FileData {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Number of allocated blocks.
    pub(super) fn allocated_blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    pub(super) fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let end = self.size.min(offset.saturating_add(length));
        let mut bytes = Vec::with_capacity(end.saturating_sub(offset) as usize);
        let mut at = offset;
        while at < end {
            let (block, from) = (at / BLOCK_BYTES, (at % BLOCK_BYTES) as usize);
            let until = (from as u64 + end - at).min(BLOCK_BYTES) as usize;
            match self.blocks.get(&block) {
                Some(block) => bytes.extend_from_slice(&block[from..until]),
                None => bytes.resize(bytes.len() + until - from, 0),
            }
            at += (until - from) as u64;
        }
        bytes
    }

    pub(super) fn write(&mut self, offset: u64, mut bytes: &[u8]) {
        let mut at = offset;
        while !bytes.is_empty() {
            let (block, from) = (at / BLOCK_BYTES, (at % BLOCK_BYTES) as usize);
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES as usize - from));
            self.block(block)[from..from + now.len()].copy_from_slice(now);
            at += now.len() as u64;
            bytes = later;
        }
        self.size = self.size.max(at);
    }

    fn block(&mut self, index: u64) -> &mut DataBlock {
        let empty = || Arc::new([0; BLOCK_BYTES as usize]);
        Arc::make_mut(self.blocks.entry(index).or_insert_with(empty))
    }

    pub(super) fn resize(&mut self, size: u64) {
        self.size = size;
        let (whole, rest) = (size / BLOCK_BYTES, (size % BLOCK_BYTES) as usize);
        self.blocks.split_off(&(whole + u64::from(rest > 0)));
        if rest > 0 && self.blocks.contains_key(&whole) {
            self.block(whole)[rest..].fill(0);
        }
    }

    /// Returns the old bytes with those blocks of the new ones for which `survives` is true, and
    /// perhaps the new size. A truncation is atomic: it is one operation of a file
    /// system, and SQLite relies on it when it empties its log.
    pub(super) fn partial(old: &Self, new: &Self, mut survives: impl FnMut() -> bool) -> Self {
        let mut mixed = old.clone();
        let is_resized = survives();
        if is_resized {
            mixed.blocks.retain(|index, _| new.blocks.contains_key(index));
        }
        for (index, block) in &new.blocks {
            if old.blocks.get(index) != Some(block) && survives() {
                mixed.blocks.insert(*index, block.clone());
            }
        }
        mixed.resize(if is_resized { new.size } else { old.size });
        mixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_holes_and_sizes() {
        let mut data = FileData::default();
        data.write(10_000, b"far");
        assert_eq!((data.size(), data.allocated_blocks()), (10_003, 1));
        assert_eq!(data.read(9_998, 100), b"\0\0far");
        data.write(4_094, b"over a border");
        assert_eq!(data.read(4_094, 13), b"over a border");
        data.resize(4_096);
        assert_eq!(data.read(4_094, 10), b"ov");
        data.resize(4_095);
        data.resize(5_000);
        assert_eq!(data.read(4_094, 4), b"o\0\0\0", "what was cut off does not come back");
        assert_eq!(data.read(6_000, 4), b"");
    }

    #[test]
    fn a_mixture_is_made_of_whole_blocks() {
        let (mut old, mut new) = (FileData::default(), FileData::default());
        old.write(0, &vec![1; 3 * BLOCK_BYTES as usize]);
        new.write(0, &vec![2; 5 * BLOCK_BYTES as usize]);
        let mut odd = false;
        let mixed = FileData::partial(&old, &new, || {
            odd = !odd;
            odd
        });
        let first = |block: u64| mixed.read(block * BLOCK_BYTES, 1)[0];
        assert_eq!((mixed.size(), [0, 1, 2, 3, 4].map(first)), (new.size(), [1, 2, 1, 2, 0]));
        // Cut off and written again: the end is there or not, as a whole.
        new.resize(0);
        new.write(0, &[3]);
        for (is_resized, size) in [(true, 1), (false, old.size())] {
            let mut asked = 0;
            let mixed = FileData::partial(&old, &new, || {
                asked += 1;
                asked > 1 || is_resized
            });
            assert_eq!((mixed.size(), mixed.read(0, 1)), (size, vec![3]));
            assert!(mixed.read(BLOCK_BYTES, 2 * BLOCK_BYTES).iter().all(|&byte| byte == 1));
        }
    }
}
