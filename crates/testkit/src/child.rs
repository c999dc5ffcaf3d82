//! A second process, which is the test binary itself.
//!
//! A test that can be a child first asks [`role`]; the parent starts it again
//! with [`command`] under the same name.

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

/// The command that runs the test `name` of this binary as a child with a role.
pub fn command(name: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE_VARIABLE, role)
        .env("RUST_BACKTRACE", "0");
    command
}
