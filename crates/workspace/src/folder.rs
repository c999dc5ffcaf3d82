//! The listing of one folder.
//!
//! All names are read before any rule is applied, because the folder's `.gitignore`
//! may come last.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::safe_open::{FolderAccess, FolderId, OpenFolder, SafeRoot, stat_at, stat_at_and_links};
use crate::stat::{EntryStat, special_name};

/// Buffer size for reading a folder (getdents); a name takes at most 280 bytes of it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LISTING_BUFFER_BYTES: usize = 32 * 1024;

/// A folder whose names were read.
pub(crate) struct FolderListing {
    fd: OwnedFd,
    pub(crate) id: FolderId,
    pub(crate) names: Vec<FolderEntry>,
    /// Why not all names could be read.
    pub(crate) error: Option<Errno>,
}

/// A name in a folder.
pub(crate) struct FolderEntry {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) kind: FolderEntryKind,
}

/// The kind of a folder entry, as far as the listing says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderEntryKind {
    /// File or link: both are asked for their stat.
    File {
        link: bool,
    },
    Folder,
    Special(&'static str),
}

impl FolderListing {
    /// Opens and lists the folder at `path` (empty: the root).
    pub(crate) fn read(beneath: &SafeRoot, path: &[u8]) -> Result<Self, Errno> {
        let OpenFolder { fd, id } = beneath.open_folder(path, FolderAccess::List)?;
        Ok(Self::list(fd, id))
    }

    /// Opens the folder at `path` and looks for these names only, without listing it.
    pub(crate) fn read_names(
        beneath: &SafeRoot,
        path: &[u8],
        names: &[Box<[u8]>],
    ) -> Result<Self, Errno> {
        let OpenFolder { fd, id } = beneath.open_folder(path, FolderAccess::List)?;
        let mut folder = Self { fd, id, names: Vec::new(), error: None };
        for name in names {
            folder.add(name.clone(), FileType::Unknown);
        }
        Ok(folder)
    }

    /// Lists a folder that was opened for it.
    pub(crate) fn list(fd: OwnedFd, id: FolderId) -> Self {
        let mut entries = Vec::new();
        let error =
            for_each_entry(fd.as_fd(), |name, file_type| entries.push((name.into(), file_type)));
        let (names, error) = (Vec::with_capacity(entries.len()), error.err());
        let mut folder = Self { fd, id, names, error };
        for (bytes, file_type) in entries {
            folder.add(bytes, file_type);
        }
        folder
    }

    fn add(&mut self, bytes: Box<[u8]>, file_type: FileType) {
        if matches!(&*bytes, b"." | b"..") {
            return;
        }
        let kind = match file_type {
            FileType::RegularFile => FolderEntryKind::File { link: false },
            FileType::Symlink => FolderEntryKind::File { link: true },
            FileType::Directory => FolderEntryKind::Folder,
            // Some file systems report no type, and names that were not listed have none: stat.
            FileType::Unknown => match self.stat_name(&bytes) {
                Ok(EntryStat::Link(_)) => FolderEntryKind::File { link: true },
                Ok(EntryStat::Folder) => FolderEntryKind::Folder,
                Ok(EntryStat::Special(name)) => FolderEntryKind::Special(name),
                Err(Errno::NOENT) => return,
                // Treated as a file: its stat fails again later and is reported there.
                Ok(EntryStat::File(_)) | Err(_) => FolderEntryKind::File { link: false },
            },
            other => FolderEntryKind::Special(special_name(other)),
        };
        self.names.push(FolderEntry { bytes, kind });
    }

    /// Stats `name` now, without following a symlink.
    pub(crate) fn stat_name(&self, name: &[u8]) -> Result<EntryStat, Errno> {
        stat_at(self.fd(), name)
    }

    /// Like [`Self::stat_name`]; also returns whether it is a file with other hard links.
    pub(crate) fn stat_name_and_links(&self, name: &[u8]) -> Result<(EntryStat, bool), Errno> {
        stat_at_and_links(self.fd(), name)
    }

    /// The folder's descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns `true` if the folder holds a regular file of this name (symlinks do not count).
    pub(crate) fn has_file(&self, name: &[u8]) -> bool {
        self.names
            .iter()
            .any(|n| n.kind == FolderEntryKind::File { link: false } && &*n.bytes == name)
    }

    /// Returns `true` if the folder holds any entry of this name.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.names.iter().any(|n| &*n.bytes == name)
    }
}

/// Calls `visit` for each name in a folder, borrowed from the read buffer.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn for_each_entry(
    folder: BorrowedFd<'_>,
    mut visit: impl FnMut(&[u8], FileType),
) -> Result<(), Errno> {
    let mut buffer = Vec::with_capacity(LISTING_BUFFER_BYTES);
    let mut entries = rustix::fs::RawDir::new(folder, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        visit(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn for_each_entry(
    folder: BorrowedFd<'_>,
    mut visit: impl FnMut(&[u8], FileType),
) -> Result<(), Errno> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        visit(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

/// Returns `true` for the data of a version control system, which is never touched (promise 4).
///
/// Case-insensitive, as in git: where a file system ignores case, `.GIT` is the repository, too.
pub(crate) fn is_version_control(name: &[u8]) -> bool {
    let names: [&[u8]; 3] = [b".git", b".hg", b".svn"];
    name.first() == Some(&b'.') && names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Returns `true` if some file system takes this name for `.git`. NTFS and FAT know it as `git~1`,
/// and strip dots, blanks and stream names; HFS+ strips invisible characters. The list is git's.
pub(crate) fn may_be_git(name: &[u8]) -> bool {
    is_version_control(name) || is_git_on_ntfs(name) || is_git_on_hfs(name)
}

fn is_git_on_ntfs(name: &[u8]) -> bool {
    let starts: [&[u8]; 2] = [b".git", b"git~1"];
    let rest = starts.iter().find_map(|start| {
        let (head, rest) = name.split_at_checked(start.len())?;
        head.eq_ignore_ascii_case(start).then_some(rest)
    });
    rest.is_some_and(|rest| {
        let end = rest.iter().find(|byte| !matches!(byte, b' ' | b'.'));
        matches!(end, None | Some(b':' | b'\\'))
    })
}

fn is_git_on_hfs(name: &[u8]) -> bool {
    let is_unseen = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    std::str::from_utf8(name).is_ok_and(|text| {
        let seen: String = text.chars().filter(|c| !is_unseen(c)).collect();
        seen.eq_ignore_ascii_case(".git")
    })
}

/// Returns `true` if some component of the path is a version control folder.
pub(crate) fn in_version_control(path: &[u8]) -> bool {
    path.split(|&b| b == b'/').any(is_version_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_some_system_takes_for_git_is_known() {
        let yes = [
            ".git",
            ".GIT",
            ".gIt",
            ".hg",
            ".SVN",
            "git~1",
            "GIT~1",
            ".git ",
            ".git. .",
            ".git:x",
            ".git::$INDEX_ALLOCATION",
            ".git\\x",
            "git~1.",
            "\u{200c}.g\u{202e}it\u{feff}",
        ];
        for name in yes {
            assert!(may_be_git(name.as_bytes()), "{name:?}");
        }
        let no =
            ["", ".", "...", "git", "git~", "git~2", "git~12", ".gitignore", ".git-x", ".github"];
        for name in no {
            assert!(!may_be_git(name.as_bytes()), "{name:?}");
        }
    }
}
