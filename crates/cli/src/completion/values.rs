//! Which candidates each argument of the command line has.
//!
//! Arguments are told by their names, so that one rule holds for all commands: every `--dialog` is
//! completed by dialogs. Values that clap knows itself and paths are completed by clap.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use retake_agents::AgentKind;
use retake_agents::history::HistoryFormat;
use retake_agents::setup::has_own_setup;
use retake_engine::model::{
    Actor, ChangeId, ChangeStatus, CommentState, Confidence, ContextSource,
};
use retake_service::settings::setting_keys;

use super::candidates::{RecordPlace, RecordedValue};

/// Times to choose from; any other one can be written.
const TIMES: &[&str] = &["10m", "2h", "3d", "today", "yesterday"];

/// Origin of an argument's candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ValueSource {
    /// The record.
    Recorded(RecordedValue),
    /// The record, or a path.
    RecordedOrPath(RecordedValue),
    /// A change, or a hunk of a review once the word begins like one: finding hunks reads files.
    ChangeOrHunk(RecordedValue),
    /// A fixed list.
    Fixed(Vec<&'static str>),
    /// The keys of all settings.
    SettingKeys,
    /// Paths.
    Path,
    /// What clap knows of the argument: its possible values, or paths.
    Clap,
    /// Numbers and words that only the person knows.
    Free,
}

/// Gives every argument its candidates; the words of the line tell the project.
pub(super) fn with_candidates(cli: Command, words: &[OsString]) -> Command {
    add_candidates(cli, &Arc::new(RecordPlace::from_words(words)))
}

fn add_candidates(command: Command, place: &Arc<RecordPlace>) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|argument| {
            let source = source_of(&name, &argument);
            add_source(argument, source, place)
        })
        .mut_subcommands(|inner| add_candidates(inner, place))
}

fn add_source(argument: Arg, source: ValueSource, place: &Arc<RecordPlace>) -> Arg {
    let place = Arc::clone(place);
    match source {
        ValueSource::Recorded(value) => {
            argument.add(ArgValueCandidates::new(move || place.candidates(value)))
        }
        ValueSource::RecordedOrPath(value) => {
            argument.add(ArgValueCompleter::new(move |current: &OsStr| {
                let mut found = beginning_with(current, place.candidates(value));
                // A file whose name looks like a change is meant as `./c7` only.
                let means_change = |path: &CompletionCandidate| {
                    path.get_value().to_str().is_some_and(|name| name.parse::<ChangeId>().is_ok())
                };
                let paths = PathCompleter::any().complete(current).into_iter();
                found.extend(paths.filter(|path| !means_change(path)));
                found
            }))
        }
        ValueSource::ChangeOrHunk(change) => {
            argument.add(ArgValueCompleter::new(move |current: &OsStr| {
                let is_hunk = current.as_encoded_bytes().starts_with(b"h");
                let value = if is_hunk { RecordedValue::Hunk } else { change };
                beginning_with(current, place.candidates(value))
            }))
        }
        ValueSource::Fixed(names) => argument.add(ArgValueCandidates::new(move || {
            let ordered = names.iter().enumerate();
            ordered
                .map(|(order, name)| CompletionCandidate::new(name).display_order(Some(order)))
                .collect()
        })),
        ValueSource::SettingKeys => argument.add(ArgValueCandidates::new(|| {
            setting_keys().into_iter().map(CompletionCandidate::new).collect()
        })),
        ValueSource::Path => argument.value_hint(ValueHint::AnyPath),
        ValueSource::Clap | ValueSource::Free => argument,
    }
}

fn beginning_with(
    current: &OsStr,
    mut candidates: Vec<CompletionCandidate>,
) -> Vec<CompletionCandidate> {
    let start = current.as_encoded_bytes();
    candidates.retain(|one| one.get_value().as_encoded_bytes().starts_with(start));
    candidates
}

/// Tells by its names where the candidates of a command's argument come from.
fn source_of(command: &str, argument: &Arg) -> ValueSource {
    if !argument.get_action().takes_values() {
        return ValueSource::Free;
    }
    match (command, argument.get_id().as_str()) {
        // The names that `run` gives are new ones.
        ("run", "dialog" | "agent") => ValueSource::Free,
        ("run" | "git", "command" | "arguments") => ValueSource::Path,
        ("setup", "agents") => ValueSource::Fixed(names_of_agents_with_setup()),
        ("hook", "agent") => ValueSource::Fixed(AgentKind::ALL.map(AgentKind::name).to_vec()),
        (_, "dialog" | "turns" | "calls") => ValueSource::Recorded(RecordedValue::Dialog),
        (_, "agent") => ValueSource::Recorded(RecordedValue::Agent),
        ("undo", _) if argument.is_positional() => {
            ValueSource::Recorded(RecordedValue::AgentChange)
        }
        ("review", "words") => ValueSource::RecordedOrPath(RecordedValue::Scope),
        ("review", "cancel") => ValueSource::Recorded(RecordedValue::WaitingRejection),
        (_, "hunk_scope") => ValueSource::Recorded(RecordedValue::Scope),
        ("add", "place") => ValueSource::RecordedOrPath(RecordedValue::Hunk),
        ("edit" | "send", "comment" | "comments") => {
            ValueSource::Recorded(RecordedValue::Comment(&[CommentState::Draft]))
        }
        ("answer", "comment") => ValueSource::Recorded(RecordedValue::Comment(&[
            CommentState::Sent,
            CommentState::Answered,
        ])),
        ("remove" | "resolve", "comment") => {
            ValueSource::Recorded(RecordedValue::Comment(CommentState::ALL))
        }
        ("restore", "checkpoint") => ValueSource::Recorded(RecordedValue::Checkpoint),
        ("get" | "set" | "unset", "key") => ValueSource::SettingKeys,
        (_, "actor") => fixed(Actor::ALL, Actor::as_str),
        (_, "status") => fixed(ChangeStatus::ALL, ChangeStatus::as_str),
        (_, "confidence") => fixed(Confidence::ALL, Confidence::as_str),
        (_, "since" | "until" | "after") => ValueSource::Fixed(TIMES.to_vec()),
        (_, "form") => ValueSource::Fixed(HistoryFormat::ALL.map(HistoryFormat::as_str).to_vec()),
        ("mark", "source") => ValueSource::Fixed(
            [ContextSource::ReadTool, ContextSource::FileMentioned]
                .map(ContextSource::as_str)
                .into(),
        ),
        _ => source_of_value(command, argument),
    }
}

/// The same for what only the name of the value tells: `CHANGE`, `CHANGE|PATH`.
fn source_of_value(command: &str, argument: &Arg) -> ValueSource {
    let names = argument.get_value_names().unwrap_or_default().join("|").to_ascii_uppercase();
    let is_change = names.contains("CHANGE") || argument.get_id() == "change";
    let is_path = ["PATH", "FILE", "DIR"].iter().any(|name| names.contains(name));
    let change = match command {
        "accept" => RecordedValue::PendingChange,
        "reject" | "rollback" => RecordedValue::AgentChange,
        _ => RecordedValue::Change,
    };
    match (is_change, is_path) {
        (true, true) => ValueSource::RecordedOrPath(change),
        (true, false) if names.contains("HUNK") => ValueSource::ChangeOrHunk(change),
        (true, false) => ValueSource::Recorded(change),
        (false, true) => ValueSource::Path,
        (false, false) if argument.get_value_parser().possible_values().is_some() => {
            ValueSource::Clap
        }
        (false, false) => ValueSource::Free,
    }
}

fn names_of_agents_with_setup() -> Vec<&'static str> {
    AgentKind::ALL.into_iter().filter(|kind| has_own_setup(*kind)).map(AgentKind::name).collect()
}

fn fixed<T: Copy>(values: &[T], name: impl Fn(T) -> &'static str) -> ValueSource {
    ValueSource::Fixed(values.iter().map(|value| name(*value)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    /// Arguments that take a number or a word that only the person knows.
    const FREE: &[&str] = &[
        "before_message",
        "call",
        "digest",
        "event",
        "hunk",
        "ids",
        "idle_seconds",
        "keep",
        "label",
        "limit",
        "lines",
        "message",
        "reason",
        "revoke",
        "text",
        "turn",
        "values",
    ];

    #[test]
    fn every_argument_with_a_value_has_candidates_or_is_free_on_purpose() {
        fn collect(command: &Command, free: &mut BTreeSet<String>) {
            for argument in command.get_arguments().filter(|one| one.get_action().takes_values()) {
                if source_of(command.get_name(), argument) == ValueSource::Free {
                    free.insert(argument.get_id().to_string());
                }
            }
            command.get_subcommands().for_each(|inner| collect(inner, free));
        }
        let mut free = BTreeSet::new();
        collect(&Cli::command(), &mut free);
        // `run` alone gives new names to these.
        for name in ["agent", "dialog"] {
            assert!(free.remove(name), "{name}");
        }
        assert_eq!(free, FREE.iter().map(ToString::to_string).collect());
    }
}
