//! Who is compared: each keeps states of a tree in its own way.

mod jj;
mod reference;
mod retake;
mod seeded_git;
mod shadow_git;

use std::path::{Path, PathBuf};

use anyhow::Result;

pub(crate) use jj::{Jj, WatchmanServer};
pub(crate) use reference::References;
pub(crate) use retake::RetakePeer;
pub(crate) use seeded_git::SeededGit;
pub(crate) use shadow_git::{ShadowGit, Tuning};

use crate::files::Space;
use crate::process::Run;

/// Somebody who can take the state of a tree and bring it back.
pub(crate) trait Peer {
    /// As it is called in tables.
    fn name(&self) -> &str;

    /// The copy of the tree that is its own.
    fn root(&self) -> &Path;

    /// Forgets all, and takes the first state of the tree. Only the latter is measured.
    fn first(&mut self) -> Result<Run>;

    /// Takes the state of the tree.
    fn checkpoint(&mut self) -> Result<Run>;

    /// Brings these files (all that were changed) back to the state that was taken last.
    fn restore(&mut self, changed: &[PathBuf]) -> Result<Run>;

    /// The space that it takes, after it has tidied up as its users would have it do.
    fn space(&mut self) -> Result<Space>;

    /// The space after it was packed, if that is something that happens one day.
    fn packed_space(&mut self) -> Result<Option<Space>> {
        Ok(None)
    }

    /// Ends what runs in the background.
    fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}
