//! The hook scripts that setup writes for Cline, one for each event. Found by running it.

use crate::AgentKind;
use crate::setup::own_file::{MADE_BY_MARK, OwnFileSpec, is_marked};
use crate::setup::{
    ConfigFolder, FoundHooks, HookCommand, HookOwner, SetupError, SetupFiles, SetupSpec,
    recognise_hook,
};

pub(crate) const SETUP: SetupSpec = SetupSpec {
    programs: &["cline"],
    config_folder: ConfigFolder { variable: Some("CLINE_DIR"), default: ".cline", inside: None },
    user_path: "hooks",
    project_path: ".clinerules/hooks",
    files: SetupFiles::Scripts(EVENTS),
    user_switch_files: &[],
    project_switch_files: &[],
};

pub(crate) const SCRIPT: OwnFileSpec =
    OwnFileSpec { agent: AgentKind::Cline, first_line: "#!/bin/sh\n", comment: "#" };

/// The events that get a script.
const EVENTS: &[&str] = &[
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "TaskComplete",
    "TaskCancel",
];

/// The script with our part; one of the person's that calls us stays as it is.
pub(crate) fn add_script(
    text: Option<&str>,
    event: &str,
    command: &HookCommand,
) -> Result<String, SetupError> {
    match text {
        Some(text) if SCRIPT.is_blank_or_untouched(text) => Ok(script_source(event, command)),
        None => Ok(script_source(event, command)),
        Some(text) if hook_lines(text, Some(command)).next().is_some() => Ok(text.to_owned()),
        Some(_) => Err(SetupError::Foreign { way_out: manual_advice(event, command) }),
    }
}

/// The script without our line and the words about it. `None` if nothing else is in it.
pub(crate) fn remove_script(text: &str, own: Option<&HookCommand>) -> Option<String> {
    if !is_marked(text) {
        return Some(text.to_owned());
    }
    let is_ours = |line: &str| {
        matches!(recognise_hook(line, AgentKind::Cline, own), Some(HookOwner::Ours(_)))
    };
    let lines = text.split_inclusive('\n');
    let rest: String =
        lines.filter(|line| !line.contains(MADE_BY_MARK) && !is_ours(line)).collect();
    (!matches!(rest.trim(), "" | "#!/bin/sh")).then_some(rest)
}

pub(crate) fn find_script(text: &str, own: Option<&HookCommand>) -> FoundHooks {
    let mut found = FoundHooks::default();
    for (line, call) in hook_lines(text, own) {
        match call {
            HookOwner::Ours(ours) if is_marked(text) => found.calls.push(ours),
            _ => found.theirs.push(line.to_owned()),
        }
    }
    found.present = usize::from(!found.calls.is_empty() || !found.theirs.is_empty());
    found.missing = 1 - found.present;
    found.is_edited = found.present > 0 && !SCRIPT.is_untouched(text);
    found
}

/// The hook script of Cline for an event.
fn script_source(event: &str, command: &HookCommand) -> String {
    let line = command.shell_line(AgentKind::Cline, Some(event));
    SCRIPT.with_digest_header(&(line + "\n"))
}

/// Describes the line for a person's own Cline hook script. Its answer to Cline stays the script's
/// own.
fn manual_advice(event: &str, command: &HookCommand) -> String {
    let call = command.bare_shell_line(AgentKind::Cline, Some(event));
    let line = format!("printf '%s' \"$INPUT\" | {call} >/dev/null || true");
    format!("add this to it, with INPUT for what it reads: {line}")
}

fn hook_lines<'t>(
    text: &'t str,
    own: Option<&'t HookCommand>,
) -> impl Iterator<Item = (&'t str, HookOwner)> {
    text.lines()
        .filter_map(move |line| Some((line.trim(), recognise_hook(line, AgentKind::Cline, own)?)))
}
