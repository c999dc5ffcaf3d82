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

mod access;
mod agent_kinds;
mod attention;
mod blame;
mod call;
mod caller;
mod change;
mod checkpoint;
mod context;
mod conversation;
mod dialog;
mod diff;
mod diff_hunks;
mod diff_list;
mod diff_page;
mod doctor;
pub mod enum_schemas;
mod feedback;
mod file_change;
mod health;
mod history;
mod hunk;
mod hunk_renderer;
mod locate;
mod maintenance;
mod operation;
mod outcome;
mod path;
mod project;
mod record;
mod rescue;
mod review;
mod session;
mod settings;
mod setup;
mod status;
mod step;
mod tree;
mod turn;

pub use access::{
    AgentTokenDocument, AgentTokenList, LoginDocument, LoginList, MintedTokenDocument,
    RevokedDocument,
};
pub use attention::{
    ATTENTION_WINDOW_MS, AttentionCounts, AttentionDocument, AttentionProject, AttentionTotals,
    InterruptedSummary, OpenCallDocument,
};
pub use blame::{BlameDocument, BlameLineDocument, BlamedChange};
pub use call::{CallDocument, CallList, CallResult, CutArgumentDocument, ShownCall};
pub use caller::CallerDocument;
pub use change::{
    CandidateDocument, ChangeDocument, ChangeList, ContentDocument, HunkDocument, LoadRepeats,
    ShownChange, SideContent, SideDocument, SideState, octal,
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
pub use diff::{DiffForm, DiffList, DiffRenderer, DiffView, FileDiffDocument, LineEndingsDocument};
pub use diff_hunks::{DiffHunk, DiffLineDocument, DiffToken, LineKind};
pub use diff_list::{DiffFileEntry, DiffFilesPage, NetChangePart, NetFileDiff};
pub use diff_page::{DEFAULT_PAGE_LINES, DiffCursor, DiffLimits, MAX_PAGE_LINES};
pub use doctor::{CheckUpDocument, DoctorCheck, SalvageDocument};
pub use feedback::{
    CommentDocument, CommentLines, CommentList, FeedbackDocument, ForgottenDocument,
    QueuedRejectionDocument, RejectionQueue, ReviewSeenDocument, ReviewedHunksDocument,
    SettledRejectionDocument, SettledRejections,
};
pub use file_change::{
    ContentBudget, FileChangeRecord, FileChanges, LineRange, ReviewedFileChanges,
};
pub use health::{HealthDocument, LastFailure, ProjectHealth, WatchingState};
pub use history::{DialogHistory, HistoryEvent, HistoryPage};
pub use hunk::{
    AddedAgainDocument, DialogName, Entanglement, HunkChange, ReviewEntryDocument,
    ReviewFileDocument, ReviewFilesDocument, ReviewHunkDocument, ReviewListDocument,
};
pub use hunk_renderer::{HunkPage, HunkRenderer};
pub use maintenance::{
    CollectedDocument, ExportedSnapshots, ForecastDialog, ForecastDocument, MeterDocument,
    PurgeDocument, PurgeForecast, PurgedContentDocument, RemovedDocument,
};
pub use operation::{
    InterruptedDocument, OperationDocument, OperationList, RecoverableOperation, RunningList,
    RunningOperation,
};
pub use outcome::{
    FileReason, OperationOutcome, PlannedFileDocument, ResetOutcome, RewoundConversation,
    UncoveredPath, suggested_commands,
};
pub use path::{LocatePaths, PathName};
pub use project::{ProjectDocument, ProjectList};
pub use record::{EventReply, RecordWarning};
pub use rescue::{RescueDocument, UnrescuedPath};
pub use review::{AcceptedDocument, ApprovedDocument};
pub use session::{
    ApproveDialogBody, ApproveResult, ChangedFile, ResetResult, RestoreDialogBody, RestoreResult,
    SessionStatusDocument, WorkSessionDocument, WorkSessionList,
};
pub use settings::{SettingDocument, SettingSource, SettingsDocument, SettingsFileDocument};
pub use setup::{AgentSetup, HookLevel, SetupDocument};
pub use status::{
    ACTIVE_WINDOW_MS, AgentWork, DialogWork, GapDocument, IgnoredPath, StatusDocument,
    StatusRowDocument, net_status,
};
pub use step::{StepDocument, StepList};
pub use tree::{CheckpointTreePage, TreeEntryDocument};
pub use turn::{ChangeTotalsDocument, TurnAgentDocument, TurnDocument, TurnList};
