//! Arguments of the commands that review changes, take them back, or restore an earlier state.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use retake_engine::model::{ChangeId, RewindScope};
use retake_engine::{CascadePolicy, TakeBackOptions};

use crate::time;

/// How a command that writes files goes about it.
#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// Show what would be done, and do none of it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask before something of yours is replaced or files are deleted
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Show the difference that is made to each file
    #[arg(long)]
    pub(crate) diff: bool,
}

/// What is done about later changes.
#[derive(Debug, Args)]
pub(crate) struct TakeBackArgs {
    /// Where later changes stand in the way, take them back too, whoever made them
    #[arg(long)]
    pub(crate) cascade: bool,
    /// Where later changes stand in the way, write both versions between conflict markers
    #[arg(long)]
    pub(crate) markers: bool,
    /// Take back what git changed since, for example by a branch switch
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
    /// Only the files (the default)
    #[arg(long)]
    pub(crate) files: bool,
    /// Only what is shown of the conversation: no file is changed
    #[arg(long)]
    pub(crate) conversation: bool,
    /// The files, and then the conversation
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
    /// These changes, for example c12
    #[arg(value_name = "CHANGE", conflicts_with_all = ["file", "dialog", "agent", "all"])]
    pub(crate) changes: Vec<ChangeId>,
    /// Everything that agents did to this file, or in this folder
    #[arg(long, value_name = "PATH", conflicts_with = "all")]
    pub(crate) file: Option<PathBuf>,
    /// Everything of this dialog; the start of its id is enough
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub(crate) dialog: Option<String>,
    /// Everything of this agent
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub(crate) agent: Option<String>,
    /// Everything that agents did
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `accept`.
#[derive(Debug, Args)]
#[command(
    after_help = "Writes no file: the change is in it already. An accepted change can still be\nrejected by its id, until `retake approve`.\n\nExamples:\n  retake accept c12\n  retake accept c12 --hunk 1,3\n  retake accept --file src/"
)]
pub(crate) struct AcceptArgs {
    #[command(flatten)]
    pub(crate) scope: ReviewScopeArgs,
    /// Only these places of the one change, as `retake show` numbers them: 1,3
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "changes")]
    pub(crate) hunk: Vec<u32>,
}

/// Options of `reject`.
#[derive(Debug, Args)]
#[command(
    after_help = "Later edits stay, yours above all. Later changes of agents that build on a rejected one\nare rejected with it, after a question; --cascade goes over your own edits too.\n\nExamples:\n  retake reject c12\n  retake reject c12 --hunk 2\n  retake reject --dialog d1 --dry-run --diff"
)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    pub(crate) scope: ReviewScopeArgs,
    /// Only these places of the one change, as `retake show` numbers them: 1,3
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "changes")]
    pub(crate) hunk: Vec<u32>,
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    /// Take back changes that another agent may have made
    #[arg(long)]
    pub(crate) include_shared: bool,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Which changes are rolled back; what is given all must hold.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct RollbackScopeArgs {
    /// These changes, for example c12
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    #[arg(conflicts_with_all = ["file", "agent", "call", "message", "dialog", "after"])]
    pub(crate) change: Vec<ChangeId>,
    /// Of this file, or of everything in this folder
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Of this agent
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Of this tool call
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<String>,
    /// Of the answer to this message, counted from 1 [dialog: the latest, if none is given]
    #[arg(long, value_name = "N")]
    pub(crate) message: Option<u64>,
    /// Of this dialog; the start of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Recorded later than this time: 10m, 2h, 2026-02-16, 2026-02-16T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time::validate)]
    pub(crate) after: Option<String>,
}

/// Options of `rollback`.
#[derive(Debug, Args)]
#[command(
    after_help = "Takes back what agents did, approved or not; what came later stays. What cannot be taken\nback without harm is left and named, with the way out.\n\nExamples:\n  retake rollback --change c12 --dry-run\n  retake rollback --file src/main.rs --last\n  retake rollback --agent reviewer --after 2h\n  retake rollback --message 3 --dialog d1"
)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    pub(crate) scope: RollbackScopeArgs,
    /// Only these places of the one change, as `retake show` numbers them: 1,3
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "change")]
    pub(crate) hunk: Vec<u32>,
    /// Only the newest change of each file
    #[arg(long, conflicts_with = "change")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    /// Take back changes that another agent may have made
    #[arg(long)]
    pub(crate) include_shared: bool,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Options of `checkpoint`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  retake checkpoint -m 'before the big refactoring'")]
pub(crate) struct CheckpointArgs {
    /// What it is called
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// The dialog that it belongs to [default: none]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
}

/// Options of `checkpoints`.
#[derive(Debug, Args)]
pub(crate) struct CheckpointsArgs {
    /// Of this dialog; the start of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// At most this many
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// Options of `restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "Files that you made stay, and so do files that another dialog changed last, unless --exact.\nIgnored files are never touched.\n\nExamples:\n  retake restore 1a2b3c4d\n  retake restore 1a2b3c4d src/ --dry-run\n  retake restore 1a2b3c4d --dialog d1\n  retake restore --before-message 3\n  retake restore --before-message 3 --both"
)]
pub(crate) struct RestoreArgs {
    /// The checkpoint; the first digits of its id are enough (see `retake checkpoints`)
    #[arg(value_name = "CHECKPOINT", required_unless_present_any = ["before_message", "into"])]
    pub(crate) checkpoint: Option<OsString>,
    /// Only these files and folders [default: everything]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Restore to before this message, counted from 1: it and all later answers are undone
    #[arg(long, value_name = "N")]
    pub(crate) before_message: Option<u64>,
    /// The dialog of that message [default: the latest]; with CHECKPOINT: only the files that this
    /// dialog changed since
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Also take away files that you made, and what other dialogs did
    #[arg(long)]
    pub(crate) exact: bool,
    /// Also take back what git changed since
    #[arg(long)]
    pub(crate) across_git: bool,
    /// Write the files into this new folder, and leave the project alone; works also if the project's
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
    after_help = "What is approved is not touched by `retake reset` and `retake reject` any more;\n`retake rollback` still takes it back."
)]
pub(crate) struct ApproveArgs {
    /// What you say about it
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// The dialog [default: the one with work that waits for approval]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
}

/// Options of `reset`.
#[derive(Debug, Args)]
#[command(
    after_help = "Your own edits and what other dialogs did stay, unless --exact.\n\nExamples:\n  retake reset --dry-run\n  retake reset --dialog d1"
)]
pub(crate) struct ResetArgs {
    /// The dialog [default: the one with work that waits for approval]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Put all files into the approved state, whoever changed them
    #[arg(long)]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Options of `session`.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// The dialog [default: the one with work that waits for approval]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// List all its work sessions instead
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `undo`.
#[derive(Debug, Args)]
#[command(
    after_help = "A step is an agent's turn (its work on one message of yours), or an operation of Retake,\nsuch as a restore. Your own edits are no steps, and stay. A redo is undone as it was redone. What git\ntook back, and what an earlier undo left, is passed over: the first for as long as it stays so, the\nother until its files change or you try it in another way.\n\nExamples:\n  retake undo\n  retake undo 3 --dry-run\n  retake undo --both"
)]
pub(crate) struct UndoArgs {
    /// So many steps
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) steps: u32,
    /// List the steps that undo and redo go through, and do nothing
    #[arg(long, conflicts_with = "steps")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) take_back: TakeBackArgs,
    #[command(flatten)]
    pub(crate) rewind: RewindArgs,
    #[command(flatten)]
    pub(crate) apply: ApplyArgs,
}

/// Options of `redo`.
#[derive(Debug, Args)]
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
pub(crate) struct OpsArgs {
    /// At most this many
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// Options of `recover`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without an option it only shows what was interrupted, and exits with 3.\nEach file is either wholly as before or wholly as planned, and both versions are kept."
)]
pub(crate) struct RecoverArgs {
    /// Write the rest of the files
    #[arg(long, conflicts_with = "undo")]
    pub(crate) resume: bool,
    /// Take back what was written
    #[arg(long)]
    pub(crate) undo: bool,
}
