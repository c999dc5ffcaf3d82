//! The compared tools: each stores states of a tree in its own way.

mod jj;
mod reference;
mod retake;
mod seeded_git;
mod shadow_git;

use std::path::{Path, PathBuf};

use anyhow::Result;

pub(crate) use jj::{JjPeer, WatchmanServer};
pub(crate) use reference::ReferenceCosts;
pub(crate) use retake::RetakePeer;
pub(crate) use seeded_git::SeededGit;
pub(crate) use shadow_git::{GitTuning, ShadowGit};

use crate::files::DiskSpace;
use crate::process::Measurement;

/// A tool that can store the state of a tree and restore it.
pub(crate) trait Peer {
    /// Returns its name in tables.
    fn name(&self) -> &str;

    /// Returns its own copy of the tree.
    fn root(&self) -> &Path;

    /// Clears its store, and takes the first state of the tree. Only the latter is measured.
    fn first_checkpoint(&mut self) -> Result<Measurement>;

    /// Takes the state of the tree.
    fn checkpoint(&mut self) -> Result<Measurement>;

    /// Brings these files (all that were changed) back to the state that was taken last.
    fn restore(&mut self, changed: &[PathBuf]) -> Result<Measurement>;

    /// Returns its disk space, after the cleanup that its users would run.
    fn space(&mut self) -> Result<DiskSpace>;

    /// Returns its disk space after packing, if it ever packs.
    fn packed_space(&mut self) -> Result<Option<DiskSpace>> {
        Ok(None)
    }

    /// Ends its background processes.
    fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}
