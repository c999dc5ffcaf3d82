//! The settings of Cursor: files, and the shape of its hooks. From its documentation.

use crate::AgentKind;
use crate::setup::hook_file::{GROUPED_HOOKS, HookFileSpec, event};
use crate::setup::{ConfigFolder, SetupFileKind, SetupFiles, SetupSpec};

pub(crate) const SETUP: SetupSpec = SetupSpec {
    programs: &["cursor", "cursor-agent"],
    config_folder: ConfigFolder { variable: None, default: ".cursor", inside: None },
    user_path: "hooks.json",
    project_path: ".cursor/hooks.json",
    files: SetupFiles::One(SetupFileKind::Hooks(&HOOK_FILE)),
    user_switch_files: &[],
    project_switch_files: &[],
};

const HOOK_FILE: HookFileSpec = HookFileSpec {
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
