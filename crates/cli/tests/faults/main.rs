//! What can go wrong around Retake, row by row of the fault matrix in docs/reliability.md.
//!
//! A test is called after its row. Each brings the fault about for real (a full file system, a
//! mount, a second daemon, a clock that jumps), uses the program from the outside, and then asks
//! what the row promises. What the machine cannot do is said aloud, never passed over.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
#![expect(dead_code, reason = "not all of what the other tests need is needed here")]

mod files;
mod machine;
#[path = "../cli/support.rs"]
mod support;
mod threats;
