//! Arguments of the commands that review changes, take them back, or restore an earlier state.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use retake_engine::model::{ChangeId, RewindScope};
use retake_engine::{CascadePolicy, TakeBackOptions};

use super::{ChangeOrHunkArg, HunkPlaceArgs};
use crate::time;

/// How a command that writes files goes about it.
#[derive(Debug, Default, Args)]
pub(crate) struct ApplyArgs {
    /// Show what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask before your work is replaced or files are deleted
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Show the diff of each file
    #[arg(long)]
    pub(crate) diff: bool,
}

/// What is done about later changes.
#[derive(Debug, Args)]
pub(crate) struct TakeBackArgs {
    /// Also take back later changes that are in the way, even yours
    #[arg(long)]
    pub(crate) cascade: bool,
    /// Write conflict markers where later changes are in the way
    #[arg(long)]
    pub(crate) markers: bool,
    /// Also take back what git changed, for example by a switch of branches
    #[arg(long)]
    pub(crate) across_git: bool,
}

impl TakeBackArgs {
    /// Converts to the engine's options; without --cascade it is `otherwise`.
    pub(crate) fn to_options(&self, otherwise: CascadePolicy) -> TakeBackOptions {
        TakeBackOptions {
            cascade: if self.cascade { CascadePolicy::All } else { otherwise },
            markers: self.markers,
            across_git: self.across_git,
        }
    }
}

/// What goes back to an earlier state.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct RewindArgs {
    /// Files only (the default)
    #[arg(long)]
    pub(crate) files: bool,
    /// Conversation only; no file is changed
    #[arg(long)]
    pub(crate) conversation: bool,
    /// Files and conversation
    #[arg(long)]
    pub(crate) both: bool,
}

impl RewindArgs {
    /// Converts to the engine's option.
    pub(crate) fn rewind_target(&self) -> RewindScope {
        match (self.conversation, self.both) {
            (true, _) => RewindScope::Conversation,
            (_, true) => RewindScope::Both,
            _ => RewindScope::Files,
        }
    }
}

/// Which changes are decided on.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct ReviewScopeArgs {
    /// Changes (c12), or hunks of a review: h3f9a2c81d0e4, or some lines of one:
    /// h3f9a2c81d0e4:+1-3,-2
    #[arg(value_name = "CHANGE|HUNK", conflicts_with_all = ["file", "dialog", "agent", "all"])]
    pub(crate) targets: Vec<ChangeOrHunkArg>,
    /// All agent changes of this file, or in this folder
    #[arg(long, value_name = "PATH", conflicts_with = "all")]
    pub(crate) file: Option<PathBuf>,
    /// All changes of this dialog, by its name (claude-2) or the start of its id
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub(crate) dialog: Option<String>,
    /// All changes by this agent
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub(crate) agent: Option<String>,
    /// All agent changes
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `accept`.
#[derive(Debug, Args)]
#[command(
    after_help = "Writes no file: the change is already in it. You can still reject an accepted change by its id,\nuntil `retake approve`.\n\nExamples:\n  retake accept c12\n  retake accept h3f9a2c81d0e4\n  retake accept c12 --hunk 1,3\n  retake accept --file src/"
)]
pub(crate) struct AcceptArgs {
    #[command(flatten)]
    pub(crate) scope: ReviewScopeArgs,
    /// Only these hunks of the change, as numbered by `retake show`: 1,3
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "targets")]
    pub(crate) hunk: Vec<u32>,
    #[command(flatten)]
    pub(crate) place: HunkPlaceArgs,
}

/// Options of `reject`.
#[derive(Debug, Args)]
#[command(
    after_help = "Later edits stay, above all your own. Later agent changes that build on a rejected one are\nrejected with it, after a question; --cascade takes back your own edits, too.\n\nExamples:\n  retake reject c12\n  retake reject h3f9a2c81d0e4 --reason 'We have a parser'\n  retake reject c12 --hunk 2\n  retake reject --dialog d1 --dry-run --diff"
)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    pub(crate) scope: ReviewScopeArgs,
    /// Only these hunks of the change, as numbered by `retake show`: 1,3
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "targets")]
    pub(crate) hunk: Vec<u32>,
    #[command(flatten)]
    pub(crate) place: HunkPlaceArgs,
    /// Why, for the agents: they are told once
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// If an agent behind it is at work, wait until its turn ends
    #[arg(long, conflicts_with_all = ["hunk", "markers", "across_git"])]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    /// Also take back changes that another agent may have made
    #[arg(long)]
    pub(crate) include_shared: bool,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Which changes are rolled back; what is given all must hold.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct RollbackScopeArgs {
    /// Take back these changes, for example c12
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    #[arg(conflicts_with_all = ["file", "agent", "call", "message", "dialog", "after"])]
    pub(crate) change: Vec<ChangeId>,
    /// Only changes of this file, or of everything in this folder
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Only changes by this agent
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Only changes by this tool call
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<String>,
    /// Only changes of the answer to this message, counted from 1
    #[arg(long, value_name = "N")]
    pub(crate) message: Option<u64>,
    /// Only changes of this dialog, by its name (claude-2) or the start of its id
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Only changes after this time: 10m, 2h, 3d, today, yesterday, 2026-02-16,
    /// 2026-02-16T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time::validate)]
    pub(crate) after: Option<String>,
}

/// Options of `rollback`.
#[derive(Debug, Args)]
#[command(
    after_help = "Takes back what agents did, approved or not; later changes stay. What cannot be taken back\nwithout harm is left and listed, with the way out.\n\nExamples:\n  retake rollback --change c12 --dry-run\n  retake rollback --file src/main.rs --last\n  retake rollback --agent reviewer --after 2h\n  retake rollback --message 3 --dialog d1"
)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    pub(crate) scope: RollbackScopeArgs,
    /// Only these hunks of the change, as numbered by `retake show`: 1,3
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "change")]
    pub(crate) hunk: Vec<u32>,
    /// Only the latest change of each file
    #[arg(long, conflicts_with = "change")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    /// Also take back changes that another agent may have made
    #[arg(long)]
    pub(crate) include_shared: bool,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Options of `checkpoint`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  retake checkpoint -m 'before the big refactoring'")]
pub(crate) struct CheckpointArgs {
    /// Name of the checkpoint
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Dialog that it belongs to [default: none]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
}

/// Options of `checkpoints`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  retake checkpoints -n 10\n  retake checkpoints --dialog d1")]
pub(crate) struct CheckpointsArgs {
    /// Only checkpoints of this dialog, by its name (claude-2) or the start of its id
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Show at most this many
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// Options of `restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "Files that you created stay, and so do files that another dialog changed last, unless --exact is\ngiven. Ignored files are never touched.\n\nExamples:\n  retake restore 1a2b3c4d\n  retake restore 1a2b3c4d src/ --dry-run\n  retake restore 1a2b3c4d --dialog d1\n  retake restore --before-message 3\n  retake restore --before-message 3 --both"
)]
pub(crate) struct RestoreArgs {
    /// Checkpoint to restore; the first digits of its id are enough
    #[arg(value_name = "CHECKPOINT", required_unless_present_any = ["before_message", "into"])]
    pub(crate) checkpoint: Option<OsString>,
    /// Restore only these files and folders [default: everything]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Restore to before this message, counted from 1
    #[arg(long, value_name = "N")]
    pub(crate) before_message: Option<u64>,
    /// Dialog of that message [default: the latest]; with CHECKPOINT: restore only files that this
    /// dialog changed since
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Also take back your own new files and what other dialogs did
    #[arg(long)]
    pub(crate) exact: bool,
    /// Also take back what git changed since
    #[arg(long)]
    pub(crate) across_git: bool,
    /// Write the files into this new folder instead of the project; works even if the project's
    /// folder is gone [default state: the last one on record]
    #[arg(long, value_name = "DIR")]
    #[arg(conflicts_with_all = ["before_message", "dialog", "exact", "across_git", "dry_run"])]
    pub(crate) into: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) rewind: RewindArgs,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Options of `approve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Approved work is not touched by `retake reset` and `retake reject`; `retake rollback` can still\ntake it back.\n\nExamples:\n  retake approve\n  retake approve --dialog d1 -m 'parser reviewed'"
)]
pub(crate) struct ApproveArgs {
    /// Note to keep with the approval
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Use this dialog [default: the one with work that waits for approval]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
}

/// Options of `reset`.
#[derive(Debug, Args)]
#[command(
    after_help = "Your own edits and the work of other dialogs stay, unless --exact is given.\n\nExamples:\n  retake reset --dry-run\n  retake reset --dialog d1"
)]
pub(crate) struct ResetArgs {
    /// Use this dialog [default: the one with work that waits for approval]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Restore all files to the approved state, no matter who changed them
    #[arg(long)]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Options of `session`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  retake session\n  retake session --dialog d1 --all")]
pub(crate) struct SessionArgs {
    /// Use this dialog [default: the one with work that waits for approval]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// List all work sessions of the dialog instead
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `undo`.
#[derive(Debug, Args)]
#[command(
    after_help = "A step is an agent's turn (its work on one of your messages), or an operation of Retake, such as a\nrestore. Your own edits are not steps, and stay. A redo is undone as it was redone. Steps that git\ntook back are skipped while they stay so; steps that an earlier undo left are skipped until their\nfiles change or you try them in another way.\n\nExamples:\n  retake undo\n  retake undo 3 --dry-run\n  retake undo c12\n  retake undo --both"
)]
pub(crate) struct UndoArgs {
    /// How many steps to undo [default: 1], or the changes to take back, for example c12
    #[arg(value_name = "N|CHANGE")]
    pub(crate) what: Vec<UndoTargetArg>,
    /// List the steps that undo and redo go through, and change nothing
    #[arg(long, conflicts_with = "what")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    #[command(flatten)]
    pub(crate) rewind: RewindArgs,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// What is undone: a number of steps, or a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UndoTargetArg {
    /// The newest steps.
    Steps(u32),
    /// A change.
    Change(ChangeId),
}

impl FromStr for UndoTargetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_number = text.starts_with(|first: char| first.is_ascii_digit());
        let target = if is_number {
            text.parse().ok().filter(|steps| *steps > 0).map(Self::Steps)
        } else {
            text.parse().ok().map(Self::Change)
        };
        target.ok_or_else(|| {
            "write a number of steps, or a change such as c12; \
             `retake rollback --file PATH` takes back what agents did to a file"
                .to_owned()
        })
    }
}

/// Options of `redo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  retake redo\n  retake redo --dry-run --diff")]
pub(crate) struct RedoArgs {
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    #[command(flatten)]
    pub(crate) rewind: RewindArgs,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Options of `ops`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  retake ops -n 10")]
pub(crate) struct OpsArgs {
    /// Show at most this many
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// Options of `recover`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without an option, shows what was interrupted and exits with 3. Each file is either wholly as\nbefore or wholly as planned, and both versions are kept.\n\nExamples:\n  retake recover\n  retake recover --resume"
)]
pub(crate) struct RecoverArgs {
    /// Finish: write the remaining files
    #[arg(long, conflicts_with = "undo")]
    pub(crate) resume: bool,
    /// Take back what was written
    #[arg(long)]
    pub(crate) undo: bool,
}
