//! Opens files and folders beneath the root, and nowhere else.
//!
//! Invariant: no descriptor given out here was reached through a symbolic
//! link, a `..`, or a mount point, even if paths are swapped meanwhile
//! (promise 6, rows 38 and 41). Linux does it in one call (openat2); elsewhere,
//! and where a sandbox forbids openat2, each component is opened by itself
//! with `O_NOFOLLOW`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use retake_model::GapReason;
use rustix::fs::{AtFlags, Mode, OFlags, fstat, openat, statat};
use rustix::io::{Errno, retry_on_intr};

use crate::stat::EntryStat;

/// Maximum bytes of a path: the system takes no longer one in one call, so neither
/// the user's tools nor a restore could reach it (row 33).
#[cfg(target_os = "macos")]
pub(crate) const MAX_PATH_BYTES: usize = 1024;
/// Maximum bytes of a path: the system takes no longer one in one call, so neither
/// the user's tools nor a restore could reach it (row 33).
#[cfg(not(target_os = "macos"))]
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// The root's descriptor, from which everything is opened.
#[derive(Debug)]
pub(crate) struct SafeRoot {
    /// None if the folder is not there: then everything fails with `ENOENT`.
    root: Option<OwnedFd>,
    device: u64,
    /// Do as if the system had no openat2, so that tests reach the fallback.
    #[cfg(test)]
    #[allow(dead_code, reason = "where there is no openat2 there is no choice")]
    by_component: bool,
}

/// The purpose for which a folder is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderAccess {
    /// To read its names.
    List,
    /// To reach names in it; asks no permission to read the folder.
    Traverse,
}

/// An opened folder of the root's file system.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    pub(crate) fd: OwnedFd,
    pub(crate) id: FolderId,
}

/// A folder's identity, independent of its path: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FolderId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl FolderId {
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless)] // the C types differ between systems
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }
}

impl SafeRoot {
    pub(crate) fn open(root: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = retry_on_intr(|| rustix::fs::open(root, flags, Mode::empty()))?;
        let device = FolderId::of(&fstat(&root)?).device;
        Ok(Self {
            root: Some(root),
            device,
            #[cfg(test)]
            by_component: false,
        })
    }

    /// A root that is not there.
    pub(crate) fn absent() -> Self {
        Self {
            root: None,
            device: 0,
            #[cfg(test)]
            by_component: false,
        }
    }

    /// The same root, for another thread.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            root: self.root.as_ref().map(OwnedFd::try_clone).transpose()?,
            device: self.device,
            #[cfg(test)]
            by_component: self.by_component,
        })
    }

    /// Opens the folder at `path` (empty: the root); `EXDEV` if it is on another mount.
    pub(crate) fn open_folder(
        &self,
        path: &[u8],
        access: FolderAccess,
    ) -> Result<OpenFolder, Errno> {
        if path.len() >= MAX_PATH_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        let flags = folder_flags(access);
        let fd = if path.is_empty() {
            let root = self.root()?;
            retry_on_intr(|| openat(root, ".", flags, Mode::empty()))?
        } else {
            self.open_at(self.root()?, path, flags)?
        };
        let id = FolderId::of(&fstat(&fd)?);
        if id.device == self.device { Ok(OpenFolder { fd, id }) } else { Err(Errno::XDEV) }
    }

    /// Opens the folder that holds `path`, to reach `path` in it.
    pub(crate) fn open_parent(&self, path: &[u8]) -> Result<OpenFolder, Errno> {
        if path.len() >= MAX_PATH_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        self.open_folder(split_parent(path).0, FolderAccess::Traverse)
    }

    /// Opens a file in a folder for reading, without waiting for anything:
    /// a FIFO that was swapped in must not block.
    pub(crate) fn open_file(&self, folder: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        self.open_at(folder, name, flags)
    }

    /// Opens a file with `O_PATH`, which needs no permission to read it.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn open_path_only(
        &self,
        folder: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<OwnedFd, Errno> {
        self.open_at(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)
    }

    /// The root itself.
    pub(crate) fn root(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.root.as_ref().map(OwnedFd::as_fd).ok_or(Errno::NOENT)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn open_at(
        &self,
        folder: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        #[cfg(test)]
        if self.by_component {
            return open_by_component(folder, path, flags, self.device);
        }
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        // EAGAIN: a rename went on somewhere while the kernel resolved.
        for _ in 0..16 {
            match retry_on_intr(|| openat2(folder, path, flags, Mode::empty(), resolve)) {
                Err(Errno::AGAIN) => {}
                // No such call, or a sandbox (old container runtimes) forbids it.
                Err(Errno::NOSYS | Errno::PERM) => break,
                done => return done,
            }
        }
        open_by_component(folder, path, flags, self.device)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn open_at(
        &self,
        folder: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        open_by_component(folder, path, flags, self.device)
    }

    #[cfg(test)]
    pub(crate) fn without_openat2(mut self) -> Self {
        self.by_component = true;
        self
    }
}

fn open_by_component(
    folder: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    device: u64,
) -> Result<OwnedFd, Errno> {
    let (parents, name) = split_parent(path);
    let mut reached: Option<OwnedFd> = None;
    for part in parents.split(|&b| b == b'/').filter(|part| !part.is_empty()) {
        let from = reached.as_ref().map_or(folder, AsFd::as_fd);
        let flags = folder_flags(FolderAccess::Traverse);
        let next = retry_on_intr(|| openat(from, part, flags, Mode::empty()))?;
        if FolderId::of(&fstat(&next)?).device != device {
            return Err(Errno::XDEV);
        }
        reached = Some(next);
    }
    let from = reached.as_ref().map_or(folder, AsFd::as_fd);
    retry_on_intr(|| openat(from, name, flags | OFlags::NOFOLLOW, Mode::empty()))
}

fn folder_flags(access: FolderAccess) -> OFlags {
    let common = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if access == FolderAccess::Traverse {
        return common | OFlags::PATH;
    }
    let _ = access;
    common | OFlags::RDONLY
}

/// Stats `name` in `folder` without following a symlink.
pub(crate) fn stat_at(folder: BorrowedFd<'_>, name: &[u8]) -> Result<EntryStat, Errno> {
    stat_at_and_links(folder, name).map(|(entry, _)| entry)
}

/// Like [`stat_at`]; also returns whether it is a file with other hard links.
pub(crate) fn stat_at_and_links(
    folder: BorrowedFd<'_>,
    name: &[u8],
) -> Result<(EntryStat, bool), Errno> {
    let stat = retry_on_intr(|| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW))?;
    let entry = EntryStat::of(&stat);
    Ok((entry, matches!(entry, EntryStat::File(_)) && stat.st_nlink > 1))
}

/// The folder part (empty at the root) and the last name of a path.
pub(crate) fn split_parent(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&b| b == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

/// Maps an error to the gap that it leaves at a path: `None` says that the path
/// is surely not there (a link on the way counts: the path leads elsewhere now).
pub(crate) fn gap_reason(errno: Errno) -> Option<GapReason> {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => None,
        Errno::NAMETOOLONG => Some(GapReason::NameTooLong),
        Errno::XDEV => Some(GapReason::OtherMount),
        _ => Some(GapReason::Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_three_errors_say_that_a_path_is_gone() {
        for gone in [Errno::NOENT, Errno::NOTDIR, Errno::LOOP] {
            assert_eq!(gap_reason(gone), None);
        }
        assert_eq!(gap_reason(Errno::NAMETOOLONG), Some(GapReason::NameTooLong));
        assert_eq!(gap_reason(Errno::XDEV), Some(GapReason::OtherMount));
        for kept in [Errno::ACCESS, Errno::PERM, Errno::IO, Errno::MFILE, Errno::STALE] {
            assert_eq!(gap_reason(kept), Some(GapReason::Unreadable), "{kept:?}");
        }
    }

    #[test]
    fn both_ways_of_opening_refuse_links_and_dots() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        retake_seam::fs::create_private_dir_all(&at("a/b")).unwrap();
        symlink("a", at("inside")).unwrap();
        symlink("/", at("outside")).unwrap();
        symlink("b", at("a/link")).unwrap();

        let quick = SafeRoot::open(temp.path()).unwrap();
        let slow = SafeRoot::open(temp.path()).unwrap().without_openat2();
        for beneath in [quick, slow] {
            let opens = |path: &str, access| beneath.open_folder(path.as_bytes(), access).is_ok();
            for access in [FolderAccess::List, FolderAccess::Traverse] {
                for good in ["", "a", "a/b"] {
                    assert!(opens(good, access), "{good}");
                }
                for bad in ["inside", "inside/b", "outside", "outside/tmp", "a/link", "a/none"] {
                    assert!(!opens(bad, access), "{bad}");
                }
            }
            let too_long = "a/".repeat(MAX_PATH_BYTES / 2);
            let error = beneath.open_folder(too_long.as_bytes(), FolderAccess::List).unwrap_err();
            assert_eq!(error, Errno::NAMETOOLONG);
        }
    }
}
