//! The daemon with its eyes open, from the outside: what it sees by itself, and what that costs.
//!
//! The oracle for every burst is git: the tree of what is on record must be the tree that
//! `git write-tree` makes of the files.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
#![expect(dead_code, reason = "not all of what the other tests need is needed here")]

mod cost;
mod idle;
#[path = "../cli/support.rs"]
mod support;
mod unasked_scans;
mod watched;
