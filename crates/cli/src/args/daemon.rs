//! Arguments of `daemon` and its subcommands.

use clap::{Args, Subcommand};

const HELP: &str = "\
One process for all of your projects. Nothing needs it; with it, what agents tell costs them next
to nothing, however large the project is. It stops by itself after an hour without anything to do
([daemon] in the settings). More in docs/daemon.md.

Examples:
  retake daemon start
  retake daemon status --json
  retake daemon stop";

/// Options of `daemon`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    pub(crate) command: DaemonCommand,
}

/// What is done with the daemon.
#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Start it in the background
    Start(DaemonRunArgs),
    /// Stop it, when it has done what it is at
    Stop,
    /// Show whether it runs, and which projects it serves
    Status,
    /// Make a code that another program exchanges once for a token: see docs/api.md
    Code(DaemonCodeArgs),
    /// Be it, in the foreground
    Run(DaemonRunArgs),
}

/// Options of `daemon code`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DaemonCodeArgs {
    /// For an agent, which may look, record and plan, but decide nothing and write no file
    #[arg(long)]
    pub(crate) agent: bool,
}

/// Options of `daemon run` and `daemon start`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DaemonRunArgs {
    /// Stop after so many seconds without anything to do [default: the settings]
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) idle_seconds: Option<u64>,
    /// Leave the terminal, and write the log into a file
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}
