//! Fixture of one measured program: a project, a home, and an agent that calls its hooks.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use retake_engine::model::format_count;
use serde_json::{Value, json};

use crate::process::{ProcessOutputs, run, run_at_once};
use crate::tools::BenchTools;
use crate::{files, generate};

const DIALOG_ID: &str = "8a721139-1fba-46df-9f93-b50021aab146";
const WATCHER_TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Configuration that keeps hooks from starting the daemon.
const CONFIG_WITHOUT_AUTOSTART: &str = "[daemon]\nautostart = false\n";

/// A command of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShellCommand {
    /// Plainly writes nothing.
    Reader,
    /// Says what it writes.
    Writer,
    /// A program that may do anything, and changes one file.
    Unknown,
}

impl ShellCommand {
    pub(super) const ALL: [Self; 3] = [Self::Reader, Self::Writer, Self::Unknown];

    /// As the agent calls it. What is written is another text each time: the same would be no
    /// change.
    fn line(self, round: u64) -> String {
        match self {
            Self::Reader => "ls src".to_owned(),
            Self::Writer => format!("echo {round} > made.txt"),
            Self::Unknown => "make".to_owned(),
        }
    }

    /// As tables call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reader => "ls src",
            Self::Writer => "echo … > made.txt",
            Self::Unknown => "make",
        }
    }

    fn changes(self) -> usize {
        usize::from(self != Self::Reader)
    }
}

/// Options of a seat.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixtureOptions {
    pub(super) files: u64,
    pub(super) daemon: bool,
}

/// A project, a home, and the record of calls there.
pub(super) struct HookFixture<'a> {
    tools: &'a BenchTools,
    program: &'a Path,
    pub(super) options: FixtureOptions,
    folder: PathBuf,
    calls: u64,
    /// Number of changes that the agent made.
    changes: usize,
    /// Lines of the hooks on standard error, and their counts.
    remarks: BTreeMap<String, usize>,
    /// The daemon's watch state, unless the whole project is watched.
    watched: Option<String>,
}

impl<'a> HookFixture<'a> {
    /// Fills a folder with a project and its record; with a daemon that has caught up, or none.
    pub(super) fn new(
        tools: &'a BenchTools,
        program: &'a Path,
        folder: &Path,
        around: FixtureOptions,
    ) -> Result<Self> {
        let (calls, changes, remarks, watched) = (0, 0, BTreeMap::new(), None);
        let folder = folder.to_path_buf();
        let mut seat =
            Self { tools, program, options: around, folder, calls, changes, remarks, watched };
        generate::small_files(&seat.root(), around.files)?;
        files::write(&seat.home().join("config.toml"), CONFIG_WITHOUT_AUTOSTART.as_bytes())?;
        run(&mut seat.command(&["init", "--checkpoint"]))?;
        if around.daemon {
            run(&mut seat.command(&["daemon", "start"]))?;
            seat.watched = Some(seat.await_watcher()?).filter(|state| state != "on");
        }
        Ok(seat)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("project")
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The program, in the project and with the home.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.command(self.program, &self.root());
        command.env("RETAKE_HOME", self.home()).args(arguments);
        command
    }

    /// Waits until the daemon has scanned the whole project; returns its watch state.
    fn await_watcher(&self) -> Result<String> {
        let until = Instant::now() + WATCHER_TIMEOUT;
        loop {
            run(&mut self.command(&["status"]))?;
            let said = self.daemon()?;
            match said["projects"][0]["watch"].as_str() {
                Some(state) if state != "catching up" => return Ok(state.to_owned()),
                _ => ensure!(Instant::now() < until, "the daemon does not catch up: {said}"),
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn daemon(&self) -> Result<Value> {
        let said = run(&mut self.command(&["daemon", "status", "--json"]))?;
        Ok(serde_json::from_str(&said)?)
    }

    /// Runs a command as the agent; returns time and output of the hooks before and after it.
    pub(super) fn call(
        &mut self,
        shell: ShellCommand,
        round: u64,
    ) -> Result<(ProcessOutputs, ProcessOutputs)> {
        let line = shell.line(round);
        self.calls += 1;
        let begin = self.hooks("PreToolUse", &line, &[self.calls])?;
        self.act(shell, &line, round)?;
        self.changes += shell.changes();
        let end = self.hooks("PostToolUse", &line, &[self.calls])?;
        self.wait_for_background(&[&begin, &end])?;
        Ok((begin, end))
    }

    /// Several calls begin at once. They end as well, one by one, before this does.
    pub(super) fn begin_at_once(&mut self, count: usize) -> Result<ProcessOutputs> {
        let line = ShellCommand::Unknown.line(0);
        let calls: Vec<u64> = (self.calls + 1..).take(count).collect();
        self.calls += count as u64;
        let begun = self.hooks("PreToolUse", &line, &calls)?;
        self.wait_for_background(&[&begun])?;
        for call in calls {
            let ended = self.hooks("PostToolUse", &line, &[call])?;
            self.wait_for_background(&[&ended])?;
        }
        Ok(begun)
    }

    /// Does what the command does.
    fn act(&self, shell: ShellCommand, line: &str, round: u64) -> Result<()> {
        if shell == ShellCommand::Unknown {
            let file = generate::small_file(round * 37 % self.options.files);
            return files::append(&self.root().join(file), &format!("// made {round}\n"));
        }
        run(self.tools.command(Path::new("sh"), &self.root()).args(["-c", line]))?;
        Ok(())
    }

    /// Calls hooks at the same time, one for each of these calls of the agent.
    fn hooks(&mut self, event: &str, line: &str, calls: &[u64]) -> Result<ProcessOutputs> {
        let mut commands = Vec::new();
        for call in calls {
            let file = self.folder.join(format!("payload-{call}.json"));
            files::write(&file, self.payload(event, line, *call).to_string().as_bytes())?;
            let mut command = self.command(&["hook", "claude-code"]);
            command.stdin(File::open(&file)?);
            commands.push(command);
        }
        files::sync_file_system(&self.folder)?;
        let heard = run_at_once(&mut commands)?;
        for remark in heard.remarks.iter().flat_map(|said| said.lines()) {
            let remark = format!("{event} of `{line}`: {}", without_time(remark));
            *self.remarks.entry(remark).or_default() += 1;
        }
        Ok(heard)
    }

    /// Returns the payload of Claude Code before or after a command.
    fn payload(&self, event: &str, line: &str, call: u64) -> Value {
        let mut payload = json!({
            "session_id": DIALOG_ID, "transcript_path": self.folder.join("transcript.jsonl"),
            "cwd": self.root(), "prompt_id": "3629d8dc-ee23-460b-b4f7-ad73f731277c",
            "permission_mode": "bypassPermissions", "effort": { "level": "medium" },
            "hook_event_name": event, "tool_name": "Bash",
            "tool_input": { "command": line, "description": "run a command" },
            "tool_use_id": format!("toolu_looks_{call}"),
        });
        if event == "PostToolUse" {
            payload["tool_response"] = json!({
                "stdout": "", "stderr": "", "interrupted": false, "isImage": false,
                "noOutputExpected": false,
            });
            payload["duration_ms"] = json!(25);
        }
        payload
    }

    /// Waits for background processes that hooks with remarks may have left, so that the next
    /// measurement does not pay for them.
    fn wait_for_background(&self, heard: &[&ProcessOutputs]) -> Result<()> {
        if heard.iter().flat_map(|heard| &heard.remarks).all(String::is_empty) {
            return Ok(());
        }
        let until = Instant::now() + WATCHER_TIMEOUT;
        while is_catching_up(&self.home()) {
            ensure!(Instant::now() < until, "what hooks have started does not end");
            thread::sleep(POLL_INTERVAL);
        }
        run(&mut self.command(&["status"]))?;
        Ok(())
    }

    /// Checks the record and removes everything; returns the remarks for the report.
    pub(super) fn check_and_remove(mut self) -> Result<Vec<String>> {
        let running = self.daemon()?["pid"].is_u64();
        ensure!(running == self.options.daemon, "whether a daemon runs has changed meanwhile");
        let mut notes = vec![self.recorded()?];
        let watched = self.watched.iter().map(|state| format!("the daemon watches: {state}"));
        notes.extend(watched);
        let times = |(remark, count): (&String, &usize)| format!("{count} × on stderr, {remark}");
        notes.extend(self.remarks.iter().map(times));
        let with = if self.options.daemon { "daemon" } else { "no daemon" };
        let place = format!("{} files, {with}", format_count(self.options.files));
        self.stop()?;
        files::remove(&self.folder)?;
        Ok(notes.into_iter().map(|note| format!("{place}: {note}")).collect())
    }

    /// Returns how many of the agent's changes are on record as its own.
    fn recorded(&self) -> Result<String> {
        let arguments = ["log", "--dialog", DIALOG_ID, "--limit", "1000000", "--json"];
        let said: Value = serde_json::from_str(&run(&mut self.command(&arguments))?)?;
        let count = said["changes"].as_array().context("a log has changes")?.len();
        Ok(format!("{count} of {} changes on record as the agent's", self.changes))
    }

    fn stop(&mut self) -> Result<()> {
        if std::mem::take(&mut self.options.daemon) {
            run(&mut self.command(&["daemon", "stop"]))?;
        }
        Ok(())
    }
}

/// Nothing runs on when a measurement fails.
impl Drop for HookFixture<'_> {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Returns `true` while a process records the spool that a hook of this home left.
fn is_catching_up(home: &Path) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let home = home.to_string_lossy();
    processes.flatten().any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.split('\0').any(|word| word == "catch-up") && line.contains(home.as_ref())
    })
}

/// A line of a log without the time that it begins with.
fn without_time(line: &str) -> &str {
    let is_time =
        |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with('Z');
    match line.split_once(' ') {
        Some((word, rest)) if is_time(word) => rest.trim_start(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_at_another_time_are_the_same() {
        assert_eq!(without_time("2026-11-17T22:14:46.12Z  WARN kept"), "WARN kept");
        assert_eq!(without_time("warning: kept"), "warning: kept");
    }
}
