//! A second process, which is the test binary itself.
//!
//! A test that can be a child first asks [`role`]; the parent starts it again
//! with [`command`].

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::TestProject;

const ROLE_VARIABLE: &str = "RETAKE_TEST_ROLE";
/// Environment variable with the folder of the child's project.
pub const OUTER_VARIABLE: &str = "RETAKE_TEST_OUTER";

/// Returns the role of this process, if it is a child.
pub fn role() -> Option<String> {
    std::env::var(ROLE_VARIABLE).ok()
}

/// The project in which the child acts.
pub fn project() -> TestProject {
    TestProject::at(Path::new(&std::env::var(OUTER_VARIABLE).unwrap()))
}

/// Prints an acknowledgement for the parent: the work is done and durable.
pub fn acknowledge(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ack {what}").unwrap();
    out.flush().unwrap();
}

/// Returns the acknowledgements in a child's output.
pub fn acknowledged(stdout: &[u8]) -> Vec<String> {
    let ack = |line: &str| line.split_once("ack ").map(|(_, ack)| ack.to_owned());
    String::from_utf8_lossy(stdout).lines().filter_map(ack).collect()
}

/// The command that runs the calling test once more, as a child with a role.
pub fn command(role: &str) -> Command {
    command_for(&test_name(), role)
}

/// Like [`command`], for a thread that is not the test's own.
pub fn command_for(test: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE_VARIABLE, role)
        .env("RUST_BACKTRACE", "0");
    command
}

/// Returns the calling test's name with its modules, as `--exact` expects it.
///
/// libtest runs each test in a thread of that name; other threads panic here, since a child that
/// runs no test would look like one that succeeds.
pub fn test_name() -> String {
    let thread = std::thread::current();
    let name = thread.name().filter(|name| *name != "main");
    name.expect("called in the thread of a test").to_owned()
}
