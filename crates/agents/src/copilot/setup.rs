//! The settings of Copilot CLI: files, and the shape of its hooks. Found by running it.

use crate::AgentKind;
use crate::setup::hook_file::{GROUPED_HOOKS, HookFileSpec, event};
use crate::setup::{ConfigFolder, SetupFileKind, SetupFiles, SetupSpec};

pub(crate) const SETUP: SetupSpec = SetupSpec {
    programs: &["copilot"],
    config_folder: ConfigFolder {
        variable: Some("COPILOT_HOME"),
        default: ".copilot",
        inside: None,
    },
    user_path: "hooks/retake.json",
    project_path: ".github/hooks/retake.json",
    files: SetupFiles::One(SetupFileKind::Hooks(&HOOK_FILE)),
    user_switch_files: &[],
    project_switch_files: &[],
};

/// With these names the payload is in one shape for all events but `SubagentStart`, which does
/// not name itself.
const HOOK_FILE: HookFileSpec = HookFileSpec {
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
