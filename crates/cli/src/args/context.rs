//! Arguments of `context` and its subcommands.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use retake_engine::model::ContextSource;

const HELP: &str = "\
Whether a file is stale is worked out from what the agent saw of it and what has changed since.
It is fresh again when the agent has read it, or if it is again what the agent saw. More in
docs/freshness.md.

Examples:
  retake context
  retake context --stale --agent main
  retake context --timeline --json
  retake context mark src/main.rs src/lib.rs:10-40
  retake context export --output task_metadata.json
  retake context import task_metadata.json";

/// Options of `context`.
#[derive(Debug, Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
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
    /// Write an agent's context as task_metadata.json
    Export(ContextExportArgs),
    /// Take in an agent's context from a task_metadata.json
    Import(ContextImportArgs),
}

/// Whose context.
#[derive(Debug, Args)]
pub(crate) struct ContextAgentArgs {
    /// Of this dialog; the start of its id is enough [default: the latest one]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) dialog: Option<String>,
    /// Of this agent
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// What is shown.
#[derive(Debug, Args)]
pub(crate) struct ContextShowArgs {
    #[command(flatten)]
    pub(crate) agent_args: ContextAgentArgs,
    /// Only files that are not as the agent last saw them
    #[arg(long)]
    pub(crate) stale: bool,
    /// Everything that happened to each file, oldest first
    #[arg(long)]
    pub(crate) timeline: bool,
}

/// Options of `context mark`.
#[derive(Debug, Args)]
#[command(after_help = "Exits with 3 if some of them are not tracked.")]
pub(crate) struct ContextMarkArgs {
    #[command(flatten)]
    pub(crate) agent_args: ContextAgentArgs,
    /// How they came into its context: read_tool, file_mentioned
    #[arg(long, default_value_t = ContextSource::ReadTool, value_parser = parse_source)]
    #[arg(hide_default_value = true)]
    pub(crate) source: ContextSource,
    /// Files; with :A-B only these lines of it
    #[arg(value_name = "PATH[:A-B]", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Options of `context export`.
#[derive(Debug, Args)]
pub(crate) struct ContextExportArgs {
    #[command(flatten)]
    pub(crate) agent_args: ContextAgentArgs,
    /// Write it into this file instead of standard output
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there and differs; what it said is kept beside it
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// Options of `context import`.
#[derive(Debug, Args)]
pub(crate) struct ContextImportArgs {
    #[command(flatten)]
    pub(crate) agent_args: ContextAgentArgs,
    /// The file, which stays as it is
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
