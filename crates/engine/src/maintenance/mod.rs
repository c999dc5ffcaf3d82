//! Upkeep of the record: health checks, retention, removal of single contents; and what the record
//! alone can give back.

pub(crate) mod doctor;
pub(crate) mod purge;
pub(crate) mod rescue;
pub(crate) mod retention;
