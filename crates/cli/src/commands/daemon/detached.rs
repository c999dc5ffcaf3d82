//! Starts the daemon detached: in its own session, with a reduced environment, no parent waiting.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::commands::run::RUN_DIALOG_VARIABLE;

/// Starts a daemon for a home in the background.
pub(crate) fn start_detached(home: &Path, idle_seconds: Option<u64>) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["daemon", "run", "--detached"]).arg("--home").arg(home).current_dir("/");
    if let Some(seconds) = idle_seconds {
        command.arg("--idle-seconds").arg(seconds.to_string());
    }
    // Variables of the agent or git command that runs this hook do not hold for the next one.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") || name == RUN_DIALOG_VARIABLE {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Leaves the session of the process that started this one.
pub(super) fn leave_terminal() {
    // Fails for a process group leader, which needs no other session.
    let _ = rustix::process::setsid();
}
