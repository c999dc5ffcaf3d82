//! Analyses a shell command line from its text alone: the files that it may change (DET-9, DET-10,
//! W-33), and the files that it shows.
//!
//! The scan of the project stays the truth: this names targets, it never narrows the scan.
//! If the text does not tell which files are destroyed, any may be. Only a few literal shapes are
//! [`UnderstoodShape`]: then nothing but the targets is changed.
//! Invariants: no I/O, no panic and no stack overflow on any input, bounded time: input length,
//! nesting, expansions and visited commands are all limited, and past a limit the text counts as
//! not followed.

mod argument;
mod braces;
mod commands;
mod danger;
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
mod understood;
mod understood_forms;
mod variables;
mod walk;
mod word;
mod wrappers;

pub use crate::tool::quoted;
pub(crate) use danger::{DangerMatcher, name_matches};
pub use understood::UnderstoodShape;

use crate::tool::FileReading;

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod reads_tests;
#[cfg(test)]
mod tests;

/// The effects of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandEffects {
    /// The paths that it writes, deletes or moves, as far as its words are literal.
    pub targets: Vec<CommandTarget>,
    /// It has one of the shapes that change nothing but the targets.
    pub understood: Option<UnderstoodShape>,
    /// Some command is git with a subcommand that may change the working tree or refs.
    pub runs_git: bool,
    /// A part of it outlives the command.
    pub background: bool,
    /// The paths whose content is lost: the shield must capture them first.
    pub destroys: Vec<CommandTarget>,
    /// The files that it passes to unknown programs, which may edit them.
    pub may_edit: Vec<CommandTarget>,
    /// The files whose content its output shows: only what is certain from its text.
    pub reads: Vec<FileReading>,
    /// It destroys a file whose name is unknown before it runs.
    pub destroys_unknown: bool,
}

/// One path, pattern or folder that a command changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTarget {
    /// The path after quote removal, relative to `cwd`; `~` stays as it is.
    pub path: String,
    /// The folder that a literal `cd` led to, relative to where the command started.
    pub cwd: Option<String>,
    /// `path` is a pattern with `*`, `?` or `[…]`; quoted ones are escaped by a backslash.
    pub glob: bool,
    /// Everything below `path` is meant too.
    pub recursive: bool,
    /// The effect on it.
    pub what: TargetEffect,
}

/// The effect on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetEffect {
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

impl CommandEffects {
    /// Replaces `~` by the person's home folder.
    #[must_use]
    pub(crate) fn with_home(mut self, home: &str) -> Self {
        let resolve = |path: &mut String| {
            if let Some(rest) = path.strip_prefix('~').filter(|rest| is_home(rest)) {
                *path = format!("{home}{rest}");
            }
        };
        let is_at_home = |target: &&CommandTarget| target.path.starts_with('~');
        // The text may have made another folder the home: what it destroys counts both ways.
        let at_home: Vec<_> = self.destroys.iter().filter(is_at_home).cloned().collect();
        for target in self.targets.iter_mut().chain(&mut self.destroys) {
            resolve(&mut target.path);
            target.cwd.as_mut().map(resolve);
        }
        self.destroys.extend(at_home);
        self
    }
}

/// Returns whether `~` followed by `rest` is the home of the user that runs the command.
fn is_home(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// Analyses a command line.
pub fn effects(command: &str) -> CommandEffects {
    parse::run_guarded(command, || walk::analyse(command)).unwrap_or_else(|| CommandEffects {
        destroys_unknown: danger::mentions_destroyer(command),
        ..CommandEffects::default()
    })
}
