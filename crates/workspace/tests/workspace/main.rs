//! Reading and writing the user's files: scans, ignore rules, git's state, durable writes.
//!
//! One binary, so that everything is linked once. Tests that need a process of their own (a fault,
//! a mount namespace, a user without root's powers) start this one again.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests write their own files and may panic"
)]

mod git;
mod ignore_oracle;
mod mounts;
mod read;
mod rules;
mod scan;
mod scan_within;
mod support;
mod write;
mod write_faults;
mod write_folders;
mod write_refusals;
