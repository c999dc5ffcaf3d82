//! GitHub Copilot in VS Code, run by the editor itself. **Untested: from its documentation.**
//!
//! It has no hook settings of its own: it runs the hooks that it finds in the settings of Claude
//! Code (`~/.claude/settings.json`) and of Copilot CLI (`.github/hooks`, `~/.copilot/hooks`). So
//! its payloads arrive under their names, and [`sender`] tells them apart.

mod hooks;
pub(crate) mod sender;

use crate::AgentKind;
use crate::agent::AgentSpec;
use crate::transcript::TranscriptSource;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    kind: AgentKind::CopilotVscode,
    name: "copilot-vscode",
    title: "Copilot in VS Code",
    is_untested: true,
    folder_variable: None,
    parse_hook: hooks::parse_hook,
    replies: hooks::REPLIES,
    // VS Code documents the file's place, and that its form is no interface.
    transcript: TranscriptSource::Unknown,
    history: None,
    setup: None,
};
