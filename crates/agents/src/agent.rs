//! The agents that Retake knows by name, and the list of their rows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::history::FormatSpec;
use crate::parse::HookParser;
use crate::reply::HookReplies;
use crate::setup::SetupSpec;
use crate::transcript::TranscriptSource;
use crate::{claude_code, cline, codex, copilot, copilot_vscode, cursor, gemini, opencode};

/// An agent product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
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
    /// Cursor; written from its documentation, not tried.
    Cursor,
    /// GitHub Copilot in VS Code; written from its documentation, not tried.
    CopilotVscode,
}

/// A name that stands for no agent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent '{0}'; known agents: {list}", list = agent_names())]
pub struct UnknownAgent(String);

/// The row of each agent, in the order of [`AgentKind`].
const SPECS: [&AgentSpec; 8] = [
    &claude_code::SPEC,
    &codex::SPEC,
    &gemini::SPEC,
    &opencode::SPEC,
    &copilot::SPEC,
    &cline::SPEC,
    &cursor::SPEC,
    &copilot_vscode::SPEC,
];

/// What one agent is called, and how its formats are read and written.
pub(crate) struct AgentSpec {
    pub(crate) kind: AgentKind,
    /// The stable name, in commands and as the `kind` of events.
    pub(crate) name: &'static str,
    /// The product name for people.
    pub(crate) title: &'static str,
    /// Whether the agent was never run with Retake: its formats are from its documentation.
    pub(crate) is_untested: bool,
    /// The environment variable in which it tells its hooks the project's folder.
    pub(crate) folder_variable: Option<&'static str>,
    /// Parses the payload of the hook with this name.
    pub(crate) parse_hook: HookParser,
    /// The replies that its hooks understand.
    pub(crate) replies: HookReplies,
    pub(crate) transcript: TranscriptSource,
    /// The format of its conversations; `None` if it is not known.
    pub(crate) history: Option<&'static FormatSpec>,
    /// How its settings get hooks; `None` if it has none of its own, and reads those of others.
    pub(crate) setup: Option<SetupSpec>,
}

impl AgentKind {
    /// Every agent.
    pub const ALL: [Self; SPECS.len()] = {
        let mut all = [Self::ClaudeCode; SPECS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = SPECS[at].kind;
            assert!(all[at] as usize == at, "rows are in the order of the variants");
            at += 1;
        }
        all
    };

    pub(crate) fn spec(self) -> &'static AgentSpec {
        SPECS[self as usize]
    }

    /// Returns the stable name, in commands and as the `kind` of events.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns the product name for people.
    pub fn title(self) -> &'static str {
        self.spec().title
    }

    /// Returns true if the agent was never run with Retake: its formats are from its documentation.
    pub fn is_untested(self) -> bool {
        self.spec().is_untested
    }

    /// Returns the environment variable in which it tells its hooks the project's folder.
    pub fn folder_variable(self) -> Option<&'static str> {
        self.spec().folder_variable
    }
}

fn agent_names() -> String {
    AgentKind::ALL.map(AgentKind::name).join(", ")
}

impl fmt::Display for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for AgentKind {
    type Err = UnknownAgent;

    fn from_str(text: &str) -> Result<Self, UnknownAgent> {
        let wanted = if text == "claude" { "claude-code" } else { text };
        let found = Self::ALL.into_iter().find(|agent| agent.name() == wanted);
        found.ok_or_else(|| UnknownAgent(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_are_told_the_list() {
        for agent in AgentKind::ALL {
            assert_eq!(agent.name().parse(), Ok(agent));
            assert_eq!(serde_json::to_value(agent).unwrap(), agent.name());
        }
        assert_eq!("claude".parse(), Ok(AgentKind::ClaudeCode));
        let error = "clippy".parse::<AgentKind>().unwrap_err().to_string();
        assert!(error.contains("clippy") && error.contains("gemini"), "{error}");
    }
}
