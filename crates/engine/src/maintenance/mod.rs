//! Upkeep of the record: health checks, retention, removal of single contents.

pub(crate) mod doctor;
pub(crate) mod purge;
pub(crate) mod retention;
