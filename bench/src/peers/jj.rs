//! Jujutsu in the user's own repository, as `jj git init --colocate` sets it up: every command
//! takes the state of the files into the commit of the work tree.
//!
//! It works inside the project (`.jj`, and objects and refs in `.git`), which is why it has a copy
//! of the tree to itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Peer;
use crate::files::{self, DiskSpace};
use crate::process::{Measurement, ProcessTimer, run};
use crate::tools::BenchTools;
use crate::trees::TreeCopy;

const JJ_CONFIG: &str = r#"
user.name = "Bench"
user.email = "bench@example.com"
snapshot.max-new-file-size = "100MiB"
"#;
const WATCHMAN_CONFIG: &str = "fsmonitor.backend = \"watchman\"\n";

/// The server of watchman, which jj starts if none runs. Then it is ended with this.
pub(crate) struct WatchmanServer {
    is_ours: bool,
}

impl WatchmanServer {
    pub(crate) fn detect() -> Self {
        let running = Command::new("watchman").args(["--no-spawn", "watch-list"]).output();
        Self { is_ours: running.is_ok_and(|output| !output.status.success()) }
    }
}

impl Drop for WatchmanServer {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = Command::new("watchman").args(["--no-spawn", "shutdown-server"]).output();
        }
    }
}

pub(crate) struct JjPeer {
    tools: BenchTools,
    program: PathBuf,
    name: String,
    site: TreeCopy,
    watchman: bool,
    /// The space of the repository before jj was there.
    before: u64,
    latest: String,
}

impl JjPeer {
    /// With `watchman`, jj asks it what has changed.
    pub(crate) fn new(
        tools: &BenchTools,
        name: &str,
        site: TreeCopy,
        watchman: bool,
    ) -> Result<Self> {
        let program = tools.jj.clone().context("jj is not installed")?;
        let config =
            if watchman { format!("{JJ_CONFIG}{WATCHMAN_CONFIG}") } else { JJ_CONFIG.to_owned() };
        files::write(&site.peer_folder.join("config.toml"), config.as_bytes())?;
        let (tools, name) = (tools.clone(), name.to_owned());
        Ok(Self { tools, program, name, site, watchman, before: 0, latest: String::new() })
    }

    fn jj(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.command(&self.program, &self.site.root);
        command.env("JJ_CONFIG", self.site.peer_folder.join("config.toml"));
        command.args(["--quiet", "--no-pager"]).args(arguments);
        command
    }

    fn repository_space(&self) -> Result<u64> {
        let git = self.site.root.join(".git");
        Ok(files::space(&git, self.site.repository.as_deref())?.own)
    }

    fn note_latest(&mut self) -> Result<()> {
        let log = ["log", "--ignore-working-copy", "--no-graph", "-r", "@", "-T", "commit_id"];
        run(&mut self.jj(&log))?.trim().clone_into(&mut self.latest);
        Ok(())
    }
}

impl Peer for JjPeer {
    fn name(&self) -> &str {
        &self.name
    }

    fn root(&self) -> &Path {
        &self.site.root
    }

    fn first_checkpoint(&mut self) -> Result<Measurement> {
        self.stop()?;
        files::remove(&self.site.root.join(".jj"))?;
        self.site.renew_repository()?;
        self.before = self.repository_space()?;
        files::sync_file_system(&self.site.root)?;
        let mut init = self.jj(&["git", "init"]);
        if self.site.repository.is_some() {
            init.arg("--colocate");
        }
        let mut watch = ProcessTimer::start();
        watch.run(&mut init)?;
        watch.run(&mut self.jj(self.tools.jj_snapshot))?;
        let run = watch.stop();
        self.note_latest()?;
        Ok(run)
    }

    fn checkpoint(&mut self) -> Result<Measurement> {
        let mut watch = ProcessTimer::start();
        watch.run(&mut self.jj(self.tools.jj_snapshot))?;
        let run = watch.stop();
        self.note_latest()?;
        Ok(run)
    }

    fn restore(&mut self, _changed: &[PathBuf]) -> Result<Measurement> {
        let mut watch = ProcessTimer::start();
        watch.run(&mut self.jj(&["restore", "--from", &self.latest]))?;
        Ok(watch.stop())
    }

    fn space(&mut self) -> Result<DiskSpace> {
        let own = files::space(&self.site.root.join(".jj"), None)?.own;
        let added = self.repository_space()?.saturating_sub(self.before);
        Ok(DiskSpace { own: own + added, shared: 0 })
    }

    fn stop(&mut self) -> Result<()> {
        if self.watchman {
            let mut command = self.tools.command(Path::new("watchman"), &self.site.peer_folder);
            run(command.args(["--no-spawn", "watch-del"]).arg(&self.site.root)).ok();
        }
        Ok(())
    }
}
