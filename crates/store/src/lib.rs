//! Bytes that survive: one SQLite database per project.
//!
//! [`Home`] finds the project's folder, [`Lock`] makes one writer at a time,
//! [`Store`] reads, and a [`Batch`] writes content and record in ONE transaction.
//! [`Spool`] keeps what could not be placed at once.
//!
//! Invariants:
//! - A record never outlives its content: objects are in the same transaction
//!   as the rows that name them, or were committed before it.
//! - Acknowledged means durable: WAL with `synchronous=FULL`, one fsync a commit.
//! - Reading content verifies its hash; "missing" and "damaged" are errors, never "empty".
//! - Order is `seq`, which only grows; time is data.

mod batch;
mod calls;
mod changes;
mod checkpoints;
mod error;
mod events;
mod folders;
mod home;
mod lock;
mod manifest;
mod objects;
mod operations;
mod schema;
mod sessions;
mod spool;
mod store;
mod trees;
mod verify;

pub use batch::Batch;
pub use calls::{Afterlife, Call, CallState, Dialog, DialogAgent, NewCall};
pub use changes::{ChangeFilter, NewChange, StatusRow};
pub use checkpoints::NewCheckpoint;
pub use error::StoreError;
pub use events::JournalEvent;
pub use home::{FoundProject, Home, Identity, RootIdentity};
pub use lock::Lock;
pub use manifest::{ManifestEntry, StatRow, Stored};
pub use objects::{CHUNK_ABOVE, Encoded, ObjectKind, encode, encode_stream, hash_blob};
pub use operations::{Mark, NewOperation, OperationStep};
pub use schema::SCHEMA_VERSION;
pub use spool::{Spool, SpoolEntry};
pub use store::{Access, Store};
pub use trees::build_tree;
pub use verify::{Problem, Verification};
