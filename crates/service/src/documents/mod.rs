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
pub mod enum_schemas;
mod file_change;
mod history;
mod maintenance;
mod operation;
mod outcome;
mod path;
mod project;
mod record;
mod review;
mod session;
mod status;

pub use blame::{BlameDocument, BlameLineDocument, BlamedChange};
pub use change::{
    CandidateDocument, ChangeDocument, ChangeList, ContentDocument, HunkDocument, ShownChange,
    SideContent, SideDocument, SideState, octal,
};
pub use checkpoint::{CheckpointDocument, CheckpointList, DialogCheckpoint, DialogCheckpoints};
pub use context::{
    ChangedBy, ContextChoice, ContextDocument, ContextEntryDocument, ContextImported, MarkedFiles,
    SkippedPath, StaleAgentDocument, StaleContextDocument, StaleFileDocument, TaskMetadataDocument,
    TaskMetadataEntry,
};
pub use conversation::{
    CondensedHistory, ConversationView, ConversationViews, ExportedHistory, ImportProblem,
    ImportedHistory, ModelHistory, ModelMessageDocument, ModelPage, agent_or_main,
};
pub use dialog::{AgentDocument, DialogDocument, DialogList, MessageDocument};
pub use diff::{
    DiffForm, DiffHunk, DiffLineDocument, DiffList, DiffRenderer, DiffToken, FileDiffDocument,
    LineKind,
};
pub use doctor::{CheckUpDocument, DoctorCheck, SalvageDocument};
pub use file_change::{FileChangeRecord, FileChanges, LineRange, ReviewedFileChanges};
pub use history::{DialogHistory, HistoryEvent, HistoryPage};
pub use maintenance::{
    CollectedDocument, ForecastDialog, ForecastDocument, MeterDocument, PurgeDocument,
    PurgeForecast, PurgedContentDocument, RemovedDocument,
};
pub use operation::{InterruptedDocument, OperationDocument, OperationList, RecoverableOperation};
pub use outcome::{
    FileReason, OperationOutcome, PlannedFileDocument, ResetOutcome, RewoundConversation,
    UncoveredPath, suggested_commands,
};
pub use path::PathName;
pub use project::{ProjectDocument, ProjectList};
pub use record::{EventReply, RecordWarning};
pub use review::{AcceptedDocument, ApprovedDocument};
pub use session::{
    ApproveDialogBody, ApproveResult, ChangedFile, ResetResult, RestoreDialogBody, RestoreResult,
    SessionStatusDocument, WorkSessionDocument, WorkSessionList,
};
pub use status::{
    ACTIVE_WINDOW_MS, AgentWork, DialogWork, GapDocument, IgnoredPath, StatusDocument,
    StatusRowDocument, net_status,
};
