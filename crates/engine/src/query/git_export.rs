//! Exports a dialog's checkpoints as an ordinary git repository (DBG-1).

use std::ffi::OsString;
use std::process::Command;

use retake_model::DialogId;
use retake_store::{CheckpointChain, ExportError, ExportedRepo, StoreError};

use crate::project::Project;

/// The one `GIT_*` variable that is kept: the person's pager.
const PAGER_VARIABLE: &str = "GIT_PAGER";
/// Git commands that visit every object, and must tolerate the ones missing by purge.
const OBJECT_WALK_COMMANDS: [&str; 3] = ["fsck", "gc", "repack"];

impl Project {
    /// Updates `export.git` to the newest state of a dialog, else of the checkpoints without one.
    pub fn export_git(
        &self,
        dialog: Option<&DialogId>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ExportedRepo, ExportError> {
        let chain = dialog.map_or(CheckpointChain::NoDialog, CheckpointChain::Dialog);
        self.store().export_git(chain, self.settings().wait.command_timeout(), progress)
    }

    /// The dialog with the latest activity that has checkpoints.
    pub fn latest_dialog_with_checkpoints(&self) -> Result<Option<DialogId>, StoreError> {
        for dialog in self.store().dialogs()? {
            if !self.store().work_sessions(&dialog.id)?.is_empty() {
                return Ok(Some(dialog.id));
            }
        }
        Ok(None)
    }
}

/// The git command that a person runs on an exported repository, with their own pager and
/// configuration, but without hooks and without the environment's `GIT_*`.
pub fn git_command(exported: &ExportedRepo, arguments: &[OsString]) -> Command {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("GIT_") && text != PAGER_VARIABLE {
            git.env_remove(name);
        }
    }
    git.arg("--git-dir").arg(&exported.folder);
    git.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    git.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]);
    let is_thorough = |word: &OsString| OBJECT_WALK_COMMANDS.iter().any(|name| word == name);
    if exported.purged > 0 && arguments.first().is_some_and(is_thorough) {
        git.args(["-c", "remote.retake.promisor=true"]);
    }
    git.args(arguments);
    git
}
