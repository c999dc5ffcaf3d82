//! Common to all operations: taking the lock, refreshing the record, and the error type.

use retake_model::{Actor, ChangeId, ChangeStatus, DialogId, Millis, OperationId, ProjectPath};
use retake_store::{Dialog, FileLock, StoreError};

use crate::plan::Plan;
use crate::project::Project;
use crate::record::RecordError;
use crate::scan::refresh::ScanTrigger;

/// Maximum age in ms of the plan's full scan; until then only the planned paths are scanned again.
const RECENT_SCAN_MS: Millis = 2000;

/// The reason why an operation was not executed. Files that it had to leave alone are no error
/// but part of its result.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// No checkpoint has an id that begins so.
    #[error("no checkpoint is called '{0}'")]
    UnknownCheckpoint(String),
    /// More than one checkpoint has an id that begins so.
    #[error("more than one checkpoint begins with '{0}'")]
    AmbiguousCheckpoint(String),
    /// No such dialog.
    #[error("there is no dialog {0}")]
    UnknownDialog(DialogId),
    /// Nothing was recorded of any dialog.
    #[error("no agent has worked in this project yet")]
    NoDialog,
    /// Neither the state of now nor that of the checkpoint has such paths.
    #[error("nothing called {0} is tracked now, or was in the checkpoint")]
    UnknownPaths(String),
    /// No such change.
    #[error("there is no change {0}")]
    UnknownChange(ChangeId),
    /// The change has no such hunk.
    #[error("change {change} has {has} hunks, so there is no hunk {number}")]
    UnknownHunk {
        /// The change.
        change: ChangeId,
        /// The number that was asked for.
        number: u32,
        /// Number of hunks of the change.
        has: usize,
    },
    /// No hunk was named.
    #[error("no hunk of change {0} is named")]
    NoHunks(ChangeId),
    /// The hunk was decided on otherwise.
    #[error("hunk {number} of change {change} is {status} already")]
    HunkDecided {
        /// The change.
        change: ChangeId,
        /// The hunk.
        number: u32,
        /// Its present status.
        status: ChangeStatus,
    },
    /// Only changes of agents are taken back by name.
    #[error("change {change} was not made by an agent but by {actor}")]
    NotAnAgents {
        /// The change.
        change: ChangeId,
        /// Whose it is.
        actor: Actor,
    },
    /// Several dialogs have such a message, agent or call.
    #[error("several dialogs have {0}")]
    NeedsDialog(String),
    /// An approved change cannot be rejected.
    #[error("change {0} was approved")]
    Approved(ChangeId),
    /// The change was decided on otherwise.
    #[error("change {change} is {status} already")]
    Decided {
        /// The change.
        change: ChangeId,
        /// Its present status.
        status: ChangeStatus,
    },
    /// There is no such operation.
    #[error("there is no operation {0}")]
    UnknownOperation(OperationId),
    /// There is no open edit with this name.
    #[error("no edit '{0}' is open in this dialog")]
    UnknownEdit(String),
    /// An operation was interrupted, and nothing else is written until it is finished.
    #[error(
        "operation {id} ({title}) was interrupted, and nothing else is written before that is settled"
    )]
    Unfinished {
        /// The operation.
        id: OperationId,
        /// Its title.
        title: String,
    },
    /// No operation was interrupted.
    #[error("no operation was interrupted")]
    NothingInterrupted,
    /// There is not enough room for the files that would be written.
    #[error("{needed} bytes are to be written, but only {free} are free")]
    NoSpace {
        /// Bytes to be written.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// There is no step to undo or redo.
    #[error("there is nothing to {0}")]
    NothingTo(&'static str),
    /// The project cannot be written now.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OperationError {
    pub(crate) fn unknown_paths(paths: &[ProjectPath]) -> Self {
        let names: Vec<_> = paths.iter().map(|path| format!("'{path}'")).collect();
        Self::UnknownPaths(names.join(" or "))
    }
}

impl Project {
    /// Begins an operation: takes the lock, checks that no operation was interrupted, and brings
    /// the record up to date with the files by a scan.
    pub(crate) fn lock_and_refresh(&self, at: Millis) -> Result<FileLock, OperationError> {
        let lock = self.lock_for_operation(at)?;
        self.refresh_locked(ScanTrigger::Requested, at, &mut |_, _| {})?;
        Ok(lock)
    }

    /// The same before a plan is applied. If the plan's full scan is recent, and a full scan is a
    /// walk of the tree (no watcher), only the paths that would be written are scanned again: no
    /// other path is touched.
    pub(crate) fn lock_and_refresh_planned(
        &self,
        plan: &Plan,
        at: Millis,
    ) -> Result<FileLock, OperationError> {
        let just_now = (0..RECENT_SCAN_MS).contains(&at.saturating_sub(plan.made_at));
        if !just_now || self.hints.is_some() {
            return self.lock_and_refresh(at);
        }
        let lock = self.lock_for_operation(at)?;
        let paths = plan.writes().map(|file| file.path.clone()).collect();
        self.refresh_visible_paths_locked(paths, at)?;
        Ok(lock)
    }

    /// Begins an operation that does its own scan.
    pub(crate) fn lock_for_operation(&self, at: Millis) -> Result<FileLock, OperationError> {
        let lock = self.acquire_lock()?;
        if let Some(operation) = self.store().unfinished_operation()? {
            return Err(OperationError::Unfinished { id: operation.id, title: operation.title });
        }
        self.remove_leftover_temps()?;
        self.catch_up(at)?;
        Ok(lock)
    }

    pub(crate) fn known_dialog(&self, id: &DialogId) -> Result<Dialog, OperationError> {
        self.store().dialog(id)?.ok_or_else(|| OperationError::UnknownDialog(id.clone()))
    }

    /// The dialogs with work that waits for approval, the latest activity first.
    pub fn dialogs_to_approve(&self) -> Result<Vec<Dialog>, StoreError> {
        self.store().dialogs_to_approve()
    }

    /// Returns the default dialog: the one with the latest activity.
    pub fn latest_dialog(&self) -> Result<Dialog, OperationError> {
        self.store().dialogs()?.into_iter().next().ok_or(OperationError::NoDialog)
    }
}
