//! Gemini CLI.

pub(crate) mod history;
mod hooks;
pub(crate) mod reads;
mod setup;
mod transcript;

use crate::AgentKind;
use crate::agent::AgentSpec;
use crate::transcript::TranscriptSource;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    kind: AgentKind::Gemini,
    name: "gemini",
    title: "Gemini CLI",
    is_untested: false,
    folder_variable: Some("GEMINI_PROJECT_DIR"),
    parse_hook: hooks::parse_hook,
    replies: hooks::REPLIES,
    transcript: TranscriptSource::Lines(transcript::read_line),
    history: Some(&history::FORMAT),
    setup: Some(setup::SETUP),
};
