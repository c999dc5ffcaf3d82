//! The program `retake` from the outside, in a hermetic environment.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

mod blame;
mod bug_report;
mod callers;
mod colour;
mod completions;
mod concurrent_processes;
mod config;
mod confirmation;
mod conflict_choice;
mod daemon;
mod demo;
mod dialog_choice;
mod docs;
mod event;
mod feedback_masking;
mod freshness;
mod git_apply;
mod history;
mod hook;
mod injection;
mod json;
mod listings;
mod maintenance;
mod meant;
mod misread;
mod nested_projects;
mod recover;
mod reported_outcomes;
mod restore;
mod review;
mod review_patch;
mod rewind;
mod rollback;
mod run;
mod sessions;
mod setup;
mod support;
mod terminal_escapes;
mod text_output;
mod undo;
