//! The settings of Codex: files, and the shape of its hooks. Found by running it.

use crate::AgentKind;
use crate::setup::hook_file::{GROUPED_HOOKS, HookEventSpec, HookFileSpec, event};
use crate::setup::{ConfigFolder, SetupFileKind, SetupFiles, SetupSpec};

pub(crate) const SETUP: SetupSpec = SetupSpec {
    programs: &["codex"],
    config_folder: ConfigFolder { variable: Some("CODEX_HOME"), default: ".codex", inside: None },
    user_path: "hooks.json",
    project_path: ".codex/hooks.json",
    files: SetupFiles::One(SetupFileKind::Hooks(&HOOK_FILE)),
    user_switch_files: &[],
    project_switch_files: &[],
};

pub(crate) const HOOK_FILE: HookFileSpec = HookFileSpec {
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

/// Codex allows no more than three seconds when it is about to end.
const fn ending_event(name: &'static str) -> HookEventSpec {
    HookEventSpec { name, matcher: None, timeout: 3 }
}
