//! Parent folders: created when missing, removed when emptied, synced once.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;

use retake_model::ProjectPath;
use retake_seam::at::{self, EntryAt};
use rustix::io::Errno;

use super::stage::MAX_SINGLE_SYNCS;
use super::{WriteError, WriteFault};
use crate::Workspace;
use crate::safe_open::{FolderAccess, OpenFolder};

impl Workspace {
    /// Removes the folders above `path` that are empty now, upwards from the
    /// innermost, and returns them. Whatever cannot be removed stays: a folder
    /// that still holds anything, a link, version control, own state, the root.
    pub fn remove_emptied(&self, path: &ProjectPath) -> Vec<ProjectPath> {
        let mut removed = Vec::new();
        let mut next = path.parent();
        while let Some(folder) = next {
            match self.remove_folder(&folder) {
                Ok(()) => removed.push(folder.clone()),
                // Another process removed it; its folder may still be empty.
                Err(WriteFault::Gone) => {}
                Err(_) => break,
            }
            next = folder.parent();
        }
        removed
    }

    /// Makes the names of these paths survive power loss: that they are there,
    /// or are not. Each folder is synced once; where a path's folder is gone,
    /// the one that it was in.
    ///
    /// Folders that [`Workspace::place_new`] made and [`Workspace::remove_emptied`]
    /// removed are names, too, and belong here.
    pub fn sync_folders<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p ProjectPath>,
    ) -> Result<(), WriteError> {
        const ACT: &str = "sync the folder of";
        let folders: BTreeMap<_, _> = paths.into_iter().map(|path| (path.parent(), path)).collect();
        if folders.len() > MAX_SINGLE_SYNCS
            && let Some(done) = self.sync_file_system()
        {
            let path = folders.into_values().next();
            return path.map_or(Ok(()), |path| {
                done.map_err(|error| WriteFault::from(error).at(path, ACT))
            });
        }
        let mut synced = Vec::new();
        for (folder, path) in folders {
            let sync = || -> Result<(), WriteFault> {
                match self.open_nearest_folder(folder) {
                    Ok(found) if synced.contains(&found.id) => Ok(()),
                    Ok(found) => {
                        synced.push(found.id);
                        Ok(at::sync(found.fd)?)
                    }
                    Err(errno) => self.sync_unreadable(errno),
                }
            };
            sync().map_err(|why| why.at(path, ACT))?;
        }
        Ok(())
    }

    fn open_nearest_folder(&self, mut folder: Option<ProjectPath>) -> Result<OpenFolder, Errno> {
        loop {
            let bytes = folder.as_ref().map_or(&[][..], ProjectPath::as_bytes);
            match self.safe_root.open_folder(bytes, FolderAccess::List) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if folder.is_some() => {
                    folder = folder.and_then(|folder| folder.parent());
                }
                done => return done,
            }
        }
    }

    /// A folder may be written without the right to list it, but not synced; so may a file's mode.
    pub(super) fn sync_unreadable(&self, errno: Errno) -> Result<(), WriteFault> {
        match self.sync_file_system() {
            Some(done) if errno == Errno::ACCESS => Ok(done?),
            _ => Err(errno.into()),
        }
    }

    /// Makes the folders on the way to `path` that are missing; all or none.
    pub(super) fn make_folders(&self, path: &ProjectPath) -> Result<Vec<ProjectPath>, WriteFault> {
        self.check_allowed(path)?;
        let way = self.deepest_folder(path)?;
        let above = |path: &ProjectPath| path.parent().filter(|up| Some(up) != way.path.as_ref());
        let mut missing: Vec<_> = std::iter::successors(above(path), above).collect();
        missing.reverse();

        let mut made = Vec::new();
        let mut inside = way.folder;
        for folder in missing {
            match self.make_folder(&inside, &folder) {
                Ok((opened, is_new)) => {
                    inside = opened;
                    made.extend(is_new.then_some(folder));
                }
                Err(why) => {
                    self.remove_made_folders(&made);
                    return Err(why);
                }
            }
        }
        Ok(made)
    }

    /// Makes one folder and opens it; says whether it was not there before.
    fn make_folder(
        &self,
        inside: &OpenFolder,
        folder: &ProjectPath,
    ) -> Result<(OpenFolder, bool), WriteFault> {
        let at = EntryAt { folder: inside.fd.as_fd(), name: folder.file_name() };
        let is_new = match at::make_folder(at).map_err(WriteFault::from) {
            Ok(()) => true,
            // Another process made it. It is opened like any other, so a link is refused.
            Err(WriteFault::Exists) => false,
            Err(why) => return Err(why),
        };
        let opened = self.safe_root.open_folder(folder.as_bytes(), FolderAccess::Traverse);
        match opened {
            Ok(opened) => Ok((opened, is_new)),
            Err(errno) => {
                if is_new {
                    self.remove_made_folders(std::slice::from_ref(folder));
                }
                Err(match errno {
                    Errno::NOTDIR | Errno::LOOP => WriteFault::LinkOnTheWay(folder.clone()),
                    errno => errno.into(),
                })
            }
        }
    }

    /// Removes folders that were just made, innermost first, if they are still empty.
    pub(super) fn remove_made_folders(&self, made: &[ProjectPath]) {
        for folder in made.iter().rev() {
            if self.remove_folder(folder).is_err() {
                break;
            }
        }
    }

    fn remove_folder(&self, folder: &ProjectPath) -> Result<(), WriteFault> {
        let target = self.open_target(folder, "remove").map_err(|error| error.why)?;
        Ok(at::remove_folder(target.at())?)
    }
}
