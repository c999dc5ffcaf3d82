//! Shell completion that knows the project.
//!
//! The script of `retake completions SHELL` runs `RETAKE_COMPLETE=SHELL retake -- WORDS…`, where the
//! last word is the one to complete, and reads one candidate per line.
//!
//! Invariants:
//! - nothing is written, scanned or started; what cannot be read gives no candidates, silently;
//! - no candidate has a control or an invisible character, and none is read by a shell as more
//!   than one word, whatever agents and repositories name their things;
//! - hidden commands and options are never offered.

mod candidates;
mod shell_words;
mod shells;
mod values;

use std::ffi::{OsStr, OsString};

use clap::Command;
use clap_complete::engine::CompletionCandidate;

use crate::args::Cli;
use crate::escape::escape;
use crate::output::Output;

pub(crate) use shells::{CompletionShell, called_program, startup_line};

/// The variable that asks for candidates instead of a command.
const REQUEST_VARIABLE: &str = "RETAKE_COMPLETE";

/// Answers a request of a completion script; false if the process was not asked for one.
pub(crate) fn answer_request() -> bool {
    let Some(shell) = std::env::var_os(REQUEST_VARIABLE) else { return false };
    let mut words = std::env::args_os().skip(1);
    if words.next().is_none_or(|word| word != "--") {
        return false;
    }
    if let Some(shell) = shell.to_str().and_then(CompletionShell::from_name) {
        // A shell that reads no further is no error.
        let _ = Output::detect().text(&complete(shell, words.collect()));
    }
    true
}

/// Returns the candidates for the last word in the form that the script reads.
fn complete(shell: CompletionShell, words: Vec<OsString>) -> String {
    let line = shell.parse_words(words);
    let mut cli = values::with_candidates(Cli::full_command(), &line.words);
    let offered = offer(&mut cli, line.words);
    shell.render(&offered, &line.kept_prefix)
}

/// A candidate that is safe to show and to insert.
#[derive(Debug, PartialEq, Eq)]
struct OfferedWord {
    value: String,
    /// One line; empty if there is none.
    description: String,
}

fn offer(cli: &mut Command, words: Vec<OsString>) -> Vec<OfferedWord> {
    let Some(last) = words.len().checked_sub(1) else { return Vec::new() };
    let (is_empty, is_option) = (words[last].is_empty(), starts_with_dash(&words[last]));
    let cwd = std::env::current_dir().ok();
    let found = clap_complete::engine::complete(cli, words, last, cwd.as_deref());
    let mut found = found.unwrap_or_default();
    found.retain(is_offered);
    // A file or a dialog with the name of an option would be taken for the option.
    found.retain(|one| is_option || one.get_id().is_some() || !starts_with_dash(one.get_value()));
    let mut offered: Vec<_> = found.iter().filter_map(safe).collect();
    // Options come when they are asked for, unless there is nothing else.
    if is_empty && offered.iter().any(|word| !word.value.starts_with('-')) {
        offered.retain(|word| !word.value.starts_with('-'));
    }
    offered
}

/// Returns false for hidden commands and options, which clap offers where nothing else fits. Paths,
/// which have no id, are hidden if they begin with a dot, and are offered then.
fn is_offered(candidate: &CompletionCandidate) -> bool {
    !candidate.is_hide_set() || candidate.get_id().is_none()
}

fn starts_with_dash(word: &OsStr) -> bool {
    word.as_encoded_bytes().first() == Some(&b'-')
}

/// A name that cannot be written as it is, is left out: an escaped one would be another name.
fn safe(candidate: &CompletionCandidate) -> Option<OfferedWord> {
    let value = candidate.get_value().to_str().filter(|value| escape(value) == **value)?;
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    let description = escape(help.lines().next().unwrap_or_default());
    Some(OfferedWord { value: value.to_owned(), description })
}
