//! The settings of Gemini CLI: files, and the shape of its hooks. Found by running it.

use crate::AgentKind;
use crate::setup::hook_file::{
    DisableSwitch, GROUPED_HOOKS, HookFileSpec, event, in_milliseconds, tool_event,
};
use crate::setup::{ConfigFolder, SetupFileKind, SetupFiles, SetupSpec};

pub(crate) const SETUP: SetupSpec = SetupSpec {
    programs: &["gemini"],
    config_folder: ConfigFolder {
        variable: Some("GEMINI_CLI_HOME"),
        default: "",
        inside: Some(".gemini"),
    },
    user_path: "settings.json",
    project_path: ".gemini/settings.json",
    files: SetupFiles::One(SetupFileKind::Hooks(&HOOK_FILE)),
    user_switch_files: &[],
    project_switch_files: &[],
};

const HOOK_FILE: HookFileSpec = HookFileSpec {
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
    disable_switch: Some(DisableSwitch { path: &["hooksConfig", "enabled"], off_value: false }),
    disabled_list: &["hooksConfig", "disabled"],
    ..GROUPED_HOOKS
};
