//! The operations of Retake as a library: open a project, record events, query what happened.
//!
//! ```
//! use retake_engine::{InitOptions, Retake};
//! use retake_engine::model::{Actor, Event, EventKind};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let project_folder = tempfile::tempdir()?;
//! # let write = |name: &str, text: &str| std::fs::write(project_folder.path().join(name), text);
//! write("notes.txt", "one\n")?;
//! // The host passes the time into each call: milliseconds since the epoch.
//! let now = 1_700_000_000_000;
//! let retake = Retake::new(home.path());
//! let project =
//!     retake.init(project_folder.path(), InitOptions::default(), now, &mut |_, _| {})?.project;
//!
//! // An agent is about to write a file, does so, and is done.
//! let begin = EventKind::ToolBegin {
//!     call: Some("call-1".into()),
//!     tool: "Write".into(),
//!     input: json!({ "file_path": "notes.txt", "content": "two\n" }),
//! };
//! project.record(&Event::new("dialog-1", begin), now + 1)?;
//! write("notes.txt", "two\n")?;
//! let end = EventKind::ToolEnd {
//!     call: Some("call-1".into()),
//!     ok: Some(true),
//!     exit_code: None,
//!     tool: None,
//!     input: json!(null),
//!     background: false,
//!     task: None,
//! };
//! let recorded = project.record(&Event::new("dialog-1", end), now + 2)?;
//!
//! let change = &recorded.changes[0];
//! assert_eq!((change.actor, change.confidence.as_str()), (Actor::Agent, "certain"));
//! assert_eq!(project.content(&change.before)?, Some(b"one\n".to_vec()));
//! # Ok(()) }
//! ```
//!
//! The engine reads no clock, environment or network. Each call that writes
//! takes the project's lock for itself, so any number of processes can have the
//! same project open.

mod apply;
mod attribution;
mod calls;
mod content;
mod error;
mod error_code;
mod feedback;
mod freshness;
mod history;
mod journal;
mod maintenance;
mod operations;
mod plan;
mod project;
mod query;
mod record;
mod resolve_path;
mod retake;
mod review;
mod scan;
pub mod settings;
pub mod shell;
mod submission;
pub mod tool;

// Projects, and what they are made of.
pub use error::{OperationError, RecordError};
pub use error_code::ErrorAdvice;
pub use project::Project;
pub use retake::{
    InitOptions, InitOutcome, KnownProject, LocatedProject, ProjectError, ReplacedBy, Retake,
};
pub use retake_model as model;
pub use retake_store::RootPresence;

// record: events in.
pub use attribution::neighbours::NeighbourProject;
pub use record::RecordOutcome;
pub use record::relay::EventRelay;
pub use record::spool::SpoolWriter;
pub use record::transcript::TranscriptMark;
pub use submission::{Notice, NoticeCode, ReplySupport, Submission};

// scan: the record brought up to date with the files.
pub use retake_workspace::{
    ChangeHint, ChangeWaiter, FileWatcher, FolderEvent, FolderEventHandler, FolderEventKind,
    FolderWatcher, IgnoredName, RootState, RuleSources, WaitOutcome, WatchBudget, WatchError,
    WatchState,
};
pub use scan::hints::HintSource;
pub use scan::refresh::{RefreshOutcome, ScanProgress};
pub use scan::rule_changes::RuleChange;

// content: differences, merges, blame.
pub use content::adjacent::ConflictLines;
pub use content::blame::{BlameBody, BlameLine, BlameSource, FileBlame, LineOrigin};
pub use content::diff::{DiffLine, HunkHeader, MAX_DIFF_BYTES};
pub use content::line_rules::{DiffOptions, LineEndings, WhitespaceRule};
pub use content::words::{WordRanges, changed_words_of_diff};

// plan and apply: files changed.
pub use apply::{
    AppliedPlan, InterruptedOperation, OperationControl, OperationPhase, OperationProgress,
    RecoveryChoice, Rehearsal,
};
pub use plan::go_to::GoToOptions;
pub use plan::selection::Selection;
pub use plan::take_back::{CascadePolicy, TakeBackOptions};
pub use plan::{FileAction, Plan, PlanReason, PlannedFile, PlannedMove, stated_reason};

// operations: the verbs.
pub use operations::review::AcceptedChanges;
pub use operations::session::{Approval, SessionFile, SessionStatus};
pub use operations::step_list::{ListedStep, StepLists, StepPage, StepState};
pub use operations::steps::UndoStep;
pub use operations::undo::NothingToUndo;

// review: hunks that a person keeps or takes back.
pub use review::act::{HunkChoice, HunkRequest, ReviewedHunks};
pub use review::comments::{CommentPlace, LocatedComment, NewComment};
pub use review::due_rejections::SettledRejection;
pub use review::file::{Review, ReviewEntry, ReviewFile};
pub use review::file_target::HunkLines;
pub use review::hunk::ReviewHunk;
pub use review::queue::IsProcessAlive;
pub use review::scope::{ReviewScope, ScopeChanges};

// feedback: what the person says to agents about their work.
pub use feedback::{FeedbackChannel, FeedbackItems, FeedbackMoments, FeedbackTimes};

// freshness: what agents know of files.
pub use freshness::{
    Audience, ChangeAuthor, ContextEntry, ContextFile, FreshRead, MetadataEntry, MetadataError,
    MetadataImport, RecordState, StaleAgent, StaleContext, StaleFile, StaleLines, StaleReaction,
    Staleness, TaskMetadata,
};

// history: conversations.
pub use history::{
    AddedMessages, CondenseError, CondenseMethod, CondenseOutcome, CondensePlan, HistoryError,
    HistoryMessage, ImportedMessages, ModelView, PlannedRewind, PreparedCondense, RewindAction,
    RewindOutcome, RewindTarget, Summariser, SummaryError, SummaryRequest, SummaryRetry,
    TokenCounter, View, ViewChange, ViewItem, message_tokens,
};

// query: questions to the record.
pub use content::secret_names::usually_holds_secrets;
pub use query::attention::{OpenCallSummary, ProjectAttention};
pub use query::export::{SnapshotCounts, SnapshotError, SnapshotOptions};
pub use query::file_record::{FileRecord, replaced_text};
pub use query::git_export::git_command;
pub use query::last_seen::AgentActivity;
pub use query::net_changes::{LineCounts, NetFileChange};
pub use query::record_name::RecordNameCursor;
pub use query::record_queries::ChangePage;
pub use query::status::{DialogStatus, DiffBody, DiffContents, FileDiff, ProjectStatus};
pub use query::tree::{CheckpointEntry, CheckpointTree, TreeQuery};
pub use retake_model::iso_8601;
pub use retake_store::{
    AgentCall, CallPage, CallRecord, CallState, CallWithoutChanges, ChangeFilter, ChangeTotals,
    ContentCheck, ContextDates, ConversationMessage, CutArgument, Dialog, DialogAgent, EventPage,
    ExportError, ExportedRepo, JournalEvent, LeftOutCounts, PendingCounts, PendingPath, PiecePlace,
    SpoolBacklog, StoredContent, TurnAgent, TurnRecord, UserMessage,
};

// maintenance: upkeep of the record.
pub use maintenance::doctor::HealthReport;
pub use maintenance::purge::PurgeError;
pub use maintenance::rescue::{RescueError, RescueOptions, RescueReport, UnrescuedFile};
pub use retake_store::{
    DialogForecast, DiskUsage, FileLock, GcReport, OpenPath, PurgeReport, PurgeScope, PurgeTarget,
    RemovedRecords, RetentionForecast, RetentionReason, SalvageReport, StoreError, StoreProblem,
    VerifyReport,
};
