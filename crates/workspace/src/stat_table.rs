//! A table of paths and stats in one buffer: the on-disk format of the stat cache.
//!
//! The walk queries folder by folder and then name by name, so that is the order: folders by path,
//! names by their bytes. Rows are decoded on access only.
//!
//! Invariant: [`StatTable::from_bytes`] has checked every offset, so no query can leave the table.
//! That the bytes are those that were written is for the reader of the file to check.

use std::ops::Range;

use crate::{FileStat, StatKind};

/// Magic number and layout version: a buffer that begins otherwise is rejected.
const MAGIC: &[u8; 8] = b"rtstat01";
const HEADER_BYTES: usize = MAGIC.len() + 3 * 4;
/// Bytes of a folder row: offset of the path in the text, its length, index of its first name.
const FOLDER_ROW_BYTES: usize = 3 * 4;
/// Bytes of a name row: offset in the text, length, kind and mode, size, both times, inode.
const NAME_ROW_BYTES: usize = 4 + 2 + 2 + 4 * 8;

/// Paths with the stats under which they were read.
#[derive(Debug)]
pub(crate) struct StatTable {
    bytes: Vec<u8>,
    folders: usize,
    names: usize,
}

/// Folder (empty: the root), name in it, and its cached stat.
pub(crate) type StatTableRow<'a> = (&'a [u8], &'a [u8], Option<FileStat>);

impl StatTable {
    /// Encodes rows that are sorted by folder and name, without duplicates.
    pub(crate) fn build(rows: &[StatTableRow<'_>]) -> Self {
        let folders = rows.chunk_by(|a, b| a.0 == b.0);
        let mut text = Vec::new();
        let mut head =
            Vec::with_capacity(HEADER_BYTES + rows.len() * (NAME_ROW_BYTES + FOLDER_ROW_BYTES));
        let mut table = Vec::with_capacity(rows.len() * NAME_ROW_BYTES);
        let (mut count, mut first) = (0, 0);
        for folder in folders {
            let path = folder[0].0;
            for number in [text.len(), path.len(), first] {
                head.extend_from_slice(&encode_u32(number));
            }
            text.extend_from_slice(path);
            for (_, name, stat) in folder {
                push_name(&mut table, text.len(), name, stat.as_ref());
                text.extend_from_slice(name);
            }
            first += folder.len();
            count += 1;
        }
        let counts = [count, rows.len(), text.len()].map(encode_u32).concat();
        let bytes = [MAGIC.as_slice(), &counts, &head, &table, &text].concat();
        Self { bytes, folders: count, names: rows.len() }
    }

    /// Decodes a stored table; `None` if it is damaged or of another layout version.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let counts = bytes.strip_prefix(MAGIC)?.get(..3 * 4)?;
        let [folders, names, text] = [0, 4, 8].map(|at| read_u32(counts, at));
        let length = HEADER_BYTES as u64
            + FOLDER_ROW_BYTES as u64 * folders as u64
            + NAME_ROW_BYTES as u64 * names as u64
            + text as u64;
        let flat = Self { bytes, folders, names };
        (flat.bytes.len() as u64 == length && flat.offsets_in_bounds(text)).then_some(flat)
    }

    fn offsets_in_bounds(&self, text: usize) -> bool {
        let inside =
            |at: usize, length: usize| at.checked_add(length).is_some_and(|end| end <= text);
        let mut first = 0;
        for folder in 0..self.folders {
            let row = self.folder_row(folder);
            let next = read_u32(row, 8);
            if !inside(read_u32(row, 0), read_u32(row, 4)) || next < first || next > self.names {
                return false;
            }
            first = next;
        }
        (0..self.names).all(|name| {
            let row = self.name_row(name);
            inside(read_u32(row, 0), read_u16(row, 4).into())
        })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the index of the folder with this path, if it has cached names.
    pub(crate) fn find_folder(&self, path: &[u8]) -> Option<usize> {
        let at = partition_point(0..self.folders, |folder| self.folder(folder) < path);
        (at < self.folders && self.folder(at) == path).then_some(at)
    }

    pub(crate) fn folders(&self) -> Range<usize> {
        0..self.folders
    }

    pub(crate) fn folder(&self, folder: usize) -> &[u8] {
        let row = self.folder_row(folder);
        self.text(read_u32(row, 0), read_u32(row, 4))
    }

    /// The names in a folder.
    pub(crate) fn names(&self, folder: usize) -> Range<usize> {
        let first = |folder: usize| read_u32(self.folder_row(folder), 8);
        let end = if folder + 1 < self.folders { first(folder + 1) } else { self.names };
        first(folder)..end
    }

    pub(crate) fn name(&self, name: usize) -> &[u8] {
        let row = self.name_row(name);
        self.text(read_u32(row, 0), read_u16(row, 4).into())
    }

    pub(crate) fn find_name(&self, names: &Range<usize>, name: &[u8]) -> Option<usize> {
        let at = partition_point(names.clone(), |at| self.name(at) < name);
        (at < names.end && self.name(at) == name).then_some(at)
    }

    pub(crate) fn stat(&self, name: usize) -> Option<FileStat> {
        let row = self.name_row(name);
        let kind_and_mode = read_u16(row, 6);
        let kind = match kind_and_mode >> 12 {
            1 => StatKind::File,
            2 => StatKind::Link,
            _ => return None,
        };
        Some(FileStat {
            kind,
            mode: u32::from(kind_and_mode & 0o7777),
            size: read_u64(row, 8),
            mtime_ns: read_u64(row, 16).cast_signed(),
            ctime_ns: read_u64(row, 24).cast_signed(),
            inode: read_u64(row, 32),
        })
    }

    fn folder_row(&self, folder: usize) -> &[u8] {
        let at = HEADER_BYTES + folder * FOLDER_ROW_BYTES;
        &self.bytes[at..at + FOLDER_ROW_BYTES]
    }

    fn name_row(&self, name: usize) -> &[u8] {
        let at = HEADER_BYTES + self.folders * FOLDER_ROW_BYTES + name * NAME_ROW_BYTES;
        &self.bytes[at..at + NAME_ROW_BYTES]
    }

    fn text(&self, at: usize, length: usize) -> &[u8] {
        let at = HEADER_BYTES + self.folders * FOLDER_ROW_BYTES + self.names * NAME_ROW_BYTES + at;
        &self.bytes[at..at + length]
    }
}

fn push_name(table: &mut Vec<u8>, at: usize, name: &[u8], stat: Option<&FileStat>) {
    let length = u16::try_from(name.len()).expect("a name is shorter than a path may be");
    let kind = stat.map_or(0, |stat| match stat.kind {
        StatKind::File => 1,
        StatKind::Link => 2,
    });
    let mode = stat.map_or(0, |stat| stat.mode as u16 & 0o7777);
    table.extend_from_slice(&encode_u32(at));
    table.extend_from_slice(&length.to_le_bytes());
    table.extend_from_slice(&(kind << 12 | mode).to_le_bytes());
    let numbers = stat.map_or([0; 4], |stat| {
        [stat.size, stat.mtime_ns.cast_unsigned(), stat.ctime_ns.cast_unsigned(), stat.inode]
    });
    for number in numbers {
        table.extend_from_slice(&number.to_le_bytes());
    }
}

/// Binary search: the first index for which `is_before` is false.
fn partition_point(mut among: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    while !among.is_empty() {
        let middle = among.start + among.len() / 2;
        if is_before(middle) {
            among.start = middle + 1;
        } else {
            among.end = middle;
        }
    }
    among.start
}

fn encode_u32(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("the names of a project fit into 4 GiB").to_le_bytes()
}

fn read_u32(row: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes_at(row, at)) as usize
}

fn read_u16(row: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(row, at))
}

fn read_u64(row: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(row, at))
}

fn bytes_at<const N: usize>(row: &[u8], at: usize) -> [u8; N] {
    *row[at..].first_chunk().expect("a row is as long as it was checked to be")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(kind: StatKind, n: u64) -> FileStat {
        let (mtime_ns, ctime_ns) = (-(n as i64), i64::MAX - n as i64);
        FileStat { kind, mode: 0o4755, size: n, mtime_ns, ctime_ns, inode: u64::MAX - n }
    }

    fn rows() -> [StatTableRow<'static>; 4] {
        let (file, link) = (stat(StatKind::File, 1), stat(StatKind::Link, 2));
        [(b"", b"a", Some(file)), (b"", b"b", None), (b"d", b"a", Some(link)), (b"d/e", b"z", None)]
    }

    #[test]
    fn what_goes_in_is_found_again() {
        let built = StatTable::build(&rows());
        let flat = StatTable::from_bytes(built.bytes().to_vec()).unwrap();
        assert_eq!(flat.folders(), 0..3);
        for (folder, name, stat) in rows() {
            let names = flat.names(flat.find_folder(folder).unwrap());
            let found = flat.find_name(&names, name).unwrap();
            assert_eq!((flat.name(found), flat.stat(found)), (name, stat));
            assert_eq!(flat.find_name(&names, b"c"), None);
        }
        for none in [&b"c"[..], b"d/", b"e"] {
            assert_eq!(flat.find_folder(none), None);
        }
        assert_eq!(StatTable::build(&[]).folders(), 0..0);
    }

    #[test]
    fn no_bytes_lead_out_of_the_table() {
        let good = StatTable::build(&rows()).bytes().to_vec();
        for cut in 0..good.len() {
            assert!(StatTable::from_bytes(good[..cut].to_vec()).is_none());
        }
        for at in 0..good.len() {
            for flip in [0xff, 0x80, 0x01] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                let Some(flat) = StatTable::from_bytes(bytes) else { continue };
                for folder in flat.folders() {
                    let _ = flat.find_folder(flat.folder(folder));
                    for name in flat.names(folder) {
                        let _ = (flat.name(name), flat.stat(name));
                    }
                }
            }
        }
    }
}
