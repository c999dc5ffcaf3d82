//! Arguments of `history` and its subcommands.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use retake_agents::history::HistoryFormat;

const HELP: &str = "\
Retake keeps both histories of a conversation: what you and the agent said, and what was sent to
the model. Condensing and rewinding only hide messages; `history back` shows them again. More in
docs/history.md.

Examples:
  retake history
  retake history --model --whole
  retake history import ~/.claude/projects/-work-app/3f6c….jsonl
  retake history export --form claude-code --output 3f6c….jsonl
  retake history condense --dry-run
  retake history back";

/// Options of `history`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
    #[command(flatten)]
    pub(crate) show: HistoryShowArgs,
}

/// What is done with a conversation.
#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Import a conversation from an agent's file
    Import(HistoryImportArgs),
    /// Export a conversation in the form of an agent
    Export(HistoryExportArgs),
    /// Replace older messages by a summary
    Condense(HistoryCondenseArgs),
    /// Show again what was hidden last
    #[command(after_help = "Example:\n  retake history back")]
    Back(ConversationArgs),
}

/// Which conversation.
#[derive(Debug, Args)]
pub(crate) struct ConversationArgs {
    /// Use this dialog, by its name (claude-2) or the start of its id [default: the latest one]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) dialog: Option<String>,
    /// Use this agent of the dialog [default: main]
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// What of a conversation is shown.
#[derive(Debug, Args)]
pub(crate) struct HistoryShowArgs {
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// Show what was sent to the model: roles, tool calls, results, tokens
    #[arg(long)]
    pub(crate) model: bool,
    /// Include hidden messages
    #[arg(long)]
    pub(crate) whole: bool,
    /// List what was condensed, rewound and shown again
    #[arg(long, conflicts_with_all = ["model", "whole", "limit"])]
    pub(crate) views: bool,
    /// Show at most this many messages, the newest ones
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}

/// Options of `history import`.
#[derive(Debug, Args)]
#[command(
    after_help = "Messages on record are not added again, so a conversation that went on can be imported again.\nThe file is not changed, except for the old claude_messages.json: it is rewritten as\napi_conversation_history.json, read back, and kept as claude_messages.json.bak.\nExits with 3 if a part could not be read; the rest is imported.\n\nExamples:\n  retake history import ~/.claude/projects/-work-app/3f6c….jsonl\n  retake history import tasks/1718000000000/ --dry-run"
)]
pub(crate) struct HistoryImportArgs {
    /// File, or the folder of a task (`tasks/ID/`) with all of its files
    #[arg(value_name = "FILE|FOLDER")]
    pub(crate) path: PathBuf,
    /// Form of the file [default: detected]
    #[arg(long, value_name = "FORM")]
    pub(crate) form: Option<HistoryFormat>,
    /// Dialog to import into [default: as the file says]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) dialog: Option<String>,
    /// Agent of the dialog [default: as the file says, else main]
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Read the file, and import nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `history export`.
#[derive(Debug, Args)]
#[command(
    after_help = "FORM is claude-code, codex, gemini, opencode, copilot, cline, api_conversation_history or\nui_messages. docs/history.md tells where each agent looks for its files.\n\nExample:\n  retake history export --form claude-code --output 3f6c….jsonl"
)]
pub(crate) struct HistoryExportArgs {
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// Form to write
    #[arg(long, value_name = "FORM", default_value = "api_conversation_history")]
    pub(crate) form: HistoryFormat,
    /// Include hidden messages
    #[arg(long)]
    pub(crate) whole: bool,
    /// Write to this file [default: standard output]
    #[arg(long, short = 'o', value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file that differs; its old content is kept beside it
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// Options of `history condense`.
#[derive(Debug, Args)]
#[command(
    after_help = "Sends the messages since the last summary to the model that [summary] in the settings names, with\nthe key from the environment variable named there. If that fails, the oldest quarter of the\nmessages is hidden instead. `retake history back` shows everything again.\n\nExamples:\n  retake history condense --dry-run\n  retake history condense --keep 10"
)]
pub(crate) struct HistoryCondenseArgs {
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// Keep the last N messages as they are
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) keep: usize,
    /// Show what would be summarised, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask before messages are sent
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}
