//! File metadata: stat, identity of folders, and the racy timestamp.
//!
//! Two equal [`FileStat`]s mean "not touched in between", save for files written
//! within one tick of the file system's clock; callers detect those with
//! [`racy_stamp`].

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use retake_model::FileKind;
use rustix::fs::FileType;

/// The stat fields that tell whether a file was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileStat {
    /// Regular file or link.
    pub kind: StatKind,
    /// Permission bits (`0o7777`); of a link always `0o777`.
    pub mode: u32,
    /// Length in bytes; of a link the length of its target.
    pub size: u64,
    /// Time of the last change of the content, in ns since the epoch.
    pub mtime_ns: i64,
    /// Time of the last change of content or metadata, in ns since the epoch.
    pub ctime_ns: i64,
    /// The inode's number.
    pub inode: u64,
}

/// The kinds of files that a [`FileStat`] describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
}

impl FileStat {
    /// The kind as the model names it.
    pub fn file_kind(&self) -> FileKind {
        match self.kind {
            StatKind::File => FileKind::File,
            StatKind::Link => FileKind::Link,
        }
    }

    /// Returns `true` if content read between the two stats belongs to both (row 27).
    pub(crate) fn same_moment(&self, other: &Self) -> bool {
        (self.kind, self.size, self.mtime_ns, self.ctime_ns, self.inode)
            == (other.kind, other.size, other.mtime_ns, other.ctime_ns, other.inode)
    }
}

/// The kind of a folder entry, with its stat if it is a file or link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryStat {
    File(FileStat),
    Link(FileStat),
    Folder,
    /// FIFO, socket or device, with its name for people.
    Special(&'static str),
}

impl EntryStat {
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        let file_type = FileType::from_raw_mode(stat.st_mode);
        match file_type {
            FileType::RegularFile => Self::File(file_stat(stat, StatKind::File)),
            FileType::Symlink => Self::Link(file_stat(stat, StatKind::Link)),
            FileType::Directory => Self::Folder,
            other => Self::Special(special_name(other)),
        }
    }

    pub(crate) fn stat(self) -> Option<FileStat> {
        match self {
            Self::File(stat) | Self::Link(stat) => Some(stat),
            Self::Folder | Self::Special(_) => None,
        }
    }
}

pub(crate) fn special_name(file_type: FileType) -> &'static str {
    match file_type {
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        _ => "special file",
    }
}

// The C types behind these fields differ between systems; on some of them a
// conversion is none.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
fn file_stat(stat: &rustix::fs::Stat, kind: StatKind) -> FileStat {
    let mode = match kind {
        StatKind::File => stat.st_mode as u32 & 0o7777,
        StatKind::Link => 0o777,
    };
    FileStat {
        kind,
        mode,
        size: stat.st_size as u64,
        mtime_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        ctime_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
    }
}

/// Saturates instead of wrapping: a file may carry any date.
fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// The mtime of a file that is written now: the racy stamp.
///
/// It comes from the file system's own clock, never from `now()`: mtimes
/// earlier than a preceding `now()` were measured. `file` must lie on the same
/// file system as the project for the answer to mean anything.
pub fn racy_stamp(file: &Path, content: &[u8]) -> io::Result<i64> {
    let written = retake_seam::fs::write_unsynced(file, content)?;
    let metadata = written.metadata()?;
    Ok(nanoseconds(metadata.mtime(), metadata.mtime_nsec()))
}

/// Identity of a folder, to tell it from another one at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RootId {
    /// The file system's number; may change with a reboot.
    pub device: u64,
    /// The folder's inode number.
    pub inode: u64,
    /// When the folder was made, if the file system keeps that: inode numbers are reused.
    pub born_ns: Option<i64>,
}

/// The identity of the folder at `path`.
pub fn root_id(path: &Path) -> io::Result<RootId> {
    let metadata = std::fs::metadata(path)?;
    let born = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(RootId {
        device: metadata.dev(),
        inode: metadata.ino(),
        born_ns: born.and_then(|age| i64::try_from(age.as_nanos()).ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_what_a_file_written_next_cannot_undercut() {
        let temp = tempfile::tempdir().unwrap();
        let stamp = racy_stamp(&temp.path().join("stamp"), b"1").unwrap();
        let later = racy_stamp(&temp.path().join("later"), b"2").unwrap();
        assert!(later >= stamp);
        assert_eq!(std::fs::read(temp.path().join("stamp")).unwrap(), b"1");
    }

    #[test]
    fn a_folder_keeps_its_identity_and_another_has_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let id = root_id(temp.path()).unwrap();
        assert_eq!(id, root_id(temp.path()).unwrap());
        assert_ne!(id.inode, root_id(other.path()).unwrap().inode);
        assert!(root_id(&temp.path().join("none")).is_err());
    }

    #[test]
    fn absurd_dates_saturate() {
        assert_eq!(nanoseconds(i64::MAX, 1), i64::MAX);
        assert_eq!(nanoseconds(-1, 5), -999_999_995);
    }
}
