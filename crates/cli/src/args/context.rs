//! Arguments of `context` and its subcommands.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use retake_engine::model::ContextSource;

const HELP: &str = "\
A file is stale if it changed since the agent last saw it. It is fresh again once the agent has
read it, or if it is changed back to what the agent saw. More in docs/freshness.md.

Examples:
  retake context
  retake context --stale --agent main
  retake context --timeline --json
  retake context mark src/main.rs src/lib.rs:10-40
  retake context export --output task_metadata.json
  retake context import task_metadata.json";

/// Options of `context`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ContextCommand>,
    #[command(flatten)]
    pub(crate) show: ContextShowArgs,
}

/// What is done about what an agent knows.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Record that an agent has seen files as they are now
    Mark(ContextMarkArgs),
    /// Export an agent's context as task_metadata.json
    Export(ContextExportArgs),
    /// Import an agent's context from a task_metadata.json
    Import(ContextImportArgs),
}

/// Whose context.
#[derive(Debug, Args)]
pub(crate) struct ContextAgentArgs {
    /// Use this dialog, by its name (claude-2) or the start of its id [default: the latest one]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) dialog: Option<String>,
    /// Use this agent of the dialog
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// What is shown.
#[derive(Debug, Args)]
pub(crate) struct ContextShowArgs {
    #[command(flatten)]
    pub(crate) agent_args: ContextAgentArgs,
    /// Only files that changed since the agent last saw them
    #[arg(long)]
    pub(crate) stale: bool,
    /// Show everything that happened to each file, oldest first
    #[arg(long)]
    pub(crate) timeline: bool,
}

/// Options of `context mark`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 3 if some of the files are not tracked.\n\nExample:\n  retake context mark src/main.rs src/lib.rs:10-40"
)]
pub(crate) struct ContextMarkArgs {
    #[command(flatten)]
    pub(crate) agent_args: ContextAgentArgs,
    /// How the agent saw them: read_tool, file_mentioned [default: read_tool]
    #[arg(long, default_value_t = ContextSource::ReadTool, value_parser = parse_source)]
    #[arg(hide_default_value = true)]
    pub(crate) source: ContextSource,
    /// Files; add :A-B for only these lines of a file
    #[arg(value_name = "PATH[:A-B]", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Options of `context export`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  retake context export --output task_metadata.json")]
pub(crate) struct ContextExportArgs {
    #[command(flatten)]
    pub(crate) agent_args: ContextAgentArgs,
    /// Write to this file [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file that differs; its old content is kept beside it
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// Options of `context import`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  retake context import task_metadata.json")]
pub(crate) struct ContextImportArgs {
    #[command(flatten)]
    pub(crate) agent_args: ContextAgentArgs,
    /// File to import; it is not changed
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Parses a source that another program may report; an agent's own edits come from its events.
fn parse_source(text: &str) -> Result<ContextSource, String> {
    match text.parse()? {
        source @ (ContextSource::ReadTool | ContextSource::FileMentioned) => Ok(source),
        other => Err(format!("{other} is recorded by itself; write read_tool or file_mentioned")),
    }
}
