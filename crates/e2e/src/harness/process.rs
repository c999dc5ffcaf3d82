//! One run of an agent: started, watched, and killed at its timeout.
//!
//! Its output goes to files, since a pipe would stay open as long as any daemon or background
//! command of the agent lives.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::AgentDriver;
use super::slots::AgentSlots;

/// Timeout of a turn: far more than any takes, even on a busy machine.
const TURN_TIMEOUT: Duration = Duration::from_secs(120);

/// A finished run.
#[derive(Debug)]
pub struct AgentRun {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// How long it took, to be shown, never asserted.
    pub took: Duration,
    /// What a failed test prints.
    report: String,
}

/// An agent at work.
pub struct RunningAgent<'d> {
    driver: &'d AgentDriver<'d>,
    child: Child,
    name: String,
    started: Instant,
    stdout: File,
    stderr: File,
    _slots: AgentSlots,
}

impl AgentRun {
    /// Expects success.
    ///
    /// # Panics
    /// With the output and the model's log, if the agent failed.
    #[expect(clippy::return_self_not_must_use, reason = "often success is all that is asked")]
    pub fn expect_success(self) -> Self {
        assert!(self.status.success(), "{}", self.report);
        self
    }

    /// Everything known of the run, for a test that is about to fail.
    pub fn report(&self) -> &str {
        &self.report
    }
}

pub(super) fn start<'d>(
    driver: &'d AgentDriver<'d>,
    mut command: Command,
    name: &str,
    slots: AgentSlots,
) -> RunningAgent<'d> {
    let file = || tempfile::tempfile().expect("a temporary file can be made");
    let (stdout, stderr) = (file(), file());
    let share = |file: &File| Stdio::from(file.try_clone().expect("a handle can be shared"));
    command.stdin(Stdio::null()).stdout(share(&stdout)).stderr(share(&stderr)).process_group(0);
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let started = Instant::now();
    RunningAgent { driver, child, name: name.to_owned(), started, stdout, stderr, _slots: slots }
}

impl RunningAgent<'_> {
    /// Waits for the end.
    ///
    /// # Panics
    /// If it does not come within two minutes.
    pub fn wait(mut self) -> AgentRun {
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return self.finish(status);
            }
            if self.started.elapsed() > TURN_TIMEOUT {
                self.signal(Signal::KILL);
                let status = self.child.wait().expect("it is our child");
                panic!("no end after {TURN_TIMEOUT:?}; killed.\n{}", self.finish(status).report);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills the agent and all of its process group, without a chance to tidy up.
    pub fn kill(mut self) -> AgentRun {
        self.signal(Signal::KILL);
        let status = self.child.wait().expect("it is our child");
        self.finish(status)
    }

    /// Waits until something holds, such as that a file is there.
    ///
    /// # Panics
    /// If the agent ends before that.
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        while !holds() {
            let ended = self.child.try_wait().expect("it is our child");
            if let Some(status) = ended {
                panic!("it ended before {what}\n{}", self.report(status));
            }
            assert!(
                self.started.elapsed() < TURN_TIMEOUT,
                "never saw {what}\n{}",
                self.driver.server.log()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal to the whole process group.
    fn signal(&self, signal: Signal) {
        // The group is gone when all of it has ended, which is as good.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    fn finish(mut self, status: ExitStatus) -> AgentRun {
        let took = self.started.elapsed();
        let report = self.report(status);
        let (stdout, stderr) = (read_output(&mut self.stdout), read_output(&mut self.stderr));
        AgentRun { status, stdout, stderr, took, report }
    }

    fn report(&mut self, status: ExitStatus) -> String {
        format!(
            "{} with script {}: {status} after {:.1?}\n--- stdout\n{}\n--- stderr\n{}\n--- model\n{}",
            self.driver.agent,
            self.name,
            self.started.elapsed(),
            tail(&read_output(&mut self.stdout)),
            tail(&read_output(&mut self.stderr)),
            self.driver.server.log(),
        )
    }
}

impl Drop for RunningAgent<'_> {
    /// A test that fails in between leaves nothing running.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn read_output(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("our own file is readable");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last lines, which tell the most.
fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let start = lines.len().saturating_sub(40);
    let short = |line: &&str| line.chars().take(600).collect::<String>();
    lines[start..].iter().map(short).collect::<Vec<_>>().join("\n")
}
