//! Replaces, creates and removes files: contents move between a path and a temp.
//!
//! Where the file system has no exchange, and no rename that refuses to
//! replace (NFS, many FUSE ones), the same is done in several moves. Then,
//! too, an unguarded call may overwrite or unlink a temp's name only,
//! never a path: a concurrent write of another process there must not be
//! lost. The price is that a path is absent between two moves; a kill there
//! leaves its file under the spare's name, and
//! [`Workspace::finish_exchange`] repairs it.

use std::io;
use std::os::fd::AsFd as _;

use retake_model::ProjectPath;
use retake_seam::at::{self, EntryAt};
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::name::{spare_name, spare_of};
use super::target::{WriteTarget, require_movable};
use super::{WriteError, WriteFault};
use crate::Workspace;

/// Features that a file system pretends to lack, so that tests reach the fallbacks.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct MissingFeatures {
    pub(crate) exchange: bool,
    pub(crate) rename_new: bool,
    pub(crate) link: bool,
}

impl Workspace {
    /// Swaps the file or link at `path` with the one at `temp`, which holds
    /// afterwards what was displaced; called again, it swaps back.
    ///
    /// If this fails half-way on a file system that cannot exchange,
    /// [`Workspace::finish_exchange`] finds the displaced file.
    pub fn exchange(&self, temp: &ProjectPath, path: &ProjectPath) -> Result<(), WriteError> {
        const ACT: &str = "replace";
        let from = self.open_temp_target(temp, ACT)?;
        let to = self.open_target(path, ACT)?;
        from.file_or_link()?;
        to.file_or_link()?;
        self.swap(&from, &to)?;
        // A folder may have come there since we looked.
        match require_movable(from.stat()?) {
            Ok(_) => Ok(()),
            Err(why) => self.swap(&from, &to).and(Err(to.error(why))),
        }
    }

    /// Finishes or takes back an exchange that was interrupted or failed; to
    /// be called before anything is concluded from what `temp` holds.
    ///
    /// Afterwards `temp` holds either the new content (not exchanged) or the
    /// displaced one (exchanged). If another process wrote to `path` meanwhile,
    /// neither is possible: the path returned then holds the displaced file, which
    /// has to be stored before it is removed with [`Workspace::remove_temp`].
    pub fn finish_exchange(
        &self,
        temp: &ProjectPath,
        path: &ProjectPath,
    ) -> Result<Option<ProjectPath>, WriteError> {
        const ACT: &str = "finish replacing";
        let from = match self.open_temp_target(temp, ACT) {
            Err(error) if matches!(error.why, WriteFault::Gone) => return Ok(None),
            from => from?,
        };
        let spare_path = spare_of(temp).ok_or_else(|| from.error(WriteFault::NotATemp))?;
        let spare = EntryAt { name: spare_path.file_name(), ..from.at() };
        if inode_at(spare).map_err(|errno| from.error(errno))?.is_none() {
            return Ok(None);
        }
        let Ok(to) = self.open_target(path, ACT) else {
            return Ok(Some(spare_path));
        };
        let staged = inode_at(from.at()).map_err(|errno| from.error(errno))?;
        let placed = inode_at(to.at()).map_err(|errno| to.error(errno))?;
        let settled = match (staged, placed) {
            // Only the last move is missing.
            (None, _) => self.move_to_temp(spare, from.at()),
            // Only the first was made.
            (Some(_), None) => self.move_to_path(spare, to.at()),
            // Placed by a second name, whose first was not removed yet.
            (Some(staged), Some(placed)) if staged == placed => {
                at::unlink(from.at()).and_then(|()| self.move_to_temp(spare, from.at()))
            }
            (Some(_), Some(_)) => return Ok(Some(spare_path)),
        };
        settled.map(|()| None).map_err(|error| to.error(error))
    }

    /// Moves a temp to `path`, where nothing may stand, and makes the folders
    /// that are missing; returns those, outermost first.
    ///
    /// If it fails, the folders that it made are removed again.
    pub fn place_new(
        &self,
        temp: &ProjectPath,
        path: &ProjectPath,
    ) -> Result<Vec<ProjectPath>, WriteError> {
        const ACT: &str = "create";
        let from = self.open_temp_target(temp, ACT)?;
        from.file_or_link()?;
        let made = self.make_folders(path).map_err(|why| why.at(path, ACT))?;
        let placed = self
            .open_target(path, ACT)
            .and_then(|to| self.move_to_path(from.at(), to.at()).map_err(|error| to.error(error)));
        if let Err(error) = placed {
            self.remove_made_folders(&made);
            return Err(error);
        }
        Ok(made)
    }

    /// Moves the file or link at `path` away, to a temp's name where nothing may stand.
    pub fn move_aside(&self, path: &ProjectPath, aside: &ProjectPath) -> Result<(), WriteError> {
        const ACT: &str = "remove";
        let to = self.open_temp_target(aside, ACT)?;
        let from = self.open_target(path, ACT)?;
        from.file_or_link()?;
        self.move_to_temp(from.at(), to.at()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => to.error(error),
            _ => from.error(error),
        })?;
        // A folder may have come there since we looked.
        if let Err(why) = require_movable(to.stat()?) {
            self.restore_from_temp(to.at(), from.at()).map_err(|error| to.error(error))?;
            return Err(from.error(why));
        }
        Ok(())
    }

    /// Moves the file of [`Workspace::move_aside`] back to `path`, where nothing
    /// may be. If the folder may be gone, too, use [`Workspace::place_new`].
    pub fn put_back(&self, aside: &ProjectPath, path: &ProjectPath) -> Result<(), WriteError> {
        const ACT: &str = "put back";
        let from = self.open_temp_target(aside, ACT)?;
        from.file_or_link()?;
        let to = self.open_target(path, ACT)?;
        self.move_to_path(from.at(), to.at()).map_err(|error| to.error(error))
    }

    /// Removes a temp for good, whatever file or link it holds; a temp that is
    /// gone is fine.
    pub fn remove_temp(&self, temp: &ProjectPath) -> Result<(), WriteError> {
        let remove = || {
            let target = self.open_temp_target(temp, "remove")?;
            target.file_or_link()?;
            at::unlink(target.at()).map_err(|error| target.error(error))
        };
        match remove() {
            Err(error) if matches!(error.why, WriteFault::Gone) => Ok(()),
            done => done,
        }
    }

    fn swap(&self, temp: &WriteTarget<'_>, path: &WriteTarget<'_>) -> Result<(), WriteError> {
        match self.exchange_names(temp.at(), path.at()) {
            Err(error) if is_unsupported(&error) => self.swap_by_moves(temp, path),
            done => done.map_err(|error| path.error(error)),
        }
    }

    fn swap_by_moves(
        &self,
        temp: &WriteTarget<'_>,
        path: &WriteTarget<'_>,
    ) -> Result<(), WriteError> {
        let name = spare_name(temp.path.file_name());
        let name = name.ok_or_else(|| temp.error(WriteFault::NotATemp))?;
        let spare = EntryAt { folder: temp.folder.fd.as_fd(), name: &name };
        self.move_to_temp(path.at(), spare).map_err(|error| path.error(error))?;
        if let Err(error) = self.move_to_path(temp.at(), path.at()) {
            if let Err(error) = self.restore_from_temp(spare, path.at()) {
                tracing::warn!(path = %path.path, %error, "what was displaced stays aside");
            }
            return Err(path.error(error));
        }
        self.move_to_temp(spare, temp.at()).map_err(|error| temp.error(error))
    }

    /// Moves a file to a temp's name, which no other process uses.
    fn move_to_temp(&self, from: EntryAt<'_>, temp: EntryAt<'_>) -> io::Result<()> {
        match self.rename_new(from, temp) {
            Err(error) if is_unsupported(&error) => match inode_at(temp)? {
                None => at::rename_over(from, temp),
                Some(_) => Err(Errno::EXIST.into()),
            },
            done => done,
        }
    }

    /// Moves a temp to a path that others may take at any moment.
    fn move_to_path(&self, temp: EntryAt<'_>, to: EntryAt<'_>) -> io::Result<()> {
        match self.rename_new(temp, to) {
            Err(error) if is_unsupported(&error) => {}
            done => return done,
        }
        match self.link(temp, to) {
            // Interrupted here the last time.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && same_inode(temp, to)? => {
            }
            done => done?,
        }
        if let Err(error) = at::unlink(temp) {
            // It is in place, which is what counts.
            tracing::warn!(%error, "a temp stays behind as a second name");
        }
        Ok(())
    }

    /// Undoes a [`Self::move_to_temp`] of a moment ago, at nearly any price:
    /// the user's file must not stay away.
    fn restore_from_temp(&self, temp: EntryAt<'_>, path: EntryAt<'_>) -> io::Result<()> {
        match self.move_to_path(temp, path) {
            // Neither way to be sure works here (a folder cannot be linked).
            Err(_) if inode_at(path)?.is_none() => at::rename_over(temp, path),
            done => done,
        }
    }
}

/// The calls that not every file system has.
#[allow(clippy::unused_self, reason = "only tests ask what a file system is to lack")]
impl Workspace {
    fn exchange_names(&self, one: EntryAt<'_>, other: EntryAt<'_>) -> io::Result<()> {
        #[cfg(test)]
        if self.missing_features.exchange {
            return Err(Errno::INVAL.into());
        }
        at::exchange(one, other)
    }

    fn rename_new(&self, from: EntryAt<'_>, to: EntryAt<'_>) -> io::Result<()> {
        #[cfg(test)]
        if self.missing_features.rename_new {
            return Err(Errno::INVAL.into());
        }
        at::rename_new(from, to)
    }

    fn link(&self, from: EntryAt<'_>, to: EntryAt<'_>) -> io::Result<()> {
        #[cfg(test)]
        if self.missing_features.link {
            return Err(Errno::PERM.into());
        }
        at::link(from, to)
    }
}

/// Returns `true` if the file system or the system does not have this kind of rename.
fn is_unsupported(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].map(Some).contains(&errno)
}

/// Returns the inode of a name, if it exists.
#[allow(clippy::unnecessary_cast)] // the C type differs between systems
fn inode_at(at: EntryAt<'_>) -> Result<Option<u64>, Errno> {
    match statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat.st_ino as u64)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn same_inode(one: EntryAt<'_>, other: EntryAt<'_>) -> io::Result<bool> {
    Ok(inode_at(one)?.is_some_and(|found| inode_at(other) == Ok(Some(found))))
}

#[cfg(test)]
mod tests;
