//! The one way from files to rows of the record, for events and outside of any event.
//!
//! [`context`] says where to look and which calls may be to blame, [`candidates`] finds the paths,
//! [`observation`] compares them with the manifest, [`crate::attribution`] decides who did it, and
//! [`rows`] writes. [`refresh`] runs all of it.
//!
//! Invariant: the text of a command never narrows a scan.

mod attribute;
pub(crate) mod bulk;
pub(crate) mod candidates;
pub(crate) mod capture;
pub(crate) mod change_row;
pub(crate) mod context;
pub(crate) mod hints;
pub(crate) mod observation;
pub(crate) mod partial_writes;
pub(crate) mod reconcile;
pub(crate) mod refresh;
pub(crate) mod request;
pub(crate) mod rows;
pub(crate) mod rule_changes;
pub(crate) mod shared_scan;
pub(crate) mod shield;
pub(crate) mod stat_cache;
pub(crate) mod state;
pub(crate) mod throttle;
pub(crate) mod watcher;
