//! Shared test support.
//!
//! - [`TestProject`]: a throw-away project with a home and a clock of its own,
//! - [`ProjectCopy`]: a copy of a prepared project, restored before each run of a sweep,
//! - [`check`]: the fixture language, in which most engine tests are written,
//! - [`ListingHints`]: change hints of a watcher that misses nothing,
//! - `lossy_fs`: a file system that forgets what was not synced (Linux only),
//! - [`stub_server`]: a stub HTTP server with prepared responses,
//! - [`child`]: a second process,
//! - [`sweep`]: a child that is stopped at each of its steps,
//! - [`proof_counts`]: counts of the cases that were tried,
//! - [`mutate`]: random changes of JSON and of bytes,
//! - [`seeds`]: random walks, and the seeds of those that failed once,
//! - [`machine`]: what a test needs of its machine, reported if it is missing,
//! - [`count_steps`]: the steps that a record's queries take,
//! - [`git`]: real git without the machine's configuration, as oracle,
//! - linking this crate switches the fault injection of `retake-seam` on.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

pub mod child;
pub mod disk;
mod freshness;
pub mod git;
mod listing_hints;
#[cfg(target_os = "linux")]
pub mod lossy_fs;
pub mod machine;
#[cfg(test)]
mod mutant_places;
pub mod mutate;
mod operations;
mod play;
mod project;
mod project_copy;
pub mod proof_counts;
mod review;
pub mod seeds;
pub mod stub_server;
pub mod sweep;
#[cfg(test)]
mod test_modules;

pub use expect_test::{Expect, expect};
pub use listing_hints::ListingHints;
pub use operations::plan_line;
pub use play::{check, play};
pub use project::TestProject;
pub use project_copy::ProjectCopy;
pub use retake_store::step_count::count_steps;
