//! The files that a command line shows: the content that its output certainly contains.
//!
//! Invariant: no line is claimed that the command may not print. A command that may not run, that
//! prints into a file, a substitution or a filter that picks lines, or that depends on an unknown
//! word, shows nothing. Whether a file exists and is no folder is not checked here.

use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect,
    Pipeline, SimpleCommand,
};

use super::commands::system_command;
use super::show::{PrintRequest, parse_print_request};
use super::state::WorkingFolder;
use super::walk::ScriptWalker;
use super::word::{self, ShellWord};
use crate::tool::{FilePart, FileReading};
use retake_model::LineSpan;

/// Maximum number of files that are listed.
const MAX_READINGS: usize = 1_000;

/// Commands that fail only if something is missing, so the part after `&&` is taken to run.
const SUCCEEDING_COMMANDS: &str = ": awk bat cat cd cut date echo export head less ls mkdir more nl printf \
     pushd pwd sed set sort tail touch tr tree true uname uniq wc whoami";
/// Commands after which the shell runs nothing more.
const LEAVING_COMMANDS: &str = "exit return break continue exec";

/// The output and input of the commands at one point of the walk.
#[derive(Default)]
pub(super) struct OutputFlow {
    /// The output may not reach the agent.
    unseen: bool,
    /// The shell was left: later commands may not run.
    left: bool,
    /// The input of the next command, if it is only content of files.
    input: Option<Vec<FileReading>>,
    /// The output of the last command, if it is only content of files.
    output: Option<Vec<FileReading>>,
}

/// The file content that a command prints.
#[derive(Default)]
pub(super) struct PrintedFiles {
    readings: Vec<FileReading>,
    /// Nothing else is printed, and exactly these lines.
    exactly: bool,
}

impl ScriptWalker {
    /// Walks commands that may not run, or whose output goes elsewhere.
    pub(super) fn walk_unseen(&mut self, walk: impl FnOnce(&mut Self)) {
        let flow = std::mem::take(&mut self.flow);
        self.flow.unseen = true;
        walk(self);
        self.flow = OutputFlow { left: flow.left || self.flow.left, ..flow };
    }

    /// Walks like a subshell: an `exit` in it leaves only the subshell.
    pub(super) fn keeping_exit_state(&mut self, walk: impl FnOnce(&mut Self)) {
        let left = self.flow.left;
        walk(self);
        self.flow.left = left;
    }

    /// Walks a part of a pipeline whose output the next one reads.
    pub(super) fn walk_piped(&mut self, command: &Command) {
        let unseen = std::mem::replace(&mut self.flow.unseen, true);
        self.flow.output = None;
        self.command(command);
        self.flow.unseen = unseen;
        // A group prints what its last command prints, and more.
        let simple = matches!(command, Command::Simple(_));
        self.flow.input = self.flow.output.take().filter(|_| simple);
    }

    /// Ends a pipeline: the next command has no piped input.
    pub(super) fn end_pipe(&mut self) {
        self.flow.input = None;
    }

    /// Returns the file content that the command of these words prints; consumes the piped input.
    pub(super) fn files_printed(&mut self, words: &[ShellWord]) -> PrintedFiles {
        let input = self.flow.input.take();
        let [name, args @ ..] = words else {
            return PrintedFiles::default();
        };
        let name = name.exact().filter(|name| !self.state.functions.contains_key(*name));
        let asked = name.and_then(system_command).and_then(|name| parse_print_request(name, args));
        asked.map(|asked| self.resolve_print(&asked, input)).unwrap_or_default()
    }

    fn resolve_print(&self, asked: &PrintRequest, input: Option<Vec<FileReading>>) -> PrintedFiles {
        let from_pipe = asked.files.is_empty();
        let mut exactly = !from_pipe || input.is_some();
        let mut sources = input.filter(|_| from_pipe).unwrap_or_default();
        for word in &asked.files {
            let reading = self.whole_file(word);
            exactly &= reading.is_some();
            sources.extend(reading);
        }
        let whole = asked.parts == [FilePart::Whole];
        let several = from_pipe && sources.len() != 1 || !from_pipe && asked.files.len() != 1;
        // Lines of several files in a row have numbers of their own only if the tool says so.
        if several && !whole && (from_pipe || !asked.counts_each) {
            return PrintedFiles::default();
        }
        exactly &= whole || !several && asked.parts.len() == 1;
        let mut readings = Vec::new();
        for source in &sources {
            for part in &asked.parts {
                let narrowed = narrow(source.part, *part);
                exactly &= narrowed.is_some_and(|(_, exactly)| exactly);
                readings.extend(narrowed.map(|(part, _)| FileReading { part, ..source.clone() }));
            }
        }
        PrintedFiles { readings, exactly }
    }

    /// Adds the content that a command printed, and notes whether it leaves the shell.
    pub(super) fn add_printed(&mut self, printed: PrintedFiles, name: &ShellWord, alone: bool) {
        if !self.flow.unseen && !self.flow.left {
            for reading in &printed.readings {
                let known = &mut self.effects.reads;
                if known.len() < MAX_READINGS && !known.contains(reading) {
                    known.push(reading.clone());
                }
            }
        }
        self.flow.output = Some(printed.readings).filter(|_| printed.exactly);
        let leaves = LEAVING_COMMANDS.split_ascii_whitespace().any(|leaving| name.text == leaving);
        self.flow.left |= leaves && !(alone && name.text == "exec");
    }

    /// Returns the file that a word names, if it is known.
    fn whole_file(&self, word: &ShellWord) -> Option<FileReading> {
        let path = word.exact()?;
        let absolute = path.starts_with('/');
        let special = path.is_empty() || path == "-" || path.starts_with('~');
        let cwd = match &self.state.folder {
            _ if absolute => None,
            WorkingFolder::Start => None,
            WorkingFolder::At(folder) if !folder.starts_with('~') => Some(folder.clone()),
            WorkingFolder::At(_) | WorkingFolder::Unknown => return None,
        };
        let path = Some(path.to_owned()).filter(|path| !special && !path.starts_with("/dev/"))?;
        Some(FileReading { path, cwd, part: FilePart::Whole })
    }

    /// Follows the redirections of a command: sets its input; returns whether its output is
    /// diverted.
    pub(super) fn follow_redirections(&mut self, command: &SimpleCommand) -> bool {
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut elsewhere = false;
        for item in prefix.chain(suffix) {
            if let CommandPrefixOrSuffixItem::IoRedirect(redirect) = item {
                elsewhere |= diverts(redirect);
                if let Some(source) = input_source(redirect) {
                    let word = source.map(|text| word::expand_whole(text, &self.state).0);
                    let file = word.and_then(|word| self.whole_file(&word));
                    self.flow.input = file.map(|file| vec![file]);
                }
            }
        }
        elsewhere
    }

    /// `exec > log`: from here on the agent sees no output.
    pub(super) fn divert_output(&mut self) {
        self.flow.unseen = true;
    }
}

/// Returns whether a redirection takes the output elsewhere.
pub(super) fn diverts(redirect: &IoRedirect) -> bool {
    match redirect {
        IoRedirect::OutputAndError(..) => true,
        IoRedirect::File(fd, kind, _) => {
            let input = matches!(
                kind,
                IoFileRedirectKind::Read
                    | IoFileRedirectKind::DuplicateInput
                    | IoFileRedirectKind::ReadAndWrite
            );
            fd.map_or(!input, |fd| fd == 1)
        }
        IoRedirect::HereDocument(..) | IoRedirect::HereString(..) => false,
    }
}

/// Returns the input of a command by a redirection: a file, or (inner `None`) another source.
#[expect(clippy::option_option, reason = "another source and no redirection are two answers")]
fn input_source(redirect: &IoRedirect) -> Option<Option<&str>> {
    match redirect {
        IoRedirect::File(None | Some(0), IoFileRedirectKind::Read, target) => Some(match target {
            IoFileRedirectTarget::Filename(word) => Some(&word.value),
            _ => None,
        }),
        IoRedirect::File(
            None | Some(0),
            IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::ReadAndWrite,
            _,
        )
        | IoRedirect::File(Some(0), ..)
        | IoRedirect::HereDocument(None | Some(0), _)
        | IoRedirect::HereString(None | Some(0), _) => Some(None),
        _ => None,
    }
}

/// Returns whether the part after `&&` runs, unless something is missing.
pub(super) fn succeeds(pipeline: &Pipeline) -> bool {
    let Some(Command::Simple(simple)) = pipeline.seq.last() else {
        return false;
    };
    let name = simple.word_or_name.as_ref().map_or(":", |word| word.value.as_str());
    !pipeline.bang && SUCCEEDING_COMMANDS.split_ascii_whitespace().any(|known| known == name)
}

/// Intersects a part with a part of it; returns also whether that is all that is shown. A short
/// file shows other last lines than a long one: then only lines that both show are claimed.
fn narrow(of: FilePart, by: FilePart) -> Option<(FilePart, bool)> {
    Some(match (of, by) {
        (FilePart::Whole, part) | (part, FilePart::Whole) => (part, true),
        (FilePart::Lines(of), FilePart::Lines(by)) => {
            let first = of.first.saturating_add(by.first - 1);
            let last = of.last.min(of.first.saturating_add(by.last - 1));
            (FilePart::Lines(lines(first, last)?), true)
        }
        (FilePart::Lines(of), FilePart::Last(count)) if of.last < u32::MAX => {
            let first = of.first.max((of.last + 1).saturating_sub(count));
            (FilePart::Lines(lines(first, of.last)?), false)
        }
        (FilePart::Last(of), FilePart::Last(by)) => (FilePart::Last(of.min(by)), true),
        (FilePart::Lines(_), FilePart::Last(_)) | (FilePart::Last(_), FilePart::Lines(_)) => {
            return None;
        }
    })
}

/// These lines, if there are any.
pub(super) fn lines(first: u32, last: u32) -> Option<LineSpan> {
    (first <= last).then_some(LineSpan { first, last })
}
