//! opencode; a plugin of our own sends its events.

pub(crate) mod history;
mod hooks;
pub(crate) mod reads;
pub(crate) mod setup;
mod transcript;

use crate::AgentKind;
use crate::agent::AgentSpec;
use crate::transcript::TranscriptSource;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    kind: AgentKind::Opencode,
    name: "opencode",
    title: "opencode",
    is_untested: false,
    folder_variable: None,
    parse_hook: hooks::parse_hook,
    replies: hooks::REPLIES,
    transcript: TranscriptSource::Hooks(transcript::read_message),
    history: Some(&history::FORMAT),
    setup: Some(setup::SETUP),
};
