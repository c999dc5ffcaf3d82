//! Files that setup writes whole: opencode's plugin and Cline's hook scripts.
//!
//! Their first lines have a digest of the rest, which identifies an unedited file: only such a file
//! is replaced or removed.

use super::command::{HookCommand, HookOwner, recognise_hook};
use super::{FoundHooks, SetupError, hex};
use crate::AgentKind;

/// Mark that identifies a file written by setup, edited or not.
const MADE_BY_MARK: &str = "Made by `retake setup` (";

const PLUGIN_SOURCE: &str = include_str!("opencode.js");

const SHEBANG: &str = "#!/bin/sh\n";

/// The plugin of opencode.
pub(super) fn opencode_plugin(command: &HookCommand) -> String {
    let home = command.home().map_or_else(|| "null".to_owned(), js_string);
    let (head, rest) =
        PLUGIN_SOURCE.split_once("__PROGRAM__").expect("the plugin names its program");
    let (middle, tail) = rest.split_once("__HOME__").expect("the plugin names its home");
    with_digest_header(
        AgentKind::Opencode,
        &format!("{head}{}{middle}{home}{tail}", js_string(command.program())),
    )
}

/// A JSON string is a JavaScript string, but for two line separators.
fn js_string(text: &str) -> String {
    let text = super::literal::json_string(text);
    text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The hook script of Cline for an event.
pub(super) fn cline_script(event: &str, command: &HookCommand) -> String {
    with_digest_header(
        AgentKind::Cline,
        &(command.shell_line(AgentKind::Cline, Some(event)) + "\n"),
    )
}

fn with_digest_header(agent: AgentKind, rest: &str) -> String {
    let (shell, comment) = if agent == AgentKind::Cline { (SHEBANG, "#") } else { ("", "//") };
    let digest = hex(rest.as_bytes(), 8);
    let remove = format!("`retake setup --remove {agent}` takes it away");
    format!("{shell}{comment} {MADE_BY_MARK}{digest}); {remove}.\n{rest}")
}

/// Returns whether setup made the file just as it is.
pub(super) fn is_untouched(text: &str, agent: AgentKind) -> bool {
    let header = text.split_inclusive('\n').find(|line| line.contains(MADE_BY_MARK));
    let rest = header.and_then(|header| text.split_once(header)).map(|(_, rest)| rest);
    rest.is_some_and(|rest| with_digest_header(agent, rest) == text)
}

fn is_marked(text: &str) -> bool {
    text.lines().take(3).any(|line| line.contains(MADE_BY_MARK))
}

/// Describes the line for a person's own Cline hook script. Its answer to Cline stays the script's
/// own.
fn manual_advice(event: &str, command: &HookCommand) -> String {
    let call = command.bare_shell_line(AgentKind::Cline, Some(event));
    let line = format!("printf '%s' \"$INPUT\" | {call} >/dev/null || true");
    format!("add this to it, with INPUT for what it reads: {line}")
}

/// The script with our part; one of the person's that calls us stays as it is.
pub(super) fn add_script(
    text: Option<&str>,
    event: &str,
    command: &HookCommand,
) -> Result<String, SetupError> {
    match text {
        Some(text) if is_blank_or_untouched(text, AgentKind::Cline) => {
            Ok(cline_script(event, command))
        }
        None => Ok(cline_script(event, command)),
        Some(text) if hook_lines(text, Some(command)).next().is_some() => Ok(text.to_owned()),
        Some(_) => Err(SetupError::Foreign { way_out: manual_advice(event, command) }),
    }
}

/// The plugin; one that the person extended stays as it is.
pub(super) fn add_plugin(text: Option<&str>, command: &HookCommand) -> Result<String, SetupError> {
    match text {
        Some(text) if is_blank_or_untouched(text, AgentKind::Opencode) => {
            Ok(opencode_plugin(command))
        }
        None => Ok(opencode_plugin(command)),
        Some(text) if plugin_call(text).is_some() => Ok(text.to_owned()),
        Some(_) => Err(SetupError::Foreign { way_out: "give it another name".to_owned() }),
    }
}

fn is_blank_or_untouched(text: &str, agent: AgentKind) -> bool {
    text.trim().is_empty() || is_untouched(text, agent)
}

/// The script without our line and the words about it. `None` if nothing else is in it.
pub(super) fn remove_script(text: &str, own: Option<&HookCommand>) -> Option<String> {
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

/// A plugin that was edited cannot be taken apart.
pub(super) fn remove_plugin(text: &str) -> Result<Option<String>, SetupError> {
    if plugin_call(text).is_some() {
        return Err(SetupError::Edited);
    }
    Ok(Some(text.to_owned()))
}

fn hook_lines<'t>(
    text: &'t str,
    own: Option<&'t HookCommand>,
) -> impl Iterator<Item = (&'t str, HookOwner)> {
    text.lines()
        .filter_map(move |line| Some((line.trim(), recognise_hook(line, AgentKind::Cline, own)?)))
}

pub(super) fn find_script(text: &str, own: Option<&HookCommand>) -> FoundHooks {
    let mut found = FoundHooks::default();
    for (line, call) in hook_lines(text, own) {
        match call {
            HookOwner::Ours(ours) if is_marked(text) => found.calls.push(ours),
            _ => found.theirs.push(line.to_owned()),
        }
    }
    found.present = usize::from(!found.calls.is_empty() || !found.theirs.is_empty());
    found.missing = 1 - found.present;
    found.is_edited = found.present > 0 && !is_untouched(text, AgentKind::Cline);
    found
}

pub(super) fn find_plugin(text: &str) -> FoundHooks {
    let call = plugin_call(text);
    let present = usize::from(call.is_some());
    let is_edited = present > 0 && !is_untouched(text, AgentKind::Opencode);
    let calls = call.into_iter().collect();
    FoundHooks { present, missing: 1 - present, calls, is_edited, ..FoundHooks::default() }
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
