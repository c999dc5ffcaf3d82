//! Replaces, creates and removes files: contents move between a path and a temp.
//!
//! Where the file system has no exchange, and no rename that refuses to
//! replace (NFS, many FUSE ones), the same is done in several moves. Then,
//! too, an unguarded call may overwrite or unlink a temp's name only,
//! never a path: a concurrent write of another process there must not be
//! lost. The price is that a path is absent between two moves; a kill there
//! leaves its file under the spare's name, and
//! [`Workspace::settle_exchange`] repairs it.

use std::io;
use std::os::fd::AsFd as _;

use retake_model::ProjectPath;
use retake_seam::at::{self, At};
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::name::{spare_name, spare_of};
use super::reach::{Spot, movable};
use super::{WriteError, WriteFault};
use crate::Workspace;

/// Features that a file system pretends to lack, so that tests reach the fallbacks.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct Lacks {
    pub(crate) exchange: bool,
    pub(crate) rename_new: bool,
    pub(crate) link: bool,
}

impl Workspace {
    /// Swaps the file or link at `path` with the one at `temp`, which holds
    /// afterwards what was displaced; called again, it swaps back.
    ///
    /// If this fails half-way on a file system that cannot exchange,
    /// [`Workspace::settle_exchange`] finds the displaced file.
    pub fn exchange(&self, temp: &ProjectPath, path: &ProjectPath) -> Result<(), WriteError> {
        const ACT: &str = "replace";
        let from = self.reach_temp(temp, ACT)?;
        let to = self.reach(path, ACT)?;
        from.file_or_link()?;
        to.file_or_link()?;
        self.swap(&from, &to)?;
        // A folder may have come there since we looked.
        match movable(from.look()?) {
            Ok(_) => Ok(()),
            Err(why) => self.swap(&from, &to).and(Err(to.fail(why))),
        }
    }

    /// Finishes or takes back an exchange that was interrupted or failed; to
    /// be called before anything is concluded from what `temp` holds.
    ///
    /// Afterwards `temp` holds either the new content (not exchanged) or the
    /// displaced one (exchanged). If another process wrote to `path` meanwhile,
    /// neither is possible: the path returned then holds the displaced file, which
    /// has to be stored before it is removed with [`Workspace::remove_temp`].
    pub fn settle_exchange(
        &self,
        temp: &ProjectPath,
        path: &ProjectPath,
    ) -> Result<Option<ProjectPath>, WriteError> {
        const ACT: &str = "finish replacing";
        let from = match self.reach_temp(temp, ACT) {
            Err(error) if matches!(error.why, WriteFault::Gone) => return Ok(None),
            from => from?,
        };
        let spare_path = spare_of(temp).ok_or_else(|| from.fail(WriteFault::NotATemp))?;
        let spare = At { name: spare_path.file_name(), ..from.at() };
        if inode(spare).map_err(|errno| from.fail(errno))?.is_none() {
            return Ok(None);
        }
        let Ok(to) = self.reach(path, ACT) else {
            return Ok(Some(spare_path));
        };
        let staged = inode(from.at()).map_err(|errno| from.fail(errno))?;
        let placed = inode(to.at()).map_err(|errno| to.fail(errno))?;
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
        settled.map(|()| None).map_err(|error| to.fail(error))
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
        let from = self.reach_temp(temp, ACT)?;
        from.file_or_link()?;
        let made = self.make_folders(path).map_err(|why| why.at(path, ACT))?;
        let placed = self
            .reach(path, ACT)
            .and_then(|to| self.move_to_path(from.at(), to.at()).map_err(|error| to.fail(error)));
        if let Err(error) = placed {
            self.unmake(&made);
            return Err(error);
        }
        Ok(made)
    }

    /// Moves the file or link at `path` away, to a temp's name where nothing may stand.
    pub fn take_aside(&self, path: &ProjectPath, aside: &ProjectPath) -> Result<(), WriteError> {
        const ACT: &str = "remove";
        let to = self.reach_temp(aside, ACT)?;
        let from = self.reach(path, ACT)?;
        from.file_or_link()?;
        self.move_to_temp(from.at(), to.at()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => to.fail(error),
            _ => from.fail(error),
        })?;
        // A folder may have come there since we looked.
        if let Err(why) = movable(to.look()?) {
            self.give_back(to.at(), from.at()).map_err(|error| to.fail(error))?;
            return Err(from.fail(why));
        }
        Ok(())
    }

    /// Moves the file of [`Workspace::take_aside`] back to `path`, where nothing
    /// may be. If the folder may be gone, too, use [`Workspace::place_new`].
    pub fn put_back(&self, aside: &ProjectPath, path: &ProjectPath) -> Result<(), WriteError> {
        const ACT: &str = "put back";
        let from = self.reach_temp(aside, ACT)?;
        from.file_or_link()?;
        let to = self.reach(path, ACT)?;
        self.move_to_path(from.at(), to.at()).map_err(|error| to.fail(error))
    }

    /// Removes a temp for good, whatever file or link it holds; a temp that is
    /// gone is fine.
    pub fn remove_temp(&self, temp: &ProjectPath) -> Result<(), WriteError> {
        let remove = || {
            let spot = self.reach_temp(temp, "remove")?;
            spot.file_or_link()?;
            at::unlink(spot.at()).map_err(|error| spot.fail(error))
        };
        match remove() {
            Err(error) if matches!(error.why, WriteFault::Gone) => Ok(()),
            done => done,
        }
    }

    fn swap(&self, temp: &Spot<'_>, path: &Spot<'_>) -> Result<(), WriteError> {
        match self.exchange_names(temp.at(), path.at()) {
            Err(error) if unsupported(&error) => self.swap_by_moves(temp, path),
            done => done.map_err(|error| path.fail(error)),
        }
    }

    fn swap_by_moves(&self, temp: &Spot<'_>, path: &Spot<'_>) -> Result<(), WriteError> {
        let name = spare_name(temp.path.file_name());
        let name = name.ok_or_else(|| temp.fail(WriteFault::NotATemp))?;
        let spare = At { folder: temp.folder.fd.as_fd(), name: &name };
        self.move_to_temp(path.at(), spare).map_err(|error| path.fail(error))?;
        if let Err(error) = self.move_to_path(temp.at(), path.at()) {
            if let Err(error) = self.give_back(spare, path.at()) {
                tracing::warn!(path = %path.path, %error, "what was displaced stays aside");
            }
            return Err(path.fail(error));
        }
        self.move_to_temp(spare, temp.at()).map_err(|error| temp.fail(error))
    }

    /// Moves a file to a temp's name, which no other process uses.
    fn move_to_temp(&self, from: At<'_>, temp: At<'_>) -> io::Result<()> {
        match self.rename_new(from, temp) {
            Err(error) if unsupported(&error) => match inode(temp)? {
                None => at::rename_over(from, temp),
                Some(_) => Err(Errno::EXIST.into()),
            },
            done => done,
        }
    }

    /// Moves a temp to a path that others may take at any moment.
    fn move_to_path(&self, temp: At<'_>, to: At<'_>) -> io::Result<()> {
        match self.rename_new(temp, to) {
            Err(error) if unsupported(&error) => {}
            done => return done,
        }
        match self.link(temp, to) {
            // Interrupted here the last time.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && same(temp, to)? => {}
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
    fn give_back(&self, temp: At<'_>, path: At<'_>) -> io::Result<()> {
        match self.move_to_path(temp, path) {
            // Neither way to be sure works here (a folder cannot be linked).
            Err(_) if inode(path)?.is_none() => at::rename_over(temp, path),
            done => done,
        }
    }
}

/// The calls that not every file system has.
#[allow(clippy::unused_self, reason = "only tests ask what a file system is to lack")]
impl Workspace {
    fn exchange_names(&self, one: At<'_>, other: At<'_>) -> io::Result<()> {
        #[cfg(test)]
        if self.lacks.exchange {
            return Err(Errno::INVAL.into());
        }
        at::exchange(one, other)
    }

    fn rename_new(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        #[cfg(test)]
        if self.lacks.rename_new {
            return Err(Errno::INVAL.into());
        }
        at::rename_new(from, to)
    }

    fn link(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        #[cfg(test)]
        if self.lacks.link {
            return Err(Errno::PERM.into());
        }
        at::link(from, to)
    }
}

/// Returns `true` if the file system or the system does not have this kind of rename.
fn unsupported(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].map(Some).contains(&errno)
}

/// Returns the inode of a name, if it exists.
#[allow(clippy::unnecessary_cast)] // the C type differs between systems
fn inode(at: At<'_>) -> Result<Option<u64>, Errno> {
    match statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat.st_ino as u64)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn same(one: At<'_>, other: At<'_>) -> io::Result<bool> {
    Ok(inode(one)?.is_some_and(|found| inode(other) == Ok(Some(found))))
}

#[cfg(test)]
mod tests;
