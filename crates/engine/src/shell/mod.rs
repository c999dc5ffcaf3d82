//! What a command line may change, read from its text alone (DET-9, DET-10, W-33), and which files
//! it shows.
//!
//! The scan of the project stays the truth; this only names targets before and after it. A word
//! whose value the text does not tell makes the answer incomplete, never wrong on purpose.
//! Invariants: no I/O, no panic and no stack overflow on any input, bounded time: input length,
//! nesting, expansions and visited commands are all limited, and past a limit the answer is
//! incomplete.

mod braces;
mod commands;
mod files;
mod find;
mod git;
mod options;
mod parse;
mod quote;
mod reads;
mod script;
mod show;
mod state;
mod walk;
mod word;
mod wrappers;

pub use quote::quoted;

use crate::tool::Reading;

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod reads_tests;
#[cfg(test)]
mod tests;

/// What a command line may change.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a command")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// What it writes, deletes or moves, as far as its words are literal.
    pub targets: Vec<Target>,
    /// Every command was a known one and every target is listed: nothing else can be changed.
    pub complete: bool,
    /// Some command is git with a subcommand that may change the working tree or refs.
    pub runs_git: bool,
    /// A part of it outlives the command.
    pub background: bool,
    /// What is about to be lost: the part of the targets that the shield must capture first.
    pub destroys: Vec<Target>,
    /// The files whose content its output shows: only what is certain from its text.
    pub reads: Vec<Reading>,
    /// It deletes or moves something whose name cannot be told before it runs.
    pub destroys_unknown: bool,
}

/// One path, pattern or folder that a command changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The path after quote removal, relative to `cwd`; `~` stays as it is.
    pub path: String,
    /// The folder that a literal `cd` led to, relative to where the command started.
    pub cwd: Option<String>,
    /// `path` is a pattern with `*`, `?` or `[…]`; quoted ones are escaped by a backslash.
    pub glob: bool,
    /// Everything below `path` is meant too.
    pub recursive: bool,
    /// What happens to it.
    pub what: Effect,
}

/// What happens to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Written: created, replaced or changed in place.
    Write,
    /// Written at the end only.
    Append,
    /// Deleted.
    Delete,
    /// Moved away.
    Move,
    /// `git clean`, `git stash -u`: untracked files below the path are deleted.
    CleanUntracked,
    /// `git clean -x`: ignored files below the path are deleted.
    CleanIgnored,
    /// `git reset --hard`, `git checkout BRANCH`, `git stash`: tracked files below the path are
    /// written or deleted.
    CheckoutTree,
}

/// Reads a command line.
pub fn effects(command: &str) -> Effects {
    parse::guarded(command, || walk::analyse(command)).unwrap_or_default()
}
