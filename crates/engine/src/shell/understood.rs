//! Whitelist of command line shapes that are fully understood: they change only their targets.
//!
//! Any other command line opens a window on the whole project. Allowed are commands and options
//! that touch only the files that their words name, literal words, and no control flow but `&&`,
//! `||`, `;` and pipes. A `cd` may only come first, with nothing but `&&` after it; the caller
//! checks that its folder exists. The random test of programs (`tests/walks/programs.rs`) compares
//! this with real shells.

use brush_parser::ast::{
    AndOr, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundListItem,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline, Program, SeparatorOperator,
    SimpleCommand,
};

use super::argument::ShellArgument;
use super::commands::system_command;
use super::parse;
use super::understood_forms::{is_known, is_reader};

/// The precondition of a command line of an understood shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnderstoodShape {
    /// The folder of its leading `cd`, which must exist.
    pub enters: Option<String>,
}

/// Analyses a command line; `None` if its shape is not understood.
pub(super) fn match_shape(text: &str) -> Option<UnderstoodShape> {
    let program = parse::parse_program(text)?;
    // Some agents wrap every command in `bash -lc`.
    if let Some(inner) = inner_script(&program) {
        return program_shape(&parse::parse_program(&inner)?);
    }
    program_shape(&program)
}

fn program_shape(program: &Program) -> Option<UnderstoodShape> {
    if replaces_what_it_used(program) {
        return None;
    }
    let items: Vec<_> = program.complete_commands.iter().flat_map(|list| &list.0).collect();
    let is_sequence = |item: &&CompoundListItem| matches!(item.1, SeparatorOperator::Sequence);
    if !items.iter().all(is_sequence) {
        return None;
    }
    if let [only] = items.as_slice()
        && let Some(folder) = folder_of_cd(&only.0.first)
    {
        let follows = |next: &AndOr| matches!(next, AndOr::And(pipeline) if is_plain(pipeline));
        let is_whole = !only.0.additional.is_empty() && only.0.additional.iter().all(follows);
        return is_whole.then_some(UnderstoodShape { enters: Some(folder) });
    }
    let is_plain_item = |item: &&CompoundListItem| {
        let additional = item.0.additional.iter();
        is_plain(&item.0.first)
            && additional.map(|(AndOr::And(next) | AndOr::Or(next))| next).all(is_plain)
    };
    items.iter().all(is_plain_item).then(UnderstoodShape::default)
}

/// Returns whether `mv` or `sed -i` may replace a symlink that another command wrote through: then
/// the other's target is unknown afterwards. A link that is only removed is a target itself.
fn replaces_what_it_used(program: &Program) -> bool {
    let lists = program.complete_commands.iter().flat_map(|list| &list.0);
    let pipelines = lists.flat_map(|item| {
        let additional = item.0.additional.iter();
        let additional = additional.map(|(AndOr::And(next) | AndOr::Or(next))| next);
        std::iter::once(&item.0.first).chain(additional)
    });
    let simple = |command: &'_ Command| match command {
        Command::Simple(simple) => Some(words_in(simple)),
        _ => None,
    };
    let commands = pipelines.flat_map(|pipeline| &pipeline.seq).filter_map(simple);
    let commands: Vec<Vec<String>> = commands.collect();
    let replaces = |words: &[String]| {
        let name = words.first().map(String::as_str);
        name == Some("mv") || (name == Some("sed") && words.iter().any(|word| word == "-i"))
    };
    let shares = |words: &[String], others: &[String]| {
        words.iter().skip(1).any(|word| others.iter().skip(1).any(|other| other == word))
    };
    commands.iter().enumerate().any(|(at, words)| {
        let mut others = commands.iter().enumerate().filter(|(other, _)| *other != at);
        replaces(words) && others.any(|(_, others)| shares(words, others))
    })
}

/// Returns the name of a command, and the file names of all paths in its words and redirections.
fn words_in(command: &SimpleCommand) -> Vec<String> {
    let last_name = |word: &str| {
        let plain = word.trim_matches(['"', '\'']);
        let name = plain.trim_end_matches('/').rsplit('/').next().unwrap_or(plain);
        name.replace(['\\', '"', '\''], "")
    };
    let name = command.word_or_name.as_ref().map(|word| last_name(&word.value));
    let items = command.suffix.iter().flat_map(|suffix| &suffix.0);
    let words = items.filter_map(|item| match item {
        CommandPrefixOrSuffixItem::Word(word)
        | CommandPrefixOrSuffixItem::AssignmentWord(_, word)
        | CommandPrefixOrSuffixItem::IoRedirect(
            IoRedirect::File(_, _, IoFileRedirectTarget::Filename(word))
            | IoRedirect::OutputAndError(word, _),
        ) => Some(last_name(&word.value)),
        _ => None,
    });
    name.into_iter().chain(words).collect()
}

/// The folder of `cd FOLDER`.
fn folder_of_cd(pipeline: &Pipeline) -> Option<String> {
    let (name, words) = plain_words(only_simple(pipeline)?)?;
    match (name.as_str(), words.as_slice()) {
        ("cd", [ShellArgument::Literal(folder)])
            if !folder.is_empty() && !folder.starts_with('-') =>
        {
            Some(folder.clone())
        }
        _ => None,
    }
}

/// The text of `bash -lc TEXT`, if that is all.
fn inner_script(program: &Program) -> Option<String> {
    let [list] = program.complete_commands.as_slice() else { return None };
    let [CompoundListItem(item, SeparatorOperator::Sequence)] = list.0.as_slice() else {
        return None;
    };
    let (name, words) = plain_words(only_simple(&item.first)?)?;
    match (system_command(&name)?, words.as_slice()) {
        ("bash" | "sh" | "zsh", [ShellArgument::Literal(flag), ShellArgument::Literal(text)])
            if matches!(flag.as_str(), "-c" | "-lc") && item.additional.is_empty() =>
        {
            Some(text.clone())
        }
        _ => None,
    }
}

fn only_simple(pipeline: &Pipeline) -> Option<&SimpleCommand> {
    match pipeline.seq.as_slice() {
        [Command::Simple(simple)] if is_unprefixed(pipeline) => Some(simple),
        _ => None,
    }
}

fn is_unprefixed(pipeline: &Pipeline) -> bool {
    pipeline.timed.is_none() && !pipeline.bang
}

/// The name and words of a command without redirections.
fn plain_words(command: &SimpleCommand) -> Option<(String, Vec<ShellArgument>)> {
    let has_redirection = command
        .suffix
        .iter()
        .flat_map(|suffix| &suffix.0)
        .any(|item| matches!(item, CommandPrefixOrSuffixItem::IoRedirect(_)));
    if has_redirection { None } else { words_of(command) }
}

/// The name and words of a command whose redirections are plain ones.
fn words_of(command: &SimpleCommand) -> Option<(String, Vec<ShellArgument>)> {
    let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
    if !prefix.into_iter().all(is_plain_setting) {
        return None;
    }
    let ShellArgument::Literal(name) = ShellArgument::read(&command.word_or_name.as_ref()?.value)?
    else {
        return None;
    };
    let mut words = Vec::new();
    for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            CommandPrefixOrSuffixItem::Word(word)
            // `grep a=b` has a word that looks like an assignment.
            | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                words.push(ShellArgument::read(&word.value)?);
            }
            CommandPrefixOrSuffixItem::IoRedirect(redirect) if is_plain_redirect(redirect) => {}
            _ => return None,
        }
    }
    Some((name, words))
}

/// `LC_ALL=C` and the like before a command: they change what it prints, not what it does.
fn is_plain_setting(item: &CommandPrefixOrSuffixItem) -> bool {
    let CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) = item else { return false };
    let (AssignmentName::VariableName(name), AssignmentValue::Scalar(value)) =
        (&assignment.name, &assignment.value)
    else {
        return false;
    };
    let is_known = matches!(name.as_str(), "LANG" | "TZ" | "NO_COLOR" | "TERM");
    let is_literal = matches!(ShellArgument::read(&value.value), Some(ShellArgument::Literal(_)));
    (is_known || name.starts_with("LC_")) && is_literal && !assignment.append
}

fn is_plain(pipeline: &Pipeline) -> bool {
    // With `!` or `time`, only commands that read are understood.
    let only_reads = !is_unprefixed(pipeline);
    let is_plain = |command: &Command| match command {
        Command::Simple(simple) => words_of(simple).is_some_and(|(name, words)| {
            system_command(&name)
                .is_some_and(|name| (is_reader(name) || !only_reads) && is_known(name, &words))
        }),
        _ => false,
    };
    pipeline.seq.iter().all(is_plain)
}

fn is_plain_redirect(redirect: &IoRedirect) -> bool {
    let is_file = |text: &str| matches!(ShellArgument::read(text), Some(ShellArgument::Literal(_)));
    match redirect {
        IoRedirect::File(_, kind, target) => match (kind, target) {
            (
                IoFileRedirectKind::Read
                | IoFileRedirectKind::Write
                | IoFileRedirectKind::Append
                | IoFileRedirectKind::Clobber,
                IoFileRedirectTarget::Filename(word),
            ) => is_file(&word.value),
            (
                IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput,
                IoFileRedirectTarget::Fd(_),
            ) => true,
            (
                IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput,
                IoFileRedirectTarget::Duplicate(word),
            ) => word.value.bytes().all(|b| b.is_ascii_digit()),
            _ => false,
        },
        IoRedirect::OutputAndError(word, _) | IoRedirect::HereString(_, word) => {
            is_file(&word.value)
        }
        IoRedirect::HereDocument(_, document) => {
            !document.requires_expansion || !document.doc.value.contains(['$', '`', '\\'])
        }
    }
}
