//! Who made a change that a scan has found.
//!
//! [`rules`] decides, strongest evidence first; the other modules gather the evidence. Nothing here
//! writes: a decision is an [`rules::Attribution`] that the scan records.

pub(crate) mod formatter;
pub(crate) mod git_evidence;
pub(crate) mod interleaved;
pub(crate) mod neighbours;
pub(crate) mod observed;
pub(crate) mod own_operation;
pub(crate) mod rename;
pub(crate) mod repository;
pub(crate) mod rules;
pub(crate) mod scratch_files;
