//! Errors of recording and of operations. What an operation could not do to single files is no
//! error but part of its outcome.

use retake_model::{
    Actor, ChangeId, ChangeStatus, CommentState, DialogId, HunkId, OperationId, ProjectPath,
};
use retake_store::StoreError;

/// Reason why an event or a scan could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Another folder stands at the project's path.
    #[error("{0} is another folder than the one that was recorded here")]
    Replaced(String),
    /// The project's folder is gone.
    #[error("the folder {0} no longer exists")]
    Gone(String),
    /// The store cannot be written.
    #[error("the store {0} cannot be written, so nothing is recorded")]
    ReadOnly(String),
    /// Another process holds the project.
    #[error("the project is in use by process {0} and did not become free in time")]
    Locked(String),
    /// The settings cannot be used, and nothing is removed by guesswork.
    #[error("nothing was removed: {0}")]
    Settings(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

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
    /// A comment is about a file that is not there.
    #[error("there is no file '{0}' that can be commented on")]
    NoFileToCommentOn(ProjectPath),
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
    /// Hunks are no longer those of their scope: they changed, or were taken back.
    #[error("{}", describe_stale(.0))]
    StaleHunks(Vec<HunkId>),
    /// Several hunks of the file are equal, and its content is not known to be the one that was shown.
    #[error("hunk {0} is one of several equal ones, and its file may have changed since")]
    NeedsDigest(HunkId),
    /// The hunk has no such lines, or can only be decided on as a whole.
    #[error("hunk {hunk} has {removed} removed and {added} added lines that can be chosen")]
    UnknownHunkLines {
        /// The hunk.
        hunk: HunkId,
        /// Number of lines that were removed.
        removed: usize,
        /// Number of lines that were added.
        added: usize,
    },
    /// There is no such comment.
    #[error("there is no comment {0}")]
    UnknownComment(u64),
    /// The comment is in another state.
    #[error("comment {id} is {}", describe_state(*state))]
    CommentState {
        /// The comment.
        id: u64,
        /// Its state.
        state: CommentState,
    },
    /// The lines of a comment are not in the file.
    #[error("{path} has {lines} lines that can be commented on")]
    UnknownLines {
        /// The file.
        path: ProjectPath,
        /// Number of its lines.
        lines: usize,
    },
    /// No such rejection waits.
    #[error("no queued rejection {0} waits")]
    NotQueued(u64),
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
    /// It was cancelled before it wrote a file.
    #[error("it was cancelled, and no file was written")]
    Cancelled {
        /// The operation, if it was in the journal already.
        operation: Option<OperationId>,
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

fn describe_state(state: CommentState) -> &'static str {
    match state {
        CommentState::Draft => "a draft",
        CommentState::Sent => "sent already",
        CommentState::Answered => "answered already",
        CommentState::Resolved => "resolved",
    }
}

fn describe_stale(hunks: &[HunkId]) -> String {
    let names: Vec<_> = hunks.iter().map(ToString::to_string).collect();
    match names.as_slice() {
        [one] => format!("{one} is no hunk of this scope now"),
        names => format!("these are no hunks of this scope now: {}", names.join(", ")),
    }
}
