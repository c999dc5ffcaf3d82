//! Hook file specifications of each agent: events, keys and units. Found by running the agents;
//! Cursor's are from its documentation.

use super::hooks::{HookEventSpec, HookFileSpec};
use crate::AgentKind;

/// Hook timeout set in the agents' files; hooks answer within two seconds, so it must never be hit.
const HOOK_TIMEOUT_SECONDS: u32 = 10;

const fn event(name: &'static str) -> HookEventSpec {
    HookEventSpec { name, matcher: None, timeout: HOOK_TIMEOUT_SECONDS }
}

const fn tool_event(name: &'static str) -> HookEventSpec {
    HookEventSpec { name, matcher: Some("*"), timeout: HOOK_TIMEOUT_SECONDS }
}

const fn in_milliseconds(event: HookEventSpec) -> HookEventSpec {
    HookEventSpec { timeout: event.timeout * 1000, ..event }
}

/// Codex allows no more than three seconds when it is about to end.
const fn ending_event(name: &'static str) -> HookEventSpec {
    HookEventSpec { name, matcher: None, timeout: 3 }
}

const GROUPED_HOOKS: HookFileSpec = HookFileSpec {
    agent: AgentKind::ClaudeCode,
    events: &[],
    grouped: true,
    command_key: "command",
    timeout_key: "timeout",
    extra_keys: &[("type", "command")],
    versioned: false,
    names_event: false,
    disable_switch: None,
    disabled_list: &[],
};

pub(super) const CLAUDE_CODE: HookFileSpec = HookFileSpec {
    events: &[
        event("SessionStart"),
        event("UserPromptSubmit"),
        tool_event("PreToolUse"),
        tool_event("PostToolUse"),
        tool_event("PostToolUseFailure"),
        event("PostToolBatch"),
        event("Stop"),
        event("SubagentStart"),
        event("SubagentStop"),
        event("SessionEnd"),
    ],
    disable_switch: Some((&["disableAllHooks"], true)),
    ..GROUPED_HOOKS
};

pub(super) const CODEX: HookFileSpec = HookFileSpec {
    agent: AgentKind::Codex,
    events: &[
        event("SessionStart"),
        event("UserPromptSubmit"),
        event("PreToolUse"),
        event("PostToolUse"),
        event("SubagentStart"),
        event("SubagentStop"),
        event("Stop"),
        ending_event("Interrupt"),
        ending_event("SessionEnd"),
    ],
    ..GROUPED_HOOKS
};

pub(super) const GEMINI: HookFileSpec = HookFileSpec {
    agent: AgentKind::Gemini,
    events: &[
        in_milliseconds(event("SessionStart")),
        in_milliseconds(event("BeforeAgent")),
        in_milliseconds(tool_event("BeforeTool")),
        in_milliseconds(tool_event("AfterTool")),
        in_milliseconds(event("AfterAgent")),
        in_milliseconds(event("SessionEnd")),
    ],
    extra_keys: &[("name", "retake"), ("type", "command")],
    disable_switch: Some((&["hooksConfig", "enabled"], false)),
    disabled_list: &["hooksConfig", "disabled"],
    ..GROUPED_HOOKS
};

/// With these names the payload is in one shape for all events but `SubagentStart`, which does
/// not name itself.
pub(super) const COPILOT: HookFileSpec = HookFileSpec {
    agent: AgentKind::Copilot,
    events: &[
        event("SessionStart"),
        event("UserPromptSubmit"),
        event("PreToolUse"),
        event("PostToolUse"),
        event("PostToolUseFailure"),
        event("Stop"),
        event("SubagentStart"),
        event("SubagentStop"),
        event("SessionEnd"),
    ],
    grouped: false,
    command_key: "bash",
    timeout_key: "timeoutSec",
    versioned: true,
    names_event: true,
    ..GROUPED_HOOKS
};

pub(super) const CURSOR: HookFileSpec = HookFileSpec {
    agent: AgentKind::Cursor,
    events: &[
        event("sessionStart"),
        event("beforeSubmitPrompt"),
        event("preToolUse"),
        event("postToolUse"),
        event("afterFileEdit"),
        event("stop"),
        event("sessionEnd"),
    ],
    grouped: false,
    extra_keys: &[],
    versioned: true,
    ..GROUPED_HOOKS
};

/// The events for which Cline has scripts.
pub(super) const CLINE_EVENTS: [&str; 7] = [
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "TaskComplete",
    "TaskCancel",
];
