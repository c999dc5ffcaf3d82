//! The program `retake` from the outside, in a hermetic environment.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

mod asking;
mod blame;
mod choosing;
mod colour;
mod daemon;
mod docs;
mod event;
mod freshness;
mod history;
mod honest;
mod hook;
mod hostile;
mod json;
mod keeping;
mod nested;
mod people;
mod processes;
mod recover;
mod restore;
mod review;
mod rewind;
mod rollback;
mod roundtrip;
mod run;
mod sessions;
mod setup;
mod support;
mod undo;
