//! The power fails at any sync: what was acknowledged is there when it is back.
//!
//! Project and home lie on a file system that forgets what was not synced
//! (`retake_testkit::lossy_fs`). `RETAKE_LONG=1` cuts at every sync, on both sides of it, with
//! every kind of loss.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
#![allow(clippy::print_stderr, reason = "how many cuts there were is worth knowing")]

mod check;
mod rig;
mod stories;
mod teller;
mod told;
