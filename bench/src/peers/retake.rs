//! Retake, driven as its users and their agents drive it: by its commands and its hooks.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::Peer;
use crate::files::{self, DiskSpace};
use crate::process::{Measurement, ProcessTimer, measure, run};
use crate::tools::BenchTools;
use crate::trees::TreeCopy;

const WATCHER_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct RetakePeer {
    tools: BenchTools,
    name: String,
    site: TreeCopy,
    daemon: bool,
    latest: String,
}

impl RetakePeer {
    /// With `daemon`, one runs and has scanned the project; without, commands work in process.
    pub(crate) fn new(tools: &BenchTools, name: &str, site: TreeCopy, daemon: bool) -> Self {
        let (tools, name) = (tools.clone(), name.to_owned());
        Self { tools, name, site, daemon, latest: String::new() }
    }

    /// Returns Retake's home, with the record.
    pub(crate) fn home(&self) -> PathBuf {
        self.site.peer_folder.join("home")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.command(&self.tools.retake, &self.site.root);
        command.env("RETAKE_HOME", self.home()).args(arguments);
        if !self.daemon {
            command.env("RETAKE_NO_DAEMON", "1");
        }
        command
    }

    /// Takes the first state of the tree.
    fn begin(&mut self, watch: &mut ProcessTimer) -> Result<()> {
        let said = watch.run(&mut self.command(&["init", "--checkpoint", "--json"]))?;
        self.remember_checkpoint(&said, "checkpoint")
    }

    fn checkpoint_files(&mut self, watch: &mut ProcessTimer) -> Result<()> {
        let said = watch.run(&mut self.command(&["checkpoint", "--json"]))?;
        self.remember_checkpoint(&said, "id")
    }

    /// Remembers the checkpoint that a command says it made.
    fn remember_checkpoint(&mut self, said: &str, key: &str) -> Result<()> {
        let said: Value = serde_json::from_str(said)?;
        let id = said[key].as_str().context("a checkpoint has an id")?;
        id.clone_into(&mut self.latest);
        Ok(())
    }

    fn start(&self) -> Result<()> {
        if self.daemon {
            // Not in the project: it is to meet it when it is asked.
            run(self.command(&["daemon", "start"]).current_dir(&self.site.peer_folder))?;
        }
        Ok(())
    }

    /// Waits until the daemon watches the project.
    fn await_watcher(&self) -> Result<()> {
        if !self.daemon {
            return Ok(());
        }
        let until = Instant::now() + WATCHER_TIMEOUT;
        loop {
            run(&mut self.command(&["status", "--json"]))?;
            let said = run(&mut self.command(&["daemon", "status", "--json"]))?;
            if said.contains("\"on\"") {
                return Ok(());
            }
            ensure!(Instant::now() < until, "the daemon does not watch the project: {said}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the daemon's peak memory until now.
    pub(crate) fn daemon_peak_kib(&self) -> Option<u64> {
        let said = run(&mut self.command(&["daemon", "status", "--json"])).ok()?;
        let pid = serde_json::from_str::<Value>(&said).ok()?["pid"].as_u64()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    }

    /// Returns the space before cleanup: with the database's write-ahead log.
    pub(crate) fn space_before_cleanup(&self) -> Result<DiskSpace> {
        files::space(&self.home(), Some(&self.site.objects()))
    }

    /// Takes back everything that an agent did.
    pub(crate) fn roll_back(&self, dialog: &str) -> Result<Measurement> {
        measure(&mut self.command(&["rollback", "--dialog", dialog, "--yes"]))
    }

    /// Returns the number of recorded changes of a dialog.
    pub(crate) fn recorded(&self, dialog: &str) -> Result<usize> {
        let said = run(&mut self.command(&["log", "--dialog", dialog, "--json"]))?;
        let said: Value = serde_json::from_str(&said)?;
        Ok(said["changes"].as_array().map_or(0, Vec::len))
    }

    /// An agent that works here.
    pub(crate) fn agent(&self, dialog: &str) -> AgentHooks<'_> {
        AgentHooks { retake: self, dialog: dialog.to_owned(), calls: 0 }
    }
}

impl Peer for RetakePeer {
    fn name(&self) -> &str {
        &self.name
    }

    fn root(&self) -> &Path {
        &self.site.root
    }

    fn first_checkpoint(&mut self) -> Result<Measurement> {
        self.stop()?;
        self.site.clear_peer_folder()?;
        self.start()?;
        files::sync_file_system(&self.site.peer_folder)?;
        let mut watch = ProcessTimer::start();
        self.begin(&mut watch)?;
        let first = watch.stop();
        self.await_watcher()?;
        Ok(first)
    }

    fn checkpoint(&mut self) -> Result<Measurement> {
        let mut watch = ProcessTimer::start();
        self.checkpoint_files(&mut watch)?;
        Ok(watch.stop())
    }

    fn restore(&mut self, _changed: &[PathBuf]) -> Result<Measurement> {
        measure(&mut self.command(&["restore", &self.latest, "--yes"]))
    }

    fn space(&mut self) -> Result<DiskSpace> {
        self.stop()?;
        run(self.command(&["gc"]).env("RETAKE_NO_DAEMON", "1"))?;
        let space = self.space_before_cleanup()?;
        self.start()?;
        self.await_watcher()?;
        Ok(space)
    }

    fn stop(&mut self) -> Result<()> {
        if self.daemon && self.home().exists() {
            // It may have ended by itself, or never have been started.
            run(&mut self.command(&["daemon", "stop"])).ok();
        }
        Ok(())
    }
}

/// Nothing runs on when a case fails.
impl Drop for RetakePeer {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// The hooks of an agent: the payloads of Claude Code before and after it edits a file.
pub(crate) struct AgentHooks<'a> {
    retake: &'a RetakePeer,
    dialog: String,
    calls: u64,
}

/// The cost of one edit.
pub(crate) struct CaptureCost {
    pub(crate) begin: Measurement,
    pub(crate) end: Measurement,
}

impl AgentHooks<'_> {
    /// Replaces a piece of text in a file, with the hooks before and after it.
    pub(crate) fn edit(&mut self, path: &Path, old: &str, new: &str) -> Result<CaptureCost> {
        self.calls += 1;
        let file = self.retake.root().join(path);
        let before = std::fs::read_to_string(&file)?;
        if !before.contains(old) {
            bail!("{} does not have the text that is to be replaced", path.display());
        }
        let input = json!({
            "file_path": file, "old_string": old, "new_string": new, "replace_all": false,
        });
        let begin = self.run_hook("PreToolUse", &input, None)?;
        files::write(&file, before.replacen(old, new, 1).as_bytes())?;
        let answer = json!({
            "filePath": file, "oldString": old, "newString": new, "originalFile": before,
            "structuredPatch": [], "userModified": false, "replaceAll": false,
        });
        let end = self.run_hook("PostToolUse", &input, Some(answer))?;
        Ok(CaptureCost { begin, end })
    }

    fn run_hook(&self, event: &str, input: &Value, answer: Option<Value>) -> Result<Measurement> {
        let mut payload = json!({
            "session_id": self.dialog, "cwd": self.retake.root(), "hook_event_name": event,
            "transcript_path": self.retake.site.peer_folder.join("transcript.jsonl"),
            "permission_mode": "default", "tool_name": "Edit", "tool_input": input,
            "tool_use_id": format!("toolu_{}_{}", self.dialog, self.calls),
        });
        if let Some(answer) = answer {
            payload["tool_response"] = answer;
            payload["duration_ms"] = json!(25);
        }
        let file = self.retake.site.peer_folder.join("payload.json");
        files::write(&file, payload.to_string().as_bytes())?;
        files::sync_file_system(&self.retake.site.peer_folder)?;
        measure(self.retake.command(&["hook", "claude-code"]).stdin(File::open(&file)?))
    }
}
