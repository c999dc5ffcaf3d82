//! Real git, without the machine's configuration.

use std::path::Path;
use std::process::Command;

/// A git command in `folder` that knows nothing of the machine's settings.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GIT_")) {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder.join(".no-config"))
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(["-c", "init.defaultBranch=main", "-c", "advice.detachedHead=false"])
        // Its background process removes folders in which the next command writes objects.
        .args(["-c", "gc.auto=0"]);
    command
}

/// Runs git and returns its output, without the last newline.
pub fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder).args(arguments).output().expect("git is installed");
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}
