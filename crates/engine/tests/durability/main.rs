//! Kills, errors, power loss and clean-up: what was acknowledged stays whole.
//!
//! Faults happen in child processes, which are this binary with one test; the counters of
//! `retake_seam` in this process serve hooks of a single thread only.

mod apply_crash;
mod crash;
mod large;
mod packs;
mod power;
mod purge;
mod recover_edges;
mod retention;
#[expect(dead_code, reason = "`Work::reset` is for the tests of recording")]
#[path = "../support/mod.rs"]
mod support;
