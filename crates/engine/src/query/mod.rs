//! Questions to the record that change nothing.

pub(crate) mod export;
pub(crate) mod file_record;
pub(crate) mod git_export;
pub(crate) mod last_seen;
pub(crate) mod status;
