//! Cline CLI.

pub(crate) mod history;
mod hooks;
pub(crate) mod reads;
pub(crate) mod setup;
pub(crate) mod transcript;

use crate::AgentKind;
use crate::agent::AgentSpec;
use crate::transcript::TranscriptSource;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    kind: AgentKind::Cline,
    name: "cline",
    title: "Cline",
    is_untested: false,
    folder_variable: None,
    parse_hook: hooks::parse_hook,
    replies: hooks::REPLIES,
    transcript: TranscriptSource::Document {
        read: transcript::read_document,
        parse_message: transcript::read_message,
    },
    history: Some(&history::FORMAT),
    setup: Some(setup::SETUP),
};
