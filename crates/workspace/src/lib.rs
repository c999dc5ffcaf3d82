//! The only code that touches the user's files.
//!
//! - [`Workspace`] is an opened project root: [`Workspace::scan`] finds what
//!   moved, [`Workspace::scan_within`] finds it where a [`Hint`] says, [`Workspace::read`] gives contents, the listings serve the shield,
//!   and the acts from [`Workspace::may_write`] to [`Workspace::sync_folders`]
//!   change the user's files.
//! - [`Rules`] are ignore rules as a value, with git's semantics.
//! - [`Watch`] tells where a scan should look, and is never believed further.
//! - [`git`] reads the user's repository and never writes it (promise 4).
//!
//! Invariants: nothing is opened through a symbolic link or on another mount
//! (promise 6); FIFOs, sockets and devices are never opened; a path is called
//! missing only if the system said so; whatever could not be looked at is a
//! [`retake_model::Gap`] (promise 5).
//!
//! Of all this only the module `write` changes anything in the project. It
//! moves contents and destroys none: what stood at a path is under a temporary
//! name afterwards, until the caller, who knows whether its bytes are kept,
//! removes that (promise 2).

mod beneath;
mod examine;
mod flat;
mod folder;
pub mod git;
mod include;
mod known;
mod list;
mod pattern_list;
mod patterns;
mod pool;
mod read;
mod rules;
mod scan;
mod stat;
mod walk;
mod watch;
mod workspace;
mod write;

pub use known::Known;
pub use list::{Choose, Listing};
pub use patterns::{DEFAULT_EXCLUDES, SCRATCH_PATTERNS};
pub use read::ReadError;
pub use rules::{RuleSources, Rules};
pub use scan::{Ignored, Scan, Suspect};
pub use stat::{RootId, Stat, StatKind, root_id, stamp};
pub use walk::IGNORE_FILE;
pub use watch::{Budget, Hint, Pending, RootState, Watch, WatchError, WatchState};
pub use workspace::{OpenError, Workspace};
pub use write::{Staged, WriteError, WriteFault, is_temp_name, spare_of};
