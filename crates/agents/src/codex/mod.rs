//! Codex CLI.

pub(crate) mod history;
mod hooks;
mod setup;
pub(crate) mod transcript;
pub mod trust;

use crate::agent::AgentSpec;
use crate::transcript::TranscriptSource;
use crate::{AgentKind, claude_code};

pub(crate) const SPEC: AgentSpec = AgentSpec {
    kind: AgentKind::Codex,
    name: "codex",
    title: "Codex",
    is_untested: false,
    folder_variable: None,
    parse_hook: hooks::parse_hook,
    replies: claude_code::hooks::REPLIES,
    transcript: TranscriptSource::Lines(transcript::read_line),
    history: Some(&history::FORMAT),
    setup: Some(setup::SETUP),
};
