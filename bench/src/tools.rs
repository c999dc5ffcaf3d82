//! The measured programs, and the environment they all run in.
//!
//! The user's settings have no effect: every process gets its own home and no git configuration.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The paths of the programs.
#[derive(Clone, Debug)]
pub(crate) struct BenchTools {
    pub(crate) retake: PathBuf,
    pub(crate) empty: PathBuf,
    pub(crate) jj: Option<PathBuf>,
    /// The arguments with which jj takes a snapshot.
    pub(crate) jj_snapshot: &'static [&'static str],
    pub(crate) watchman: bool,
    /// `true` if git has a watcher of its own on this system.
    pub(crate) git_has_fsmonitor: bool,
    home: PathBuf,
}

impl BenchTools {
    /// Finds the programs. Retake is built first unless a binary is given: otherwise a stale one
    /// could be measured.
    pub(crate) fn locate(retake: Option<&Path>, jj: Option<&Path>, scratch: &Path) -> Result<Self> {
        let built = build(retake.is_none())?;
        let retake = retake.map_or_else(|| built.join("retake"), Path::to_path_buf);
        if !retake.is_file() {
            bail!("{} is not there: `cargo build --release -p retake` makes it", retake.display());
        }
        let home = scratch.join("person");
        crate::files::make_folder(&home)?;
        let jj = jj.map(Path::to_path_buf).or_else(|| on_path("jj"));
        if let Some(jj) = jj.as_ref().filter(|jj| !works(jj, &["--version"])) {
            bail!("{} does not run: give the path of jj with --jj, or leave it out", jj.display());
        }
        let util = jj.as_ref().is_some_and(|jj| works(jj, &["util", "snapshot", "--help"]));
        Ok(Self {
            retake: std::path::absolute(retake)?,
            empty: built.join("empty"),
            jj_snapshot: if util { &["util", "snapshot"] } else { &["debug", "snapshot"] },
            jj,
            watchman: on_path("watchman").is_some(),
            git_has_fsmonitor: git_watches(),
            home,
        })
    }

    /// Returns a command in the common environment.
    pub(crate) fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(folder).stdin(std::process::Stdio::null());
        for name in ["PATH", "USER", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", &self.home)
            .env("LANG", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Bench");
            command.env(format!("GIT_{who}_EMAIL"), "bench@example.com");
        }
        command
    }

    /// git, on the repository around the folder.
    pub(crate) fn git(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(Path::new("git"), folder);
        command.args(arguments);
        command
    }
}

/// Builds the binaries with cargo, in the profile of this one; returns their folder.
fn build(with_retake: bool) -> Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let folder = exe.parent().context("a program has a folder")?;
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let target = folder.parent().context("the folder is in the target folder")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("build").arg("--target-dir").arg(target);
    command.args(["--quiet", "--profile", profile, "-p", "bench", "--bin", "empty"]);
    if with_retake {
        command.args(["-p", "retake", "--bin", "retake"]);
    }
    let built = command.status().context("cargo cannot be started")?;
    if !built.success() {
        bail!("Retake cannot be built: see above, or name a binary with --retake");
    }
    Ok(folder.to_path_buf())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn works(program: &Path, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn git_watches() -> bool {
    let output = Command::new("git").args(["version", "--build-options"]).output();
    output.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("fsmonitor--daemon"))
}
