//! Questions to the record that change nothing.

pub(crate) mod export;
pub(crate) mod file_record;
pub(crate) mod git_export;
pub(crate) mod iso_time;
pub(crate) mod last_seen;
mod record_queries;
pub(crate) mod secrets;
pub(crate) mod status;
