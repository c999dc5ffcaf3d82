//! Durable storage: one SQLite database per project, and git packs for bulk content.
//!
//! [`Home`] finds the project's folder, [`FileLock`] makes one writer at a time,
//! [`Store`] reads, and a [`Batch`] writes content and record in ONE transaction;
//! a [`BatchGroup`] makes several of them durable at once.
//! [`Spool`] keeps what could not be placed at once.
//!
//! Invariants:
//! - A record never outlives its content: objects are in the same transaction
//!   as the rows that name them, or were committed before it.
//! - Acknowledged means durable: WAL with `synchronous=FULL`, one fsync a commit.
//! - Reading content verifies its hash; "missing" and "damaged" are errors, never "empty".
//! - Order is `seq`, which only grows; time is data.

mod batch;
mod call_arguments;
mod call_changes;
mod call_records;
mod callers;
mod calls;
mod change_totals;
mod changes;
mod checkpoints;
mod comments;
mod compression;
mod counts;
mod dialogs;
mod error;
mod events;
mod export;
mod export_repo;
mod file_reads;
mod filter;
mod gc;
mod group;
mod home;
mod home_modes;
mod lineage;
mod lock;
mod manifest;
mod messages;
mod object_cache;
mod objects;
mod operations;
mod packs;
mod purge;
mod purged;
mod redaction;
mod review;
mod review_queue;
mod salvage;
mod schema;
mod sessions;
mod spool;
mod stat_cache;
#[cfg(feature = "inject")]
pub mod step_count;
mod store;
mod stored_content;
mod summary_counts;
mod transcripts;
mod tree_cache;
mod trees;
mod turns;
mod verify;
mod versions;
#[cfg(feature = "inject")]
mod vfs;
mod wal;

pub use batch::Batch;
pub use call_arguments::{CutArgument, MAX_ARGUMENT_BYTES, ShortArguments};
pub use call_records::{CallPage, CallRecord};
pub use calls::{
    AgentCall, BackgroundActivity, Call, CallEnd, CallInput, CallOrigin, CallState,
    CallWithoutChanges, NewCall,
};
pub use change_totals::ChangeTotals;
pub use changes::{NewChange, PathChangeRow, PendingPath};
pub use checkpoints::NewCheckpoint;
pub use dialogs::{Dialog, DialogAgent};
pub use error::StoreError;
pub use events::{ConversationMessage, EventPage, JournalEvent, UserMessage};
pub use export::{CheckpointChain, ExportError, ExportedRepo};
pub use file_reads::{AgentAuthorship, ContextDates, FileRead, NoticeRow, PathStep, SeqRange};
pub use filter::ChangeFilter;
pub use gc::retention::{DialogForecast, RetentionForecast, RetentionLimits, RetentionReason};
pub use gc::{DiskUsage, GcError, GcReport, RemovedRecords};
pub use group::BatchGroup;
pub use home::{FoundProject, Home, ProjectIdentity, RootIdentity, RootPresence};
pub use home_modes::OpenPath;
pub use lineage::{LineageStep, SizedContent};
pub use lock::FileLock;
pub use manifest::{ManifestEntry, ManifestState};
pub use messages::{HistoryKey, MessageEntry, NewMessage, NewView, StoredView, message_digest};
pub use objects::{
    CHUNK_THRESHOLD_BYTES, EncodedObject, ObjectKind, encode, encode_stream, hash_blob, hash_stream,
};
pub use operations::{NewOperation, OperationStep, StatusMark};
pub use packs::{BorrowedPacks, InflateScratch, PackWriter, PackedObject, encode_packed};
pub use purge::{PurgeReport, PurgeScope, PurgeTarget};
pub use purged::PurgedContent;
pub use review::{AddedAgain, RejectedRun, TakenPart};
pub use salvage::{SalvageReport, SalvagedTable, salvage};
pub use schema::SCHEMA_VERSION;
pub use spool::{Spool, SpoolBacklog, SpoolEntry};
pub use stat_cache::{StatCacheFile, StatCacheId, StatRow, TouchedState};
pub use store::{Store, StoreAccess, StoreSnapshot, free_bytes};
pub use stored_content::{ContentCheck, PiecePlace, StoredContent};
pub use summary_counts::{KindActivity, LeftOutCounts, PendingCounts};
pub use trees::{FolderEntry, FolderEntryKind, build_tree};
pub use turns::{TurnAgent, TurnRecord};
pub use verify::{StoreProblem, VerifyReport};
