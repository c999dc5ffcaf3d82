//! Shared test support.
//!
//! - [`TestProject`]: a throw-away project with a home and a clock of its own,
//! - [`Kept`]: a copy of a prepared project, restored before each run of a sweep,
//! - [`check`]: the fixture language, in which most engine tests are written,
//! - [`ListingEyes`]: change hints of a watcher that misses nothing,
//! - `amnesia`: a file system that forgets what was not synced (Linux only),
//! - [`answers`]: a stub HTTP server with prepared responses,
//! - [`child`]: a second process,
//! - [`sweep`]: a child that is stopped at each of its steps,
//! - [`figures`]: counts of the cases that were tried,
//! - [`mutate`]: random changes of JSON and of bytes,
//! - [`seeds`]: random walks, and the seeds of those that failed once,
//! - [`machine`]: what a test needs of its machine, reported if it is missing,
//! - [`git`]: real git without the machine's configuration, as oracle,
//! - linking this crate switches the fault injection of `retake-seam` on.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

#[cfg(target_os = "linux")]
pub mod amnesia;
pub mod answers;
pub mod child;
pub mod disk;
mod eyes;
pub mod figures;
mod freshness;
pub mod git;
mod kept;
pub mod machine;
pub mod mutate;
mod play;
mod project;
pub mod seeds;
pub mod sweep;
mod verbs;

pub use expect_test::{Expect, expect};
pub use eyes::ListingEyes;
pub use kept::Kept;
pub use play::{check, play};
pub use project::TestProject;
pub use verbs::planned;
