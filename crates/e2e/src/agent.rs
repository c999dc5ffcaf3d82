//! The agents under test, and the paths of their command lines.
//!
//! `install-agents` puts them into `target/agents/<name>`, at the versions of `agents.lock`.

use std::fmt;
use std::path::PathBuf;

use retake_testkit::machine;

/// An agent that runs headless against the scripted model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentCli {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// GitHub Copilot CLI.
    Copilot,
    /// Cline CLI.
    Cline,
}

/// A line of `agents.lock`.
struct LockedVersion {
    version: &'static str,
    program: &'static str,
}

impl AgentCli {
    /// Every agent.
    pub const ALL: [Self; 6] =
        [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Opencode, Self::Copilot, Self::Cline];

    /// The name Retake has for it, in `retake setup` and as the kind of a dialog.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Cline => "cline",
        }
    }

    /// Returns `true` if a conversation can be resumed in another process without a terminal. Cline
    /// opens its screen when it resumes and drops the prompt.
    pub fn can_resume(self) -> bool {
        self != Self::Cline
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// The program, if it is installed at the pinned version.
    pub fn program(self) -> Option<PathBuf> {
        let (pin, folder) = (self.locked_version(), install_folder().join(self.name()));
        let installed = std::fs::read_to_string(folder.join("version")).ok()?;
        (installed.trim() == pin.version)
            .then(|| folder.join("node_modules/.bin").join(pin.program))
    }

    fn locked_version(self) -> LockedVersion {
        let line = include_str!("../agents.lock").lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(self.name())).then(|| words.collect::<Vec<_>>())
        });
        match line.as_deref() {
            Some([_, version, program]) => LockedVersion { version, program },
            _ => panic!("agents.lock has a line for {self}"),
        }
    }

    /// Returns `true` if the tests of this agent can run; if not, reports it loudly.
    ///
    /// # Panics
    /// If it is missing though `RETAKE_REQUIRE_AGENTS=1` asks for all of them.
    pub fn is_available(self) -> bool {
        if self.program().is_some() {
            return true;
        }
        let reason = format!("{self} {} is not installed", self.locked_version().version);
        let is_required = std::env::var_os("RETAKE_REQUIRE_AGENTS").is_some_and(|v| v == "1");
        assert!(!is_required, "{reason}; run crates/e2e/install-agents");
        machine::report_not_run(&reason);
        false
    }
}

impl fmt::Display for AgentCli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The same folder as in `install-agents`.
fn install_folder() -> PathBuf {
    machine::target_folder().join("agents")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_pinned() {
        for agent in AgentCli::ALL {
            assert!(agent.locked_version().version.split('.').count() == 3, "{agent}");
            assert_eq!(AgentCli::from_name(agent.name()), Some(agent));
        }
    }
}
