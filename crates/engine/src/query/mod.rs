//! Questions to the record that change nothing.

pub(crate) mod attention;
pub(crate) mod export;
pub(crate) mod file_record;
pub(crate) mod git_export;
pub(crate) mod last_seen;
pub(crate) mod net_changes;
pub(crate) mod record_name;
pub(crate) mod record_queries;
pub(crate) mod secret_lineage;
pub(crate) mod status;
pub(crate) mod stored_content;
pub(crate) mod tree;
