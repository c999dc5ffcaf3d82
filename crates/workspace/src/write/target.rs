//! The target of a write: its folder, opened again for every operation, or what blocks it.
//!
//! Invariant: every write of this crate starts from a [`WriteTarget`], and no `WriteTarget`
//! exists for a path that is off limits or lies behind a link or mount.

use std::os::fd::AsFd as _;

use retake_model::ProjectPath;
use retake_seam::at::EntryAt;
use rustix::io::Errno;

use super::name::is_temp_name;
use super::{WriteError, WriteFault};
use crate::Workspace;
use crate::folder::may_be_git;
use crate::safe_open::{FolderAccess, MAX_PATH_BYTES, OpenFolder, stat_at};
use crate::stat::{EntryStat, FileStat};

/// Maximum bytes of a name on any common file system.
const MAX_NAME_BYTES: usize = 255;

/// A path whose folder is open, and the operation on it, for error messages.
pub(super) struct WriteTarget<'p> {
    pub(super) folder: OpenFolder,
    pub(super) path: &'p ProjectPath,
    act: &'static str,
}

/// The deepest folder above a path that exists.
pub(super) struct DeepestFolder {
    pub(super) folder: OpenFolder,
    /// The folder's path; `None` is the root.
    pub(super) path: Option<ProjectPath>,
}

impl WriteTarget<'_> {
    pub(super) fn at(&self) -> EntryAt<'_> {
        EntryAt { folder: self.folder.fd.as_fd(), name: self.path.file_name() }
    }

    pub(super) fn error(&self, why: impl Into<WriteFault>) -> WriteError {
        why.into().at(self.path, self.act)
    }

    pub(super) fn stat(&self) -> Result<EntryStat, WriteError> {
        stat_at(self.folder.fd.as_fd(), self.path.file_name()).map_err(|errno| self.error(errno))
    }

    /// Returns the stat of the file or link here; fails for all that Retake may not move.
    pub(super) fn file_or_link(&self) -> Result<FileStat, WriteError> {
        require_movable(self.stat()?).map_err(|why| self.error(why))
    }
}

/// Folders and special files stay where they are.
pub(super) fn require_movable(entry: EntryStat) -> Result<FileStat, WriteFault> {
    match entry {
        EntryStat::File(stat) | EntryStat::Link(stat) => Ok(stat),
        EntryStat::Folder => Err(WriteFault::NotAFile("folder")),
        EntryStat::Special(what) => Err(WriteFault::NotAFile(what)),
    }
}

impl Workspace {
    /// Opens the folder of `path` to do `act` there.
    pub(super) fn open_target<'p>(
        &self,
        path: &'p ProjectPath,
        act: &'static str,
    ) -> Result<WriteTarget<'p>, WriteError> {
        let found = self.check_allowed(path).and_then(|()| self.open_folder_of(path));
        let folder = found.map_err(|why| why.at(path, act))?;
        Ok(WriteTarget { folder, path, act })
    }

    /// Like [`Self::open_target`] for a temp: nothing else may be staged, displaced to or removed.
    pub(super) fn open_temp_target<'p>(
        &self,
        temp: &'p ProjectPath,
        act: &'static str,
    ) -> Result<WriteTarget<'p>, WriteError> {
        if !is_temp_name(temp.file_name()) {
            return Err(WriteFault::NotATemp.at(temp, act));
        }
        self.open_target(temp, act)
    }

    fn open_folder_of(&self, path: &ProjectPath) -> Result<OpenFolder, WriteFault> {
        match self.safe_root.open_parent(path.as_bytes()) {
            Ok(folder) => Ok(folder),
            // The system does not say which part is missing, or is a link.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                self.deepest_folder(path).and(Err(WriteFault::Gone))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Checks that this path may be written at all, without looking at the file there.
    pub(super) fn check_allowed(&self, path: &ProjectPath) -> Result<(), WriteFault> {
        if path.components().any(may_be_git)
            || self.is_off_limits(path)
            || self.is_in_own_folder(path)
        {
            return Err(WriteFault::OffLimits);
        }
        let too_long = path.as_bytes().len() >= MAX_PATH_BYTES
            || path.components().any(|name| name.len() > MAX_NAME_BYTES);
        if too_long { Err(WriteFault::NameTooLong) } else { Ok(()) }
    }

    /// Returns `true` if a folder above is Retake's own state under another name
    /// than the known one (another case, where the file system ignores it).
    fn is_in_own_folder(&self, path: &ProjectPath) -> bool {
        let is_own = |path: &ProjectPath| {
            let opened = self.safe_root.open_folder(path.as_bytes(), FolderAccess::Traverse);
            opened.is_ok_and(|folder| self.is_own(folder.id))
        };
        self.has_own_folder()
            && std::iter::successors(Some(path.clone()), ProjectPath::parent)
                .any(|folder| is_own(&folder))
    }

    /// The deepest folder on the way to `path` that exists; an error if a link
    /// or file stands where the next folder should be.
    pub(super) fn deepest_folder(&self, path: &ProjectPath) -> Result<DeepestFolder, WriteFault> {
        let mut below = path.clone();
        loop {
            let folder = below.parent();
            let bytes = folder.as_ref().map_or(&[][..], ProjectPath::as_bytes);
            match (self.safe_root.open_folder(bytes, FolderAccess::Traverse), folder) {
                (Ok(opened), folder) => {
                    if below != *path {
                        check_no_obstacle(&opened, &below)?;
                    }
                    return Ok(DeepestFolder { folder: opened, path: folder });
                }
                (Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP), Some(up)) => below = up,
                (Err(errno), _) => return Err(errno.into()),
            }
        }
    }
}

fn check_no_obstacle(folder: &OpenFolder, below: &ProjectPath) -> Result<(), WriteFault> {
    match stat_at(folder.fd.as_fd(), below.file_name()) {
        // Made since we tried: no obstacle either.
        Err(Errno::NOENT) | Ok(EntryStat::Folder) => Ok(()),
        Ok(EntryStat::Link(_)) => Err(WriteFault::LinkOnTheWay(below.clone())),
        Ok(EntryStat::File(_) | EntryStat::Special(_)) => {
            Err(WriteFault::FileOnTheWay(below.clone()))
        }
        Err(errno) => Err(errno.into()),
    }
}
