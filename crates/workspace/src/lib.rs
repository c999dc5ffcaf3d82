//! The only code that touches the user's files.
//!
//! - [`Workspace`] is an opened project root: [`Workspace::scan`] finds changed files,
//!   [`Workspace::scan_within`] finds them where a [`ChangeHint`] says, [`Workspace::read`] reads
//!   contents, the listings serve the shield, and the methods from [`Workspace::check_writable`] to
//!   [`Workspace::sync_folders`] change the user's files.
//! - [`IgnoreRules`] are ignore rules as a value, with git's semantics.
//! - [`FileWatcher`] is the file watcher: it hints where to scan, and is trusted no further.
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

mod examine;
mod folder;
pub mod git;
mod include;
mod list;
mod pattern_list;
mod patterns;
mod pool;
mod read;
mod rules;
mod safe_open;
mod scan;
mod stat;
mod stat_cache;
mod stat_table;
mod walk;
mod watch;
mod workspace;
mod write;

pub use list::{HiddenListing, ListingFilter};
pub use patterns::{DEFAULT_EXCLUDES, SCRATCH_PATTERNS};
pub use read::ReadError;
pub use rules::{IgnoreRules, RuleSources};
pub use scan::{IgnoredName, ScanResult, SuspectFile};
pub use stat::{FileStat, RootId, StatKind, racy_stamp, root_id};
pub use stat_cache::StatCache;
pub use walk::IGNORE_FILE;
pub use watch::{
    ChangeHint, ChangeWaiter, FileWatcher, FolderEvent, FolderEventHandler, FolderEventKind,
    FolderWatcher, PendingSince, RootState, WaitOutcome, WatchBudget, WatchError, WatchState,
};
pub use workspace::{OpenError, Workspace};
pub use write::{StagedFile, WriteError, WriteFault, is_temp_name, spare_of};
