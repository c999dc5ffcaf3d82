//! Durable storage: one SQLite database per project, and git packs for bulk content.
//!
//! [`Home`] finds the project's folder, [`Lock`] makes one writer at a time,
//! [`Store`] reads, and a [`Batch`] writes content and record in ONE transaction;
//! a [`Group`] makes several of them durable at once.
//! [`Spool`] keeps what could not be placed at once.
//!
//! Invariants:
//! - A record never outlives its content: objects are in the same transaction
//!   as the rows that name them, or were committed before it.
//! - Acknowledged means durable: WAL with `synchronous=FULL`, one fsync a commit.
//! - Reading content verifies its hash; "missing" and "damaged" are errors, never "empty".
//! - Order is `seq`, which only grows; time is data.

mod bare;
mod batch;
mod calls;
mod changes;
mod checkpoints;
mod counts;
mod dialogs;
mod error;
mod events;
mod export;
mod filter;
mod folders;
mod gc;
mod group;
mod home;
mod links;
mod lock;
mod manifest;
mod messages;
mod objects;
mod operations;
mod packs;
mod purge;
mod purged;
mod quotes;
mod reach;
mod recent;
mod retention;
mod salvage;
mod schema;
mod sessions;
mod sights;
mod spans;
mod spool;
mod squeeze;
mod stats;
mod store;
mod sweep;
mod transcripts;
mod trees;
mod verify;
mod versions;
#[cfg(feature = "inject")]
mod vfs;
mod wal;

pub use batch::Batch;
pub use calls::{Afterlife, Call, CallState, IdleCall, Input, NewCall};
pub use changes::{NewChange, StatusRow, Trace};
pub use checkpoints::NewCheckpoint;
pub use dialogs::{Dialog, DialogAgent};
pub use error::StoreError;
pub use events::{EventPage, JournalEvent, Message, Spoken};
pub use export::{Chain, ExportError, Exported};
pub use filter::ChangeFilter;
pub use gc::{Collected, GcError, Meter, Removed};
pub use group::Group;
pub use home::{FoundProject, Home, Identity, RootIdentity};
pub use lock::Lock;
pub use manifest::{ManifestEntry, Stored};
pub use messages::{LogEntry, NewMessage, NewView, StoredView, Thread, message_digest};
pub use objects::{
    CHUNK_ABOVE, Encoded, ObjectKind, encode, encode_stream, hash_blob, hash_stream,
};
pub use operations::{Mark, NewOperation, OperationStep};
pub use packs::{Lender, PackWriter, Packed, Scratch, encode_packed};
pub use purge::{Purge, PurgeScope, PurgeTarget};
pub use purged::PurgedContent;
pub use retention::{DialogForecast, Forecast, Limits, Reason};
pub use salvage::{Salvaged, SalvagedTable, salvage};
pub use schema::SCHEMA_VERSION;
pub use sights::{Dates, Maker, PathStep, Sighting, Told};
pub use spool::{Spool, SpoolEntry};
pub use stats::{StatRow, Stats, StatsName, Touched};
pub use store::{Access, Snapshot, Store};
pub use trees::build_tree;
pub use verify::{Problem, Verification};
