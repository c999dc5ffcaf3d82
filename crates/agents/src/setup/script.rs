//! Files that setup writes whole: opencode's plugin and Cline's hook scripts.
//!
//! Their first lines have a digest of the rest, which identifies an unedited file: only such a file
//! is replaced or removed.

use super::command::{Call, HookCommand, call};
use super::{Found, SetupError, hex};
use crate::Agent;

/// Mark that identifies a file written by setup, edited or not.
const MARK: &str = "Made by `retake setup` (";

const PLUGIN: &str = include_str!("opencode.js");

const SHELL: &str = "#!/bin/sh\n";

/// The plugin of opencode.
pub(super) fn plugin(command: &HookCommand) -> String {
    let home = command.home().map_or_else(|| "null".to_owned(), quoted);
    let (head, rest) = PLUGIN.split_once("__PROGRAM__").expect("the plugin names its program");
    let (middle, tail) = rest.split_once("__HOME__").expect("the plugin names its home");
    sealed(Agent::Opencode, &format!("{head}{}{middle}{home}{tail}", quoted(command.program())))
}

/// A JSON string is a JavaScript string, but for two line separators.
fn quoted(text: &str) -> String {
    let text = super::literal::string(text);
    text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The hook script of Cline for an event.
pub(super) fn cline(event: &str, command: &HookCommand) -> String {
    sealed(Agent::Cline, &(command.line(Agent::Cline, Some(event)) + "\n"))
}

fn sealed(agent: Agent, rest: &str) -> String {
    let (shell, comment) = if agent == Agent::Cline { (SHELL, "#") } else { ("", "//") };
    let digest = hex(rest.as_bytes(), 8);
    let remove = format!("`retake setup --remove {agent}` takes it away");
    format!("{shell}{comment} {MARK}{digest}); {remove}.\n{rest}")
}

/// Returns whether setup made the file just as it is.
pub(super) fn is_untouched(text: &str, agent: Agent) -> bool {
    let header = text.split_inclusive('\n').find(|line| line.contains(MARK));
    let rest = header.and_then(|header| text.split_once(header)).map(|(_, rest)| rest);
    rest.is_some_and(|rest| sealed(agent, rest) == text)
}

fn is_marked(text: &str) -> bool {
    text.lines().take(3).any(|line| line.contains(MARK))
}

/// Describes the line for a person's own Cline hook script. Its answer to Cline stays the script's
/// own.
fn advice(event: &str, command: &HookCommand) -> String {
    let call = command.call(Agent::Cline, Some(event));
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
        Some(text) if is_blank_or_untouched(text, Agent::Cline) => Ok(cline(event, command)),
        None => Ok(cline(event, command)),
        Some(text) if calls(text, Some(command)).next().is_some() => Ok(text.to_owned()),
        Some(_) => Err(SetupError::Foreign { way_out: advice(event, command) }),
    }
}

/// The plugin; one that the person extended stays as it is.
pub(super) fn add_plugin(text: Option<&str>, command: &HookCommand) -> Result<String, SetupError> {
    match text {
        Some(text) if is_blank_or_untouched(text, Agent::Opencode) => Ok(plugin(command)),
        None => Ok(plugin(command)),
        Some(text) if plugin_call(text).is_some() => Ok(text.to_owned()),
        Some(_) => Err(SetupError::Foreign { way_out: "give it another name".to_owned() }),
    }
}

fn is_blank_or_untouched(text: &str, agent: Agent) -> bool {
    text.trim().is_empty() || is_untouched(text, agent)
}

/// The script without our line and the words about it. `None` if nothing else is in it.
pub(super) fn remove_script(text: &str, own: Option<&HookCommand>) -> Option<String> {
    if !is_marked(text) {
        return Some(text.to_owned());
    }
    let is_ours = |line: &str| matches!(call(line, Agent::Cline, own), Some(Call::Ours(_)));
    let lines = text.split_inclusive('\n');
    let rest: String = lines.filter(|line| !line.contains(MARK) && !is_ours(line)).collect();
    (!matches!(rest.trim(), "" | "#!/bin/sh")).then_some(rest)
}

/// A plugin that was edited cannot be taken apart.
pub(super) fn remove_plugin(text: &str) -> Result<Option<String>, SetupError> {
    if plugin_call(text).is_some() {
        return Err(SetupError::Edited);
    }
    Ok(Some(text.to_owned()))
}

fn calls<'t>(text: &'t str, own: Option<&'t HookCommand>) -> impl Iterator<Item = (&'t str, Call)> {
    text.lines().filter_map(move |line| Some((line.trim(), call(line, Agent::Cline, own)?)))
}

pub(super) fn find_script(text: &str, own: Option<&HookCommand>) -> Found {
    let mut found = Found::default();
    for (line, call) in calls(text, own) {
        match call {
            Call::Ours(ours) if is_marked(text) => found.calls.push(ours),
            _ => found.theirs.push(line.to_owned()),
        }
    }
    found.present = usize::from(!found.calls.is_empty() || !found.theirs.is_empty());
    found.missing = 1 - found.present;
    found.is_edited = found.present > 0 && !is_untouched(text, Agent::Cline);
    found
}

pub(super) fn find_plugin(text: &str) -> Found {
    let call = plugin_call(text);
    let present = usize::from(call.is_some());
    let is_edited = present > 0 && !is_untouched(text, Agent::Opencode);
    let calls = call.into_iter().collect();
    Found { present, missing: 1 - present, calls, is_edited, ..Found::default() }
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
