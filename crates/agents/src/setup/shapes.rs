//! Hook file specifications of each agent: events, keys and units. Found by running the agents;
//! Cursor's are from its documentation.

use super::hooks::{Event, Hooks};
use crate::Agent;

/// Hook timeout set in the agents' files; hooks answer within two seconds, so it must never be hit.
const SECONDS: u32 = 10;

const fn on(name: &'static str) -> Event {
    Event { name, matcher: None, timeout: SECONDS }
}

const fn on_tools(name: &'static str) -> Event {
    Event { name, matcher: Some("*"), timeout: SECONDS }
}

const fn in_milliseconds(event: Event) -> Event {
    Event { timeout: event.timeout * 1000, ..event }
}

/// Codex allows no more than three seconds when it is about to end.
const fn at_the_end(name: &'static str) -> Event {
    Event { name, matcher: None, timeout: 3 }
}

const GROUPED: Hooks = Hooks {
    agent: Agent::ClaudeCode,
    events: &[],
    grouped: true,
    command_key: "command",
    timeout_key: "timeout",
    besides: &[("type", "command")],
    versioned: false,
    names_event: false,
    switch: None,
    off_list: &[],
};

pub(super) const CLAUDE_CODE: Hooks = Hooks {
    events: &[
        on("SessionStart"),
        on("UserPromptSubmit"),
        on_tools("PreToolUse"),
        on_tools("PostToolUse"),
        on_tools("PostToolUseFailure"),
        on("PostToolBatch"),
        on("Stop"),
        on("SubagentStart"),
        on("SubagentStop"),
        on("SessionEnd"),
    ],
    switch: Some((&["disableAllHooks"], true)),
    ..GROUPED
};

pub(super) const CODEX: Hooks = Hooks {
    agent: Agent::Codex,
    events: &[
        on("SessionStart"),
        on("UserPromptSubmit"),
        on("PreToolUse"),
        on("PostToolUse"),
        on("SubagentStart"),
        on("SubagentStop"),
        on("Stop"),
        at_the_end("Interrupt"),
        at_the_end("SessionEnd"),
    ],
    ..GROUPED
};

pub(super) const GEMINI: Hooks = Hooks {
    agent: Agent::Gemini,
    events: &[
        in_milliseconds(on("SessionStart")),
        in_milliseconds(on("BeforeAgent")),
        in_milliseconds(on_tools("BeforeTool")),
        in_milliseconds(on_tools("AfterTool")),
        in_milliseconds(on("AfterAgent")),
        in_milliseconds(on("SessionEnd")),
    ],
    besides: &[("name", "retake"), ("type", "command")],
    switch: Some((&["hooksConfig", "enabled"], false)),
    off_list: &["hooksConfig", "disabled"],
    ..GROUPED
};

/// With these names the payload is in one shape for all events but `SubagentStart`, which does
/// not name itself.
pub(super) const COPILOT: Hooks = Hooks {
    agent: Agent::Copilot,
    events: &[
        on("SessionStart"),
        on("UserPromptSubmit"),
        on("PreToolUse"),
        on("PostToolUse"),
        on("PostToolUseFailure"),
        on("Stop"),
        on("SubagentStart"),
        on("SubagentStop"),
        on("SessionEnd"),
    ],
    grouped: false,
    command_key: "bash",
    timeout_key: "timeoutSec",
    versioned: true,
    names_event: true,
    ..GROUPED
};

pub(super) const CURSOR: Hooks = Hooks {
    agent: Agent::Cursor,
    events: &[
        on("sessionStart"),
        on("beforeSubmitPrompt"),
        on("preToolUse"),
        on("postToolUse"),
        on("afterFileEdit"),
        on("stop"),
        on("sessionEnd"),
    ],
    grouped: false,
    besides: &[],
    versioned: true,
    ..GROUPED
};

/// The events for which Cline has scripts.
pub(super) const CLINE: [&str; 7] = [
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "TaskComplete",
    "TaskCancel",
];
