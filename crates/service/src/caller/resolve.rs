//! Binds a caller to a dialog: by what the agent tells of the call, by the processes around the
//! caller, by the environment of a server that the agent started.
//!
//! Each way needs an open call on record, which the hook of that very call opened. A command that
//! a person types into an agent has none: the open call that it would need names another command.

use retake_engine::AgentCall;
use retake_engine::model::{Caller, CallerChannel, CallerEvidence, CallerScope};
use serde_json::Value;

use super::process::ProcessInfo;

/// Variables in which agents name the dialog to the servers that they start.
const DIALOG_VARIABLES: [&str; 2] = ["CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"];

/// What a caller tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerHints {
    /// The way by which it asks.
    pub channel: CallerChannel,
    /// The call that its `_meta` names.
    pub call: Option<String>,
    /// The dialogs that its `_meta` names.
    pub dialogs: Vec<String>,
    /// The dialogs that its environment names.
    pub environment: Vec<String>,
}

impl CallerHints {
    /// A caller that tells nothing but its channel.
    pub fn new(channel: CallerChannel) -> Self {
        Self { channel, call: None, dialogs: Vec::new(), environment: Vec::new() }
    }

    /// Adds what the `_meta` of a request names, as Claude Code and Codex write it.
    #[must_use]
    pub fn with_meta(mut self, meta: &Value) -> Self {
        let word = |key: &str| meta[key].as_str().map(ToOwned::to_owned);
        self.call = word("claudecode/toolUseId").or_else(|| word("callId"));
        self.dialogs = ["threadId", "sessionId"].into_iter().filter_map(word).collect();
        self
    }

    /// Adds what the environment names; `variable` reads one variable.
    #[must_use]
    pub fn with_environment(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        self.environment = DIALOG_VARIABLES.into_iter().filter_map(variable).collect();
        self
    }
}

/// The process of a caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallerProcess {
    /// The process and its ancestors, nearest first; empty if they are not known.
    pub ancestors: Vec<ProcessInfo>,
    /// Set if the credentials of the socket's peer name it.
    pub is_peer: bool,
}

/// Returns who a caller is, by its own hints, the calls on record that can still do something,
/// and its process.
pub fn resolve_caller(hints: &CallerHints, calls: &[AgentCall], process: &CallerProcess) -> Caller {
    let channel = hints.channel;
    let bound = |scope, evidence| Caller { channel, scope, evidence };
    if let Some(scope) = scope_by_meta(hints, calls) {
        return bound(scope, CallerEvidence::Meta);
    }
    if let Some(scope) = scope_by_ancestors(calls, &process.ancestors) {
        return bound(scope, CallerEvidence::AncestorProcess);
    }
    // A command inherits the variables of the agent that a person types it into.
    if channel == CallerChannel::Mcp
        && let Some(scope) = scope_by_dialog(&hints.environment, calls)
    {
        return bound(scope, CallerEvidence::Environment);
    }
    let evidence = if process.is_peer { CallerEvidence::Peer } else { CallerEvidence::None };
    match channel {
        CallerChannel::CommandLine | CallerChannel::Run => Caller::person(channel, evidence),
        _ => Caller::program(channel, evidence),
    }
}

/// The agent of the call that the caller names; else of the dialog, if a call of it is open.
fn scope_by_meta(hints: &CallerHints, calls: &[AgentCall]) -> Option<CallerScope> {
    let fits = |call: &&AgentCall| {
        call.is_open && (hints.dialogs.is_empty() || hints.dialogs.contains(&call.dialog.0))
    };
    let named = hints
        .call
        .as_ref()
        .map(|id| calls.iter().filter(fits).filter(|call| call.call.0 == *id).collect::<Vec<_>>());
    match named {
        Some(named) if !named.is_empty() => Some(scope_of(&named)),
        _ => scope_by_dialog(&hints.dialogs, calls),
    }
}

fn scope_by_dialog(dialogs: &[String], calls: &[AgentCall]) -> Option<CallerScope> {
    let open = |call: &&AgentCall| call.is_open && dialogs.contains(&call.dialog.0);
    let open: Vec<_> = calls.iter().filter(open).collect();
    (!open.is_empty()).then(|| scope_of(&open))
}

/// The agent of the nearest ancestor whose shell call runs this process.
fn scope_by_ancestors(calls: &[AgentCall], ancestors: &[ProcessInfo]) -> Option<CallerScope> {
    (1..ancestors.len()).find_map(|depth| {
        let (below, agent) = (&ancestors[..depth], &ancestors[depth].key);
        let runs = |call: &&AgentCall| call.process.as_ref() == Some(agent) && runs(call, below);
        let own: Vec<_> = calls.iter().filter(runs).collect();
        (!own.is_empty()).then(|| scope_of(&own))
    })
}

/// The agent of these calls; a program that is bound to no dialog if they are of several.
fn scope_of(calls: &[&AgentCall]) -> CallerScope {
    let first = calls[0];
    if calls.iter().any(|call| call.dialog != first.dialog) {
        return CallerScope::Program;
    }
    let is_one = calls.iter().all(|call| call.agent == first.agent);
    let agent = is_one.then(|| first.agent.clone());
    CallerScope::Agent { dialog: first.dialog.clone(), agent }
}

/// Returns true if a shell call runs these processes, the caller's first, which the agent started.
///
/// A call that was interrupted stays open until the next message, and a person may type a command
/// meanwhile; so the call's command must name the caller's program or one of the processes.
fn runs(call: &AgentCall, below: &[ProcessInfo]) -> bool {
    let Some(command) = &call.command else { return false };
    let names_caller = below.first().is_some_and(|own| has_word(command, own.program()));
    // What was left in the background may run beside whatever the person types.
    names_caller || (call.is_open && below.iter().any(|process| is_of_command(process, command)))
}

/// Returns true if a process is of a command: its line holds the command, or the command names
/// its program. Every command runs in a shell, so a shell's name alone tells nothing.
fn is_of_command(process: &ProcessInfo, command: &str) -> bool {
    let (line, text) = (condensed(&process.words.concat()), condensed(command));
    (!text.is_empty() && line.contains(&text))
        || (!process.is_shell() && has_word(command, process.program()))
}

/// The letters without blanks, quotes and backslashes, which shells add and take away.
fn condensed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !['"', '\'', '\\'].contains(c)).collect()
}

/// Returns true if a command has this name as a word, with or without a folder.
fn has_word(command: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || ['_', '-', '.'].contains(&c);
    !name.is_empty() && command.split(|c| !is_part(c)).any(|word| word == name)
}

#[cfg(test)]
mod tests;
