//! Writes the user's files, in small operations that the engine puts in order.
//!
//! One operation goes: [`Workspace::check_writable`] for every path, then
//! [`Workspace::temp_for`] and [`Workspace::stage`] the new contents beside
//! their targets, [`Workspace::sync_staged`], then per path
//! [`Workspace::exchange`] (something stands there), [`Workspace::place_new`]
//! (nothing does) or [`Workspace::move_aside`] (it is to go), and at last
//! [`Workspace::sync_modes`] and [`Workspace::sync_folders`]. The displaced file has the temp's
//! name until the engine has verified it and calls [`Workspace::remove_temp`].
//!
//! Invariants:
//! - Every call opens the path again from the root's descriptor, through no link and
//!   onto no other mount (promise 6); a path that is swapped meanwhile is refused.
//! - No act destroys what stands at a path that is not a temp: contents move,
//!   and only names of the form `.retake-….tmp` are ever unlinked or
//!   overwritten (promise 2).
//! - Version control data and Retake's own state are refused (promise 4).
//! - Nothing but the path itself and the folders on its way is touched (promise 3).
//! - Each mutating call passes one step of `retake_seam`.

mod folders;
mod name;
mod preflight;
mod stage;
mod swap;
mod target;

use std::io;

use retake_model::ProjectPath;
use rustix::io::Errno;

pub use name::{is_temp_name, spare_of};
pub use stage::StagedFile;
#[cfg(test)]
pub(crate) use swap::MissingFeatures;

#[cfg(doc)]
use crate::Workspace;

/// Why a path could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {act} '{path}': {why}")]
pub struct WriteError {
    /// The path that stands in the way of the act; of a temp, the temp's own.
    pub path: ProjectPath,
    /// The failed operation, as a verb for people.
    pub act: &'static str,
    /// The reason.
    #[source]
    pub why: WriteFault,
}

/// The reasons of a [`WriteError`].
#[derive(Debug, thiserror::Error)]
pub enum WriteFault {
    /// Version control data or Retake's own state.
    #[error("it belongs to version control or to Retake, which an undo never touches")]
    OffLimits,
    /// This path on the way is a symbolic link.
    #[error("the symbolic link '{0}' is on the way, and links are never followed")]
    LinkOnTheWay(ProjectPath),
    /// This path on the way is a file where a folder is needed.
    #[error("'{0}' is on the way, and it is not a folder")]
    FileOnTheWay(ProjectPath),
    /// Something stands there.
    #[error("something is there already")]
    Exists,
    /// Nothing stands there, or its folder is gone.
    #[error("it is not there")]
    Gone,
    /// What stands there is no regular file (and no link, where a link would do).
    #[error("it is a {0}, which is never replaced or removed")]
    NotAFile(&'static str),
    /// Another file system is mounted there.
    #[error("it is on another mount")]
    OtherMount,
    /// The path or a name in it is longer than the system can handle.
    #[error("its path or a name in it is too long for the system")]
    NameTooLong,
    /// The file or its folder is immutable or append-only.
    #[error("it or its folder is marked as immutable or append-only (see chattr, chflags)")]
    Immutable,
    /// Only names of the form `.retake-….tmp` may be staged, displaced to or removed.
    #[error("it is not a temporary name of Retake")]
    NotATemp,
    /// The content's source failed; nothing is wrong with the path.
    #[error("its content cannot be produced: {0}")]
    Filled(#[source] io::Error),
    /// The system's answer.
    #[error("{0}")]
    Io(#[source] io::Error),
}

impl WriteFault {
    /// The path on the way that would have to go first, if that is the reason.
    ///
    /// A plan that takes this very path away can find a place for its temp
    /// with [`Workspace::temp_for`] this path.
    pub fn obstacle(&self) -> Option<&ProjectPath> {
        match self {
            Self::LinkOnTheWay(path) | Self::FileOnTheWay(path) => Some(path),
            _ => None,
        }
    }

    fn at(self, path: &ProjectPath, act: &'static str) -> WriteError {
        WriteError { path: path.clone(), act, why: self }
    }
}

impl From<io::Error> for WriteFault {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => Self::Gone,
            Some(Errno::EXIST) => Self::Exists,
            Some(Errno::ISDIR) => Self::NotAFile("folder"),
            Some(Errno::XDEV) => Self::OtherMount,
            Some(Errno::NAMETOOLONG) => Self::NameTooLong,
            _ => Self::Io(error),
        }
    }
}

impl From<Errno> for WriteFault {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}
