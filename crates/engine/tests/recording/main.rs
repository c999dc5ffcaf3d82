//! Recording: events, scans, attribution, histories, and what can be read from the record.

mod attribution;
mod blame;
mod call_records;
mod callers;
mod calls;
mod denied;
mod event_groups;
mod freshness;
mod git;
mod git_events;
mod hard_links;
mod hints;
mod history;
mod identity;
mod incidents;
mod inspect;
mod journal;
mod late_scans;
mod misread_commands;
mod newly_visible_files;
mod reconcile;
mod record;
mod scratch;
mod settings_docs;
mod shield;
mod snapshots;
mod spellings;
mod spool;
#[path = "../support/mod.rs"]
mod support;
mod turns;
