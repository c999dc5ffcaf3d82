//! The shape of a JSON file with hooks: events, keys and units. Each agent's own is in its `setup`.

use crate::AgentKind;

/// Hook timeout set in the agents' files; hooks answer within two seconds, so it must never be hit.
const HOOK_TIMEOUT_SECONDS: u32 = 10;

/// One event that Retake wants to hear of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookEventSpec {
    pub(crate) name: &'static str,
    /// For which tools, where the agent asks for it.
    pub(crate) matcher: Option<&'static str>,
    /// How long the agent waits, in its own unit.
    pub(crate) timeout: u32,
}

/// The shape of an agent's hook file.
#[derive(Clone, Copy, Debug)]
pub struct HookFileSpec {
    pub(crate) agent: AgentKind,
    pub(crate) events: &'static [HookEventSpec],
    /// Handlers lie in groups with a matcher, not directly in the event's list.
    pub(crate) grouped: bool,
    /// The key of a handler's command line.
    pub(crate) command_key: &'static str,
    /// The key of a handler's timeout.
    pub(crate) timeout_key: &'static str,
    /// What a handler has besides.
    pub(crate) extra_keys: &'static [(&'static str, &'static str)],
    /// Whether the file must have a version.
    pub(crate) versioned: bool,
    /// Whether the event is named in the command, because some payloads do not name it.
    pub(crate) names_event: bool,
    /// The setting that turns all hooks off.
    pub(crate) disable_switch: Option<DisableSwitch>,
    /// The setting that lists single hooks that are off.
    pub(crate) disabled_list: &'static [&'static str],
}

/// A setting that turns all hooks off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisableSwitch {
    /// The keys that lead to it.
    pub(crate) path: &'static [&'static str],
    /// Its value when hooks are off.
    pub(crate) off_value: bool,
}

/// An event that is no call of a tool.
pub(crate) const fn event(name: &'static str) -> HookEventSpec {
    HookEventSpec { name, matcher: None, timeout: HOOK_TIMEOUT_SECONDS }
}

/// An event of every tool, for agents that ask for which tools it is.
pub(crate) const fn tool_event(name: &'static str) -> HookEventSpec {
    HookEventSpec { name, matcher: Some("*"), timeout: HOOK_TIMEOUT_SECONDS }
}

/// The event for an agent that counts timeouts in milliseconds.
pub(crate) const fn in_milliseconds(event: HookEventSpec) -> HookEventSpec {
    HookEventSpec { timeout: event.timeout * 1000, ..event }
}

/// The shape that Claude Code introduced, without events.
pub(crate) const GROUPED_HOOKS: HookFileSpec = HookFileSpec {
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
