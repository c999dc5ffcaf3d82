//! The only code that touches the user's files.
//!
//! - [`Workspace`] is an opened project root: [`Workspace::scan`] finds changed files,
//!   [`Workspace::scan_within`] finds them where a [`Hint`] says, [`Workspace::read`] reads
//!   contents, the listings serve the shield, and the methods from [`Workspace::may_write`] to
//!   [`Workspace::sync_folders`] change the user's files.
//! - [`Rules`] are ignore rules as a value, with git's semantics.
//! - [`Watch`] is the file watcher: it hints where to scan, and is trusted no further.
//! - [`git`] reads the user's repository and never writes it (promise 4).
//!
//! Invariants: nothing is opened through a symbolic link or on another mount
//! (promise 6); FIFOs, sockets and devices are never opened; a path is called
//! missing only if the system said so; every path that could not be examined is a
//! [`retake_model::Gap`] (promise 5).
//!
//! Only the module `write` changes files of the project. It moves contents and
//! destroys none: a replaced file keeps a temporary name until the caller, who
//! knows whether its bytes are stored, removes that (promise 2).

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
