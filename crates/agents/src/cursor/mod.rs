//! Cursor. **Untested: from its documentation.**

mod hooks;
mod setup;

use crate::AgentKind;
use crate::agent::AgentSpec;
use crate::transcript::TranscriptSource;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    kind: AgentKind::Cursor,
    name: "cursor",
    title: "Cursor",
    is_untested: true,
    folder_variable: Some("CURSOR_PROJECT_DIR"),
    parse_hook: hooks::parse_hook,
    replies: hooks::REPLIES,
    transcript: TranscriptSource::Unknown,
    history: None,
    setup: Some(setup::SETUP),
};
