//! Arguments of `history` and its subcommands.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use retake_agents::history::HistoryFormat;

const HELP: &str = "\
Retake keeps both histories of a conversation: what you and the agent said, and what the model got.
Nothing is ever removed from them; condensing and rewinding only hide, and `history back` shows it
again. More in docs/history.md.

Examples:
  retake history
  retake history --model --whole
  retake history import ~/.claude/projects/-work-app/3f6c….jsonl
  retake history export --form claude-code --output 3f6c….jsonl
  retake history condense --dry-run
  retake history back";

/// Options of `history`.
#[derive(Debug, Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
    #[command(flatten)]
    pub(crate) show: HistoryShowArgs,
}

/// What is done with a conversation.
#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Take in a conversation that an agent wrote down
    Import(HistoryImportArgs),
    /// Write a conversation as an agent would
    Export(HistoryExportArgs),
    /// Let a summary stand for the older messages
    Condense(HistoryCondenseArgs),
    /// Show what was hidden last again
    Back(ConversationArgs),
}

/// Which conversation.
#[derive(Debug, Args)]
pub(crate) struct ConversationArgs {
    /// Of this dialog; the start of its id is enough [default: the latest one]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) dialog: Option<String>,
    /// Of this agent of the dialog [default: main]
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// What of a conversation is shown.
#[derive(Debug, Args)]
pub(crate) struct HistoryShowArgs {
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// What the model got: roles, calls of tools, results, tokens
    #[arg(long)]
    pub(crate) model: bool,
    /// Also what is hidden
    #[arg(long)]
    pub(crate) whole: bool,
    /// What was condensed, rewound and brought back
    #[arg(long, conflicts_with_all = ["model", "whole", "limit"])]
    pub(crate) views: bool,
    /// At most so many messages, the newest ones
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}

/// Options of `history import`.
#[derive(Debug, Args)]
#[command(
    after_help = "What is there already is not added again, so a conversation that went on can be imported\nagain. A file is never changed, but for the old claude_messages.json: that is written anew as\napi_conversation_history.json, read back, and kept as claude_messages.json.bak.\nExits with 3 if a part of it could not be read: what could is taken in."
)]
pub(crate) struct HistoryImportArgs {
    /// A file, or the folder of a task (`tasks/ID/`) with all of its files
    #[arg(value_name = "FILE|FOLDER")]
    pub(crate) path: PathBuf,
    /// How it is written [default: as its content tells]
    #[arg(long, value_name = "FORM")]
    pub(crate) form: Option<HistoryFormat>,
    /// The dialog that it belongs to [default: as the file says]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) dialog: Option<String>,
    /// The agent of the dialog that it belongs to [default: as the file says, else main]
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Read it, and take nothing in
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `history export`.
#[derive(Debug, Args)]
#[command(
    after_help = "FORM is claude-code, codex, gemini, opencode, copilot, cline, api_conversation_history or\nui_messages. docs/history.md tells where each agent looks for its files."
)]
pub(crate) struct HistoryExportArgs {
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// How it is written
    #[arg(long, value_name = "FORM", default_value = "api_conversation_history")]
    pub(crate) form: HistoryFormat,
    /// Also what is hidden
    #[arg(long)]
    pub(crate) whole: bool,
    /// Into this file [default: standard output]
    #[arg(long, short = 'o', value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there and differs; what it said is kept beside it
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// Options of `history condense`.
#[derive(Debug, Args)]
#[command(
    after_help = "The messages since the last summary are sent to the model that [summary] in the settings names,\nwith the key that its variable in the environment has. If that fails, the oldest quarter of them is\nhidden instead. `retake history back` shows everything again."
)]
pub(crate) struct HistoryCondenseArgs {
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// Leave the last N messages as they are
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) keep: usize,
    /// Show what would be summarised, and ask nobody
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask before the messages are sent
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}
