//! Requirements of tests on their machine, and the report of tests that could not run.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A requirement that not every machine meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineRequirement {
    /// To mount file systems, change owners and set limits.
    Root,
    /// The device behind file systems in user space.
    Fuse,
    /// A program of this name.
    Program(&'static str),
    /// util-linux's `script`, for [`on_terminal`].
    Terminal,
}

/// Returns a command that runs a line of `sh` at a terminal of its own: what it is sent is typed
/// there, and it prints what the terminal shows.
pub fn on_terminal(line: &OsStr) -> Command {
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c"]).arg(line).arg("/dev/null");
    script
}

impl MachineRequirement {
    fn is_met(self) -> bool {
        match self {
            Self::Root => rustix::process::geteuid().is_root(),
            Self::Fuse => {
                let device = std::fs::File::options().read(true).write(true).open("/dev/fuse");
                device.is_ok()
            }
            Self::Program(name) => {
                let mut ask = Command::new("sh");
                ask.args(["-c", r#"command -v "$1""#, "sh", name]);
                ask.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
            }
            // Other systems have a `script` with other options.
            Self::Terminal => Command::new("script")
                .arg("--version")
                .output()
                .is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("util-linux")),
        }
    }
}

/// Returns `true` if the machine meets all of these; if not, reports it loudly.
///
/// # Panics
/// If it cannot though `RETAKE_REQUIRE_FAULTS=1` asks for every test.
pub fn has_all(needs: &[MachineRequirement]) -> bool {
    let Some(missing) = needs.iter().find(|need| !need.is_met()) else { return true };
    let reason = match missing {
        MachineRequirement::Root => "it has to be run as root".to_owned(),
        MachineRequirement::Fuse => "/dev/fuse cannot be opened".to_owned(),
        MachineRequirement::Program(name) => format!("the program {name} is not installed"),
        MachineRequirement::Terminal => "script of util-linux is not installed".to_owned(),
    };
    let is_required = std::env::var_os("RETAKE_REQUIRE_FAULTS").is_some_and(|v| v == "1");
    assert!(!is_required, "{reason}");
    report_not_run(&reason);
    false
}

/// Bypasses libtest, which hides the output of passing tests; `./test` shows the file at its end.
pub fn report_not_run(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("NOT RUN: {test}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    let file =
        std::fs::File::options().create(true).append(true).open(target_folder().join("not-run"));
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// Returns cargo's target folder.
pub fn target_folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    workspace.join(target)
}
