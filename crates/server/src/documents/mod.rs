//! The documents that other programs read: one stable shape for each noun.
//!
//! The engine's types are not made to be read by others; what leaves the program is decided here,
//! once, for the command line's `--json` and for HTTP. Rules that hold for all of them:
//!
//! - Times are ISO 8601 in UTC with milliseconds.
//! - Paths are relative to the project. One that is not UTF-8 has its exact bytes beside it, in
//!   hexadecimal digits (`path_hex`).
//! - `null` for a side of a change means that the file did not exist; `{"kind":"unknown"}` means
//!   that it was not captured. They are never mixed up.
//! - Text comes as it is: the program that shows it escapes it. Contents and messages pass a
//!   [`Masking`](crate::Masking), which takes secrets out of what leaves by HTTP.

mod blame;
mod change;
mod checkpoint;
mod context;
mod conversation;
mod dialog;
mod diff;
mod doctor;
mod file_change;
mod history;
mod operation;
mod outcome;
mod path;
mod project;
mod record;
mod review;
mod session;
mod status;
mod upkeep;
pub(crate) mod words;

pub use blame::{Blame, BlameLine, BlamedChange};
pub use change::{
    Candidate, Change, Changes, Content, Hunk, ShownChange, Side, SideContent, SideState, octal,
};
pub use checkpoint::{Checkpoint, Checkpoints, DialogCheckpoint, DialogCheckpoints};
pub use context::{
    ChangedBy, Context, ContextChoice, ContextEntry, ContextImported, Marked, SkippedPath,
    StaleAgent, StaleContext, StaleFile, TaskMetadata, TaskMetadataEntry,
};
pub use conversation::{
    CondensedHistory, ConversationView, ConversationViews, ExportedHistory, ImportProblem,
    ImportedHistory, ModelHistory, ModelMessage, ModelPage, agent_or_main,
};
pub use dialog::{Agent, Dialog, Dialogs, Message};
pub use diff::{DiffForm, DiffHunk, DiffLine, DiffToken, Differ, Diffs, FileDiff, LineKind};
pub use doctor::{Check, CheckUp, Salvaged};
pub use file_change::{FileChangeRecord, FileChanges, LineRange, ReviewedFileChanges};
pub use history::{History, HistoryEvent, HistoryPage};
pub use operation::{Interrupted, Operation, Operations, Recoverable};
pub use outcome::{
    FileReason, Outcome, PlannedFile, ResetOutcome, RewoundConversation, UncoveredPath, ways_out,
};
pub use path::PathName;
pub use project::{Project, Projects};
pub use record::{Recorded, Warning};
pub use review::{Accepted, Approved};
pub use session::{
    ApproveRequest, ApproveResult, ChangedFile, ResetResult, RestoreRequest, RestoreResult,
    SessionStatus, WorkSession, WorkSessions,
};
pub use status::{ACTIVE, AgentWork, DialogWork, Gap, IgnoredPath, Status, StatusRow, net_status};
pub use upkeep::{
    Collected, Forecast, ForecastDialog, Meter, PurgeForecast, Purged, PurgedContent, Removed,
};
