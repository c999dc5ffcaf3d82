//! Tool calls that matter for a scan: which are open, what each may change, and how events open and
//! close them.
//!
//! A call is known by the agent's own call id, never by "the last begin".

pub(crate) mod call_id;
pub(crate) mod glob_links;
pub(crate) mod interpret;
pub(crate) mod literal_command;
pub(crate) mod live_calls;
pub(crate) mod named_paths;
pub(crate) mod open_call;
pub(crate) mod path_content;
pub(crate) mod target_cache;
pub(crate) mod targets;
