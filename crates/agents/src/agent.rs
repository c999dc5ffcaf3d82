//! The agents that Retake knows by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
}

/// A name that stands for no agent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent '{0}'; known agents: {list}", list = agent_names())]
pub struct UnknownAgent(String);

impl AgentKind {
    /// Every agent.
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Copilot,
        Self::Cline,
        Self::Cursor,
    ];

    /// The stable name, in commands and as the `kind` of events.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Cline => "cline",
            Self::Cursor => "cursor",
        }
    }

    /// Returns the product name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Copilot => "Copilot CLI",
            Self::Cline => "Cline",
            Self::Cursor => "Cursor",
        }
    }

    /// The environment variable in which it tells its hooks the project's folder.
    pub fn folder_variable(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("CLAUDE_PROJECT_DIR"),
            Self::Gemini => Some("GEMINI_PROJECT_DIR"),
            Self::Copilot => Some("COPILOT_PROJECT_DIR"),
            Self::Cursor => Some("CURSOR_PROJECT_DIR"),
            Self::Codex | Self::Opencode | Self::Cline => None,
        }
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
        }
        assert_eq!("claude".parse(), Ok(AgentKind::ClaudeCode));
        let error = "clippy".parse::<AgentKind>().unwrap_err().to_string();
        assert!(error.contains("clippy") && error.contains("gemini"), "{error}");
    }
}
