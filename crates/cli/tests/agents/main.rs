//! Real agents with `retake setup`, against a scripted model: what Retake saw, and what it undoes.
//!
//! An agent that is not installed is not run, and that is said at the end of `./test`; see
//! `crates/e2e/install-agents`.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

mod callers;
mod edits_between_calls;
mod failures;
mod first_day;
mod freshness;
mod one_turn;
mod parallel_work;
mod review;
mod two_agents;
mod with_watcher;
mod world;
