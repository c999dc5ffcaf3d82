//! File-system writes behind failpoints: every write of Retake passes through this crate.
//!
//! Each mutating system call first passes [`step`], which counts. With the feature
//! `inject` (tests only) the environment can stop the program there:
//!
//! - `RETAKE_KILL_AT=n`: SIGKILL before the n-th step,
//! - `RETAKE_TEAR_AT=n`: if the n-th step writes, half of its bytes are written; then SIGKILL,
//! - `RETAKE_FAIL_AT=n:ERRNO`: the n-th step fails so (`ENOSPC`, `EIO`, `EACCES`, `EROFS` or a
//!   number); with `n:SHORT` it writes half of its bytes and says so,
//! - `RETAKE_FAIL_FROM=n:ERRNO`: so do all steps after it, as on a disk that stays full,
//! - `RETAKE_COUNT_STEPS=FILE`: each step's number and name are appended to FILE.
//!
//! A test in the same process can do something of its own before each step (`on_step`), and let a
//! step fail by its name (`fail_once`): how many steps a program takes may differ from run to run.
//!
//! Invariant: no other code of `store` and `workspace` calls a mutating
//! file-system function; `clippy.toml` bans those of std and rustix, and a test compares the steps
//! with the system calls that strace sees (`engine/tests/durability/crash/strace.rs`). SQLite's own
//! calls pass here, too: in tests `store` gives it a VFS that steps. Its statements only pass
//! [`statement`], which touches no file.
//!
//! [`fs`] writes Retake's own files by path; [`at`] changes the user's files by
//! their name in an opened folder.

#[cfg(unix)]
pub mod at;
pub mod dir;
pub mod fs;
#[cfg(feature = "inject")]
mod inject;

#[cfg(feature = "inject")]
pub use inject::{fail_once, on_step, statement, step, write};
#[cfg(not(feature = "inject"))]
pub use plain::{statement, step, write};

/// Release builds: failpoints do nothing.
#[cfg(not(feature = "inject"))]
mod plain {
    use std::io;

    /// Counts one mutating system call and lets tests stop the program before it.
    #[inline]
    pub fn step(_what: &'static str) -> io::Result<()> {
        Ok(())
    }

    /// Lets tests stop the program before a statement that writes to a database.
    #[inline]
    pub fn statement(_what: &'static str) -> io::Result<()> {
        Ok(())
    }

    /// One [`step`] that writes some of the bytes; returns how many.
    #[inline]
    pub fn write(
        _what: &'static str,
        bytes: &[u8],
        write: impl FnOnce(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        write(bytes)
    }
}
