//! Arguments of `review`, `comment` and `feedback`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `review`.
#[derive(Debug, Args)]
#[command(
    after_help = "Scopes:\n  all          all changes of agents that wait for approval (the default)\n  last-turn    the newest turn of an agent\n  unseen       changes of agents since you closed a review or said that all is seen\n  claude-2     a dialog, by its name; claude-2:3 is the answer to its message 3\n  call:ID      one tool call; agent:ID is one agent of a dialog\n  c12,c13      these changes\n  everything   your own changes, too\n\nA first word that names a scope is one; name a file that is called so behind `--`. With paths, the\nlines of each hunk are shown. Listing decides on nothing and does not move `unseen`; --seen does,\nand closing `-p` where it is of all, unseen or everything without paths.\n\nWith --json, `files` are the files of the scope and `contents` their hunks. `review -p` exits with 0\nif all is decided on, with 3 if something is open.\n\nExamples:\n  retake review\n  retake review last-turn -p\n  retake review claude-2:3 src/\n  retake review --patch | git apply --cached"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the command line")]
pub(crate) struct ReviewArgs {
    /// Scope to review [default: all], then files and folders
    #[arg(value_name = "SCOPE|PATH")]
    pub(crate) words: Vec<OsString>,
    /// Only these files, and what is in these folders
    #[arg(value_name = "PATH", last = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Ask hunk by hunk what to do with it, in any terminal
    #[arg(short = 'p', long = "plain", conflicts_with = "json")]
    pub(crate) plain: bool,
    /// Print what you keep as a patch for `git apply --cached`
    #[arg(long, conflicts_with_all = ["plain", "json"])]
    pub(crate) patch: bool,
    /// Print in Markdown what was done, by whom, and how it was decided
    #[arg(long, conflicts_with_all = ["plain", "json", "patch"])]
    pub(crate) report: bool,
    /// Also show what was approved
    #[arg(long)]
    pub(crate) approved: bool,
    /// List rejections that wait for the end of an agent's turn
    #[arg(long, conflicts_with_all = ["words", "paths", "plain", "patch", "report", "approved"])]
    pub(crate) queue: bool,
    /// Cancel a rejection that waits, by its number in the queue
    #[arg(long, value_name = "N")]
    #[arg(conflicts_with_all = ["words", "paths", "plain", "patch", "report", "approved", "queue"])]
    pub(crate) cancel: Option<u64>,
    /// Say that you have seen everything, so that `unseen` begins here
    #[arg(long)]
    #[arg(conflicts_with_all = ["words", "paths", "plain", "patch", "report", "approved", "queue", "cancel"])]
    pub(crate) seen: bool,
    /// Forget what was rejected in these files, or everywhere: it may come again unremarked
    #[arg(long)]
    #[arg(conflicts_with_all = ["plain", "patch", "report", "approved", "queue", "cancel", "seen"])]
    pub(crate) forget: bool,
}

/// Options of `comment`.
#[derive(Debug, Args)]
#[command(
    after_help = "A comment is a draft until it is sent. It follows its lines, or says that they are gone. Each agent\nhears a comment once: with your next message to it, when its turn ends, or by `retake feedback`.\n\nExamples:\n  retake comment\n  retake comment add src/main.rs:12-15 'Use the parser that we have'\n  retake comment send"
)]
pub(crate) struct CommentArgs {
    /// None lists all comments.
    #[command(subcommand)]
    pub(crate) command: Option<CommentCommand>,
}

/// What is done with comments.
#[derive(Debug, Subcommand)]
pub(crate) enum CommentCommand {
    /// Write a comment, as a draft
    Add(CommentAddArgs),
    /// Change the words of a draft
    Edit(CommentTextArgs),
    /// Remove a comment
    Remove(CommentNumberArgs),
    /// Send drafts to their agents, in one batch
    Send(CommentSendArgs),
    /// Record the agent's answer
    #[command(
        after_help = "An agent may answer comments for its own dialog.\n\nExample:\n  retake comment answer 4 'The old parser drops comments'"
    )]
    Answer(CommentTextArgs),
    /// Settle a comment
    Resolve(CommentNumberArgs),
}

/// Options of `comment add`.
#[derive(Debug, Args)]
#[command(
    after_help = "PLACE is a hunk (h3f9a2c81d0e4), lines of it (h3f9a2c81d0e4:+1-3), a FILE, FILE:LINE, FILE:FIRST-LAST,\nor - for the work as a whole.\n\nExamples:\n  retake comment add h3f9a2c81d0e4 'Why is this cached?' --question\n  retake comment add src/main.rs:12 'Use the parser that we have'\n  retake comment add - 'Add tests' --for claude-2"
)]
pub(crate) struct CommentAddArgs {
    /// What it is about
    #[arg(value_name = "PLACE")]
    pub(crate) place: OsString,
    /// Your words
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Ask a question instead of an order
    #[arg(long)]
    pub(crate) question: bool,
    /// Dialog whose agent it is for [default: the one that changed the place last]
    #[arg(long = "for", value_name = "DIALOG")]
    pub(crate) dialog: Option<String>,
    #[command(flatten)]
    pub(crate) at: super::HunkPlaceArgs,
}

/// A comment and a text.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  retake comment edit 4 'Use the parser of the library'")]
pub(crate) struct CommentTextArgs {
    /// Number of the comment
    #[arg(value_name = "N")]
    pub(crate) comment: u64,
    /// The words
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
}

/// A comment.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  retake comment resolve 4")]
pub(crate) struct CommentNumberArgs {
    /// Number of the comment
    #[arg(value_name = "N")]
    pub(crate) comment: u64,
}

/// Options of `comment send`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  retake comment send\n  retake comment send 4 5")]
pub(crate) struct CommentSendArgs {
    /// Numbers of the drafts [default: all]
    #[arg(value_name = "N")]
    pub(crate) comments: Vec<u64>,
}

/// Options of `feedback`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each agent hears a comment and a rejection once. What it has not heard is told with your next message\nto it, when its turn ends, or by you: print it, or copy it and paste it into the conversation.\nPrinting alone does not count as told.\n\nExamples:\n  retake feedback\n  retake feedback claude-2 --copy"
)]
pub(crate) struct FeedbackArgs {
    /// Dialog of the agent [default: the only one with something to hear]
    #[arg(value_name = "DIALOG")]
    pub(crate) dialog: Option<String>,
    /// Copy it to the clipboard; from then on it counts as told
    #[arg(long)]
    pub(crate) copy: bool,
    /// Count it as told, without copying it
    #[arg(long, conflicts_with = "copy")]
    pub(crate) told: bool,
}
