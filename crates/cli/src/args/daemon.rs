//! Arguments of `daemon` and its subcommands.

use clap::{ArgGroup, Args, Subcommand};

const HELP: &str = "\
One process for all of your projects. Nothing needs it; with it, what agents tell costs them next
to nothing, however large the project is. It stops by itself after an hour without anything to do
([daemon] in the settings). More in docs/daemon.md.

Examples:
  retake daemon start
  retake daemon status --json
  retake daemon stop";

const TOKEN_HELP: &str = "\
An agent with such a token may read the project, make checkpoints, ask for plans, and record one
dialog: the first one that it sends an event of. Agents that are set up with hooks need no token.

Examples:
  retake daemon token --agent --label ci
  retake daemon token --list
  retake daemon token --revoke 3f9a01c2";

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
    /// Mint, list or revoke tokens with which agents use the HTTP interface
    Token(DaemonTokenArgs),
    /// End logins of browsers
    Logout(DaemonLogoutArgs),
    /// Be it, in the foreground
    Run(DaemonRunArgs),
}

/// Options of `daemon code`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DaemonCodeArgs {
    /// For an agent, which may look, make checkpoints and plan
    #[arg(long)]
    pub(crate) agent: bool,
}

/// Options of `daemon token`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("act").required(true).args(["agent", "list", "revoke"])))]
#[command(after_help = TOKEN_HELP)]
pub(crate) struct DaemonTokenArgs {
    /// Mint a token for an agent of this project; it is shown once
    #[arg(long)]
    pub(crate) agent: bool,
    /// List the tokens of this project's agents; outside of a project, all of them
    #[arg(long)]
    pub(crate) list: bool,
    /// Revoke a token
    #[arg(long, value_name = "ID")]
    pub(crate) revoke: Option<String>,
    /// Bind it to this dialog [default: the first that it sends an event of]
    #[arg(long, value_name = "ID", requires = "agent")]
    pub(crate) dialog: Option<String>,
    /// A note for the list
    #[arg(long, value_name = "TEXT", requires = "agent")]
    pub(crate) label: Option<String>,
}

/// Options of `daemon logout`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DaemonLogoutArgs {
    /// The logins that end [default: the only one]
    #[arg(value_name = "ID", conflicts_with_all = ["all", "list"])]
    pub(crate) ids: Vec<String>,
    /// End all of them
    #[arg(long, conflicts_with = "list")]
    pub(crate) all: bool,
    /// List them
    #[arg(long)]
    pub(crate) list: bool,
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
