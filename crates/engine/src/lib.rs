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

mod adjacent;
mod advice;
mod aims;
mod apply;
mod arrival;
mod attribute;
mod blame;
mod bulk;
mod capture;
mod checkpoint;
mod content;
mod conversation;
mod diff;
mod doctor;
mod ends;
mod eyes;
mod file_record;
mod formatter;
mod freshness;
mod git_evidence;
mod history;
mod inspect;
mod iso;
mod journal;
mod links;
mod literal;
mod live;
mod located;
mod look;
mod memory;
mod merge;
mod named;
mod naming;
mod neighbours;
mod observe;
mod occasion;
mod own_work;
mod pace;
mod parcel;
mod partial_writes;
mod place;
mod plan;
mod project;
mod purge;
mod query;
mod reconcile;
mod record;
mod record_queries;
mod rename;
mod repository;
mod retain;
mod rule_changes;
mod scratch;
mod secrets;
mod seen;
pub mod settings;
mod shared_look;
pub mod shell;
mod shield;
mod snapshots;
mod stats;
mod survey;
mod taken_by_git;
mod together;
pub mod tool;
mod verb;
mod verbs;
mod waiting;
mod watch;
mod words;
mod write;

pub use adjacent::ConflictLines;
pub use advice::ErrorAdvice;
pub use apply::{AppliedPlan, InterruptedOperation, RecoveryChoice, Rehearsal};
pub use blame::{BlameBody, BlameLine, BlameSource, FileBlame, LineOrigin};
pub use conversation::TranscriptMark;
pub use diff::{DiffLine, HunkHeader, MAX_DIFF_BYTES};
pub use doctor::HealthReport;
pub use eyes::HintSource;
pub use file_record::{FileRecord, replaced_text};
pub use freshness::{
    Audience, ChangeAuthor, ContextEntry, ContextFile, FreshRead, MetadataEntry, MetadataError,
    MetadataImport, RecordState, StaleAgent, StaleContext, StaleFile, StaleLines, StaleReaction,
    Staleness, TaskMetadata,
};
pub use history::{
    AddedMessages, CondenseError, CondenseMethod, CondenseOutcome, CondensePlan,
    FORCED_CONTEXT_REDUCTION_PERCENT, HistoryError, HistoryMessage, ModelView, PlannedRewind,
    PreparedCondense, RewindAction, RewindOutcome, RewindTarget, SUMMARY_PREFIX, Summariser,
    SummaryError, SummaryRequest, SummaryRetry, TokenCounter, View, ViewChange, ViewItem,
    message_tokens,
};
pub use inspect::git_command;
pub use iso::iso_8601;
pub use located::LocatedProject;
pub use look::RefreshOutcome;
pub use neighbours::{EventRelay, NeighbourProject};
pub use parcel::{ReplySupport, Submission};
pub use plan::go_to::GoToOptions;
pub use plan::selection::Selection;
pub use plan::take_back::{CascadePolicy, TakeBackOptions};
pub use plan::{FileAction, Plan, PlanReason, PlannedFile};
pub use project::{
    InitOptions, InitOutcome, KnownProject, Project, ProjectError, ReplacedBy, Retake,
};
pub use purge::PurgeError;
pub use query::{DialogStatus, DiffBody, FileDiff, ProjectStatus};
pub use record::{Notice, NoticeCode, RecordError, RecordOutcome, ScanProgress};
pub use retake_model as model;
pub use retake_store::{
    CallWithoutChanges, ChangeFilter, ContextDates, ConversationMessage, Dialog, DialogAgent,
    DialogForecast, DiskUsage, EventPage, ExportError, ExportedRepo, FileLock, GcReport,
    JournalEvent, PendingPath, PurgeReport, PurgeScope, PurgeTarget, RemovedRecords,
    RetentionForecast, RetentionReason, SalvageReport, StoreError, StoreProblem, UserMessage,
    VerifyReport,
};
pub use retake_workspace::{
    ChangeHint, FileWatcher, IgnoredName, RootState, RuleSources, WatchBudget, WatchError,
    WatchState,
};
pub use rule_changes::RuleChange;
pub use secrets::usually_holds_secrets;
pub use seen::AgentActivity;
pub use snapshots::{SnapshotCounts, SnapshotError, SnapshotOptions};
pub use verb::OperationError;
pub use verbs::review::AcceptedChanges;
pub use verbs::session::{Approval, SessionFile, SessionStatus};
pub use verbs::steps::UndoStep;
pub use verbs::undo::NothingToUndo;
pub use waiting::SpoolWriter;
pub use words::{WordRanges, changed_words, changed_words_of_block, changed_words_of_diff};
