//! The domain types of Retake: project paths, dialogs, calls, changes, operations.
//!
//! This crate does no I/O and knows neither SQLite nor the file system. Every
//! other crate speaks in these types; wire formats are built from them at the edges.

mod caller;
mod change;
mod checkpoint;
mod error_code;
mod event;
pub mod foreign_text;
mod iso_time;
mod journal;
mod message;
mod number;
mod object;
mod operation;
mod path;
mod review;
mod seen_file;
mod stamp;
mod state;
mod text_enum;
mod title;

pub use caller::{Caller, CallerChannel, CallerEvidence, CallerScope, EventOrigin, ProcessKey};
pub use change::{
    Actor, CandidateCall, Change, ChangeId, ChangeMethod, ChangeStatus, ChangeType, Confidence,
    Hunk, LineChanges,
};
pub use checkpoint::{Checkpoint, CheckpointKind, SessionState, WorkSession};
pub use error_code::ErrorCode;
pub use event::{AgentId, AgentRef, CallId, CalledTool, DialogId, Event, EventKind, MAIN_AGENT};
pub use iso_time::iso_8601;
pub use journal::JournalKind;
pub use message::{HistoryKind, MessageRole, ModelMessage, RewindScope, ViewReason};
pub use number::format_count;
pub use object::{ObjectId, ParseObjectIdError};
pub use operation::{Operation, OperationId, OperationKind, OperationState};
pub use path::{PathError, ProjectPath};
pub use review::{
    CommentAnchor, CommentKind, CommentState, HunkId, HunkKind, LineSide, QueueState,
    QueuedRejection, ReviewComment,
};
pub use seen_file::{ContextSource, LineSpan, SeenFile};
pub use stamp::{Millis, Stamp};
pub use state::{FileKind, FileState, Gap, GapReason, PathState};
pub use title::{cut_at_word, title_of};
