//! The plugin that setup writes for opencode: it has no command hooks.

use crate::AgentKind;
use crate::setup::literal::json_string;
use crate::setup::own_file::{OwnFileSpec, is_marked};
use crate::setup::{
    ConfigFolder, FoundHooks, HookCommand, SetupError, SetupFileKind, SetupFiles, SetupSpec,
};

pub(crate) const SETUP: SetupSpec = SetupSpec {
    programs: &["opencode"],
    // opencode reads it even if OPENCODE_CONFIG_DIR names a further folder.
    config_folder: ConfigFolder {
        variable: Some("XDG_CONFIG_HOME"),
        default: ".config",
        inside: Some("opencode"),
    },
    user_path: "plugins/retake.js",
    project_path: ".opencode/plugins/retake.js",
    files: SetupFiles::One(SetupFileKind::Plugin),
    user_switch_files: &[],
    project_switch_files: &[],
};

pub(crate) const PLUGIN: OwnFileSpec =
    OwnFileSpec { agent: AgentKind::Opencode, first_line: "", comment: "//" };

const PLUGIN_SOURCE: &str = include_str!("plugin.js");

/// The plugin; one that the person extended stays as it is.
pub(crate) fn add_plugin(text: Option<&str>, command: &HookCommand) -> Result<String, SetupError> {
    match text {
        Some(text) if PLUGIN.is_blank_or_untouched(text) => Ok(plugin_source(command)),
        None => Ok(plugin_source(command)),
        Some(text) if plugin_call(text).is_some() => Ok(text.to_owned()),
        Some(_) => Err(SetupError::Foreign { way_out: "give it another name".to_owned() }),
    }
}

/// A plugin that was edited cannot be taken apart.
pub(crate) fn remove_plugin(text: &str) -> Result<Option<String>, SetupError> {
    if plugin_call(text).is_some() {
        return Err(SetupError::Edited);
    }
    Ok(Some(text.to_owned()))
}

pub(crate) fn find_plugin(text: &str) -> FoundHooks {
    let call = plugin_call(text);
    let present = usize::from(call.is_some());
    let is_edited = present > 0 && !PLUGIN.is_untouched(text);
    let calls = call.into_iter().collect();
    FoundHooks { present, missing: 1 - present, calls, is_edited, ..FoundHooks::default() }
}

/// The plugin of opencode.
fn plugin_source(command: &HookCommand) -> String {
    let home = command.home().map_or_else(|| "null".to_owned(), js_string);
    let (head, rest) =
        PLUGIN_SOURCE.split_once("__PROGRAM__").expect("the plugin names its program");
    let (middle, tail) = rest.split_once("__HOME__").expect("the plugin names its home");
    let program = js_string(command.program());
    PLUGIN.with_digest_header(&format!("{head}{program}{middle}{home}{tail}"))
}

/// A JSON string is a JavaScript string, but for two line separators.
fn js_string(text: &str) -> String {
    let text = json_string(text);
    text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Returns the command that a plugin written by setup calls.
fn plugin_call(text: &str) -> Option<HookCommand> {
    let constant = |name: &str| {
        let prefix = format!("const {name} = ");
        let value = text.lines().find_map(|line| line.strip_prefix(&prefix))?;
        serde_json::from_str::<Option<String>>(value).ok()
    };
    let program = constant("PROGRAM").flatten().filter(|_| is_marked(text))?;
    Some(HookCommand::from_text(program, constant("HOME")?))
}
