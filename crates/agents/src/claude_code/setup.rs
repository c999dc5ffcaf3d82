//! The settings of Claude Code: files, and the shape of its hooks. Found by running it.

use crate::setup::hook_file::{DisableSwitch, GROUPED_HOOKS, HookFileSpec, event, tool_event};
use crate::setup::{ConfigFolder, SetupFileKind, SetupFiles, SetupSpec};

pub(crate) const SETUP: SetupSpec = SetupSpec {
    programs: &["claude"],
    config_folder: ConfigFolder {
        variable: Some("CLAUDE_CONFIG_DIR"),
        default: ".claude",
        inside: None,
    },
    user_path: "settings.json",
    project_path: ".claude/settings.local.json",
    files: SetupFiles::One(SetupFileKind::Hooks(&HOOK_FILE)),
    user_switch_files: &["settings.json", "settings.local.json"],
    project_switch_files: &[".claude/settings.json", ".claude/settings.local.json"],
};

const HOOK_FILE: HookFileSpec = HookFileSpec {
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
    disable_switch: Some(DisableSwitch { path: &["disableAllHooks"], off_value: true }),
    ..GROUPED_HOOKS
};
