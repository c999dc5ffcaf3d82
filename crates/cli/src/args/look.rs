//! Arguments of the commands that show what is on record.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use retake_engine::model::{Actor, ChangeId, ChangeStatus, Confidence};

use crate::time;

/// Options of `status`.
#[derive(Debug, Args)]
#[command(
    after_help = "--short reads the record as it is, in a few milliseconds, and prints nothing if nothing waits.\nIn a prompt of bash:\n  PS1='\\w $(retake status --short)\\$ '\n\nExamples:\n  retake status\n  retake status --ignored\n  retake status --short"
)]
pub(crate) struct StatusArgs {
    /// Print what waits in a few words, or nothing: for shell prompts and status lines
    #[arg(long, conflicts_with = "ignored")]
    pub(crate) short: bool,
    /// List what is not tracked, and the rule behind it
    #[arg(long, conflicts_with = "no_look")]
    pub(crate) ignored: bool,
}

/// Options of `projects`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  retake projects -n 10")]
pub(crate) struct ProjectsArgs {
    /// List at most this many, the most recently active ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}

/// Which changes.
#[derive(Debug, Args)]
pub(crate) struct ChangeFilterArgs {
    /// Only changes of this dialog, by its name (claude-2) or the start of its id (repeatable)
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Vec<String>,
    /// Only changes by this agent (repeatable)
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Vec<String>,
    /// Only changes of this file, or of everything in this folder
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Only changes since this time: 10m, 2h, 3d, today, yesterday, 2026-02-16,
    /// 2026-02-16T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time::validate)]
    pub(crate) since: Option<String>,
}

/// Options of `log`.
#[derive(Debug, Args)]
#[command(
    after_help = "With --json, every change is listed, also your own and those of git and Retake.\n\nExamples:\n  retake log -n 20\n  retake log src/main.rs\n  retake log --files --since 2h\n  retake log --all --actor user\n  retake log --json | jq -r '.changes[].path'"
)]
pub(crate) struct LogArgs {
    /// Only changes of these files, or of everything in these folders
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// List the changes of each turn, with their files
    #[arg(long)]
    pub(crate) files: bool,
    /// Also list what you, git and Retake itself did
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) filter: ChangeFilterArgs,
    /// Only changes until this time
    #[arg(long, value_name = "TIME", value_parser = time::validate)]
    pub(crate) until: Option<String>,
    /// Only changes made by: agent, user, git, retake, unknown (comma-separated)
    #[arg(long, value_name = "WHO", value_delimiter = ',')]
    pub(crate) actor: Vec<Actor>,
    /// Only agent changes with this status: pending, accepted, rejected, reverted
    /// (comma-separated)
    #[arg(long, value_delimiter = ',')]
    pub(crate) status: Vec<ChangeStatus>,
    /// Only changes whose author is this sure: certain, window, shared, late, assumed
    /// (comma-separated)
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) confidence: Vec<Confidence>,
    /// Only changes of this turn of the dialog
    #[arg(long, value_name = "N", requires = "dialog")]
    pub(crate) turn: Option<u64>,
    /// Only changes by this tool call
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<String>,
    /// Show at most this many turns; with --json, changes
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Show the oldest first
    #[arg(long)]
    pub(crate) oldest_first: bool,
}

/// Options of `dialogs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  retake dialogs\n  retake dialogs --turns claude-2\n  retake dialogs --calls claude-2 --json"
)]
pub(crate) struct DialogsArgs {
    /// List the turns of this dialog, by its name (claude-2) or the start of its id
    #[arg(long, value_name = "ID", conflicts_with = "calls")]
    pub(crate) turns: Option<String>,
    /// List the tool calls of this dialog
    #[arg(long, value_name = "ID")]
    pub(crate) calls: Option<String>,
}

/// Options of `show`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  retake show c12\n  retake show src/main.rs\n  retake show c12 --before > rescued.txt"
)]
pub(crate) struct ShowArgs {
    /// Change to show, for example c12; of a file, its newest change
    #[arg(value_name = "CHANGE|PATH")]
    pub(crate) what: ChangeOrPathArg,
    /// Print the file's exact content before the change
    #[arg(long, conflicts_with = "after")]
    pub(crate) before: bool,
    /// Print the file's exact content after the change
    #[arg(long)]
    pub(crate) after: bool,
    /// Print control characters and binary content as they are, even on a terminal
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Options of `diff`.
#[derive(Debug, Args)]
#[command(
    after_help = "Shows agent changes that wait for your review; with --all, every change. Piped, the output is\nfor `git apply`; on a terminal or with --color always, control characters are escaped, changed\nwords stand out, and code is highlighted.\n\nExamples:\n  retake diff\n  retake diff src/main.rs\n  retake diff c12 c14\n  retake diff --dialog claude-2 --stat\n  retake diff notes.txt --since 1h | git apply -R"
)]
pub(crate) struct DiffArgs {
    /// Changes, for example c12, or files and folders [default: everything]
    #[arg(value_name = "CHANGE|PATH")]
    pub(crate) what: Vec<ChangeOrPathArg>,
    #[command(flatten)]
    pub(crate) filter: ChangeFilterArgs,
    /// Show every change: also yours, git's, and what was reviewed or taken back
    #[arg(long)]
    pub(crate) all: bool,
    /// Show the number of changed lines per file instead
    #[arg(long)]
    pub(crate) stat: bool,
    /// Print control characters as they are, even on a terminal
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Options of `blame`.
#[derive(Debug, Args)]
#[command(
    after_help = "For each line: the change that wrote it, its author, the turn of the dialog, the tool and the\ntime. `before` was there before recording began; `unseen` came while the content was not\ncaptured. Lines that Retake brought back belong to their first author.\n\nExamples:\n  retake blame src/main.rs\n  retake blame -L 10,20 src/main.rs\n  retake blame --json notes.txt | jq -r '.changes[].message.text'"
)]
pub(crate) struct BlameArgs {
    /// File to annotate
    pub(crate) file: PathBuf,
    /// Only these lines: 10,20 or 10,+5 or 10 (to the end) or ,20
    #[arg(short = 'L', long = "lines", value_name = "START,END")]
    pub(crate) lines: Option<LineRangeArg>,
}

/// A change, or a file or folder. A file whose name looks like a change is written `./c12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeOrPathArg {
    /// A change.
    Change(ChangeId),
    /// A file or folder.
    Path(PathBuf),
}

impl From<OsString> for ChangeOrPathArg {
    fn from(word: OsString) -> Self {
        let is_change = |text: &&str| text.starts_with('c');
        match word.to_str().filter(is_change).and_then(|text| text.parse().ok()) {
            Some(change) => Self::Change(change),
            None => Self::Path(word.into()),
        }
    }
}

/// Lines of a file, by their numbers from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRangeArg {
    /// The first.
    pub(crate) first: u32,
    /// The last; none is the end of the file.
    pub(crate) last: Option<u32>,
}

impl FromStr for LineRangeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || format!("'{text}' is no range of lines; write 10,20 or 10,+5 or 10");
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let (first, last) = text.split_once(',').unwrap_or((text, ""));
        if first.is_empty() && last.is_empty() {
            return Err(error());
        }
        let first = if first.is_empty() { 1 } else { number(first).ok_or_else(error)? };
        let last = match last.strip_prefix('+') {
            Some(count) => Some(first.saturating_add(number(count).ok_or_else(error)? - 1)),
            None if last.is_empty() => None,
            None => Some(number(last).ok_or_else(error)?),
        };
        if last.is_some_and(|last| last < first) {
            return Err(error());
        }
        Ok(Self { first, last })
    }
}
