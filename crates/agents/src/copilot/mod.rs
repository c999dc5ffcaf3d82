//! GitHub Copilot CLI.

pub(crate) mod history;
mod hooks;
mod setup;
mod transcript;

use crate::AgentKind;
use crate::agent::AgentSpec;
use crate::transcript::TranscriptSource;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    kind: AgentKind::Copilot,
    name: "copilot",
    title: "Copilot CLI",
    is_untested: false,
    folder_variable: Some("COPILOT_PROJECT_DIR"),
    parse_hook: hooks::parse_hook,
    replies: hooks::REPLIES,
    transcript: TranscriptSource::Lines(transcript::read_line),
    history: Some(&history::FORMAT),
    setup: Some(setup::SETUP),
};
