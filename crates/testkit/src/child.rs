//! A second process, which is the test binary itself.
//!
//! A test that can be a child first asks [`role`]; the parent starts it again
//! with [`command`] under the same name.

use std::process::Command;

const ROLE: &str = "RETAKE_TEST_ROLE";

/// What this process is to do, if it is a child.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// The command that runs the test `name` of this binary as a child with a role.
pub fn command(name: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env("RUST_BACKTRACE", "0");
    command
}
