//! Agents' command lines in a home of their own.
//!
//! An [`AgentDriver`] writes the settings that point an agent to the scripted model, and leaves them
//! alone after that, so that others may add to them, such as `retake setup`. Each turn is one
//! process in a group of its own, with a cleared environment. A turn that exceeds its timeout
//! fails the test with a full report.

mod launch;
mod process;
mod slots;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use process::{AgentRun, RunningAgent};

use crate::agent::AgentCli;
use crate::model::ModelServer;
use crate::script::marker;
use launch::LaunchCommand;

/// An agent in a project.
pub struct AgentDriver<'s> {
    agent: AgentCli,
    server: &'s ModelServer,
    home: PathBuf,
    project: PathBuf,
    model: Option<&'static str>,
    environment: Vec<(String, OsString)>,
    arguments: Vec<String>,
}

impl<'s> AgentDriver<'s> {
    /// Writes the agent's settings into `home`, where they are not there yet. Both folders exist.
    ///
    /// # Panics
    /// If the agent is not installed, see [`AgentCli::is_available`].
    pub fn new(agent: AgentCli, server: &'s ModelServer, home: &Path, project: &Path) -> Self {
        let real = |path: &Path| path.canonicalize().expect("the folder exists");
        let (home, project) = (real(home), real(project));
        for (name, text) in launch::settings(agent, &server.address(agent), &project) {
            let file = home.join(name);
            if file.exists() {
                continue;
            }
            let folder = file.parent().expect("it is in the home");
            std::fs::create_dir_all(folder).expect("the home is writable");
            std::fs::write(file, text).expect("the home is writable");
        }
        let (environment, arguments) = (Vec::new(), Vec::new());
        Self { agent, server, home, project, model: None, environment, arguments }
    }

    /// Another model than the agent's usual one; it decides on the tools that Codex offers.
    #[must_use]
    pub fn model(mut self, model: &'static str) -> Self {
        self.model = Some(model);
        self
    }

    /// Gives the agent a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Gives the command line one more option.
    #[must_use]
    pub fn arg(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// The agent.
    pub fn agent(&self) -> AgentCli {
        self.agent
    }

    /// A new conversation: the person says `prompt`, the model plays the script.
    pub fn turn(&self, script: &str, prompt: &str) -> AgentRun {
        self.start(script, prompt).wait()
    }

    /// The next turn of the newest conversation; a new one if the agent cannot resume, see
    /// [`AgentCli::can_resume`].
    pub fn resume_and_wait(&self, script: &str, prompt: &str) -> AgentRun {
        self.resume(script, prompt).wait()
    }

    /// Begins the next turn of the newest conversation without waiting for its end.
    pub fn resume(&self, script: &str, prompt: &str) -> RunningAgent<'_> {
        let slots = slots::acquire(1);
        self.spawn(script, prompt, true, slots)
    }

    /// Begins a new conversation without waiting for its end.
    pub fn start(&self, script: &str, prompt: &str) -> RunningAgent<'_> {
        let slots = slots::acquire(1);
        self.spawn(script, prompt, false, slots)
    }

    /// Several new conversations at the same time. They start together, so that they may meet.
    pub fn turns_at_once<const N: usize>(turns: [(&Self, &str, &str); N]) -> [AgentRun; N] {
        let mut slots = slots::acquire(N);
        let running = turns.map(|(driver, script, prompt)| {
            driver.spawn(script, prompt, false, slots.split_off_one())
        });
        running.map(RunningAgent::wait)
    }

    fn spawn(
        &self,
        script: &str,
        prompt: &str,
        resume: bool,
        slots: slots::AgentSlots,
    ) -> RunningAgent<'_> {
        let prompt = format!("{prompt} {}", marker(script));
        let launch = launch::launch_command(
            self.agent,
            &self.server.address(self.agent),
            self.model,
            resume,
        );
        let command = self.command(&launch, &prompt);
        process::start(self, command, script, slots)
    }

    fn command(&self, launch: &LaunchCommand, prompt: &str) -> Command {
        let program = self.agent.program().expect("the test asked whether the agent is here");
        let mut command = Command::new(program);
        command
            .args(&launch.before)
            .args(&self.arguments)
            .args(launch.prompt.iter().copied())
            .arg(prompt)
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("TERM", "xterm-256color")
            .env("RETAKE_AUTOSTART", "0")
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Drop for AgentDriver<'_> {
    /// Cline leaves a daemon behind, which is known by the project in its arguments.
    fn drop(&mut self) {
        if self.agent != AgentCli::Cline {
            return;
        }
        let daemon = format!("--cline-hub-daemon --cwd {} ", self.project.display());
        let _ = Command::new("pkill").args(["-KILL", "-f", "--", &daemon]).status();
    }
}
