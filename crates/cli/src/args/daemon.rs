//! Arguments of `daemon` and its subcommands.

use clap::{ArgGroup, Args, Subcommand};

const HELP: &str = "\
One process for all of your projects. It is optional: with it, hooks take next to no time, however
large the project is. It stops by itself after an hour without work ([daemon] in the settings).
More in docs/daemon.md.

Examples:
  retake daemon start
  retake daemon status --json
  retake daemon stop";

const TOKEN_HELP: &str = "\
An agent with such a token may read the project, make checkpoints, ask for plans, and record one
dialog: the first one that it sends an event of. Agents with hooks need no token.

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
    /// Start the daemon in the background
    #[command(after_help = "Example:\n  retake daemon start")]
    Start(DaemonRunArgs),
    /// Stop the daemon once it has finished its current work
    #[command(after_help = "Example:\n  retake daemon stop")]
    Stop,
    /// Show whether the daemon runs, and which projects it serves
    #[command(after_help = "Examples:\n  retake daemon status\n  retake daemon status --json")]
    Status,
    /// Make a one-time code that a program exchanges for a token (docs/api.md)
    #[command(after_help = "Example:\n  retake daemon code")]
    Code(DaemonCodeArgs),
    /// Create, list or revoke agents' tokens for the HTTP interface
    Token(DaemonTokenArgs),
    /// Log out browsers
    #[command(
        after_help = "Examples:\n  retake daemon logout --list\n  retake daemon logout --all"
    )]
    Logout(DaemonLogoutArgs),
    /// Run in the foreground
    #[command(after_help = "Example:\n  RETAKE_LOG=info retake daemon run")]
    Run(DaemonRunArgs),
}

/// Options of `daemon code`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DaemonCodeArgs {
    /// For an agent: it may read, make checkpoints and ask for plans
    #[arg(long)]
    pub(crate) agent: bool,
}

/// Options of `daemon token`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("act").required(true).args(["agent", "list", "revoke"])))]
#[command(after_help = TOKEN_HELP)]
pub(crate) struct DaemonTokenArgs {
    /// Create a token for an agent of this project; it is shown only once
    #[arg(long)]
    pub(crate) agent: bool,
    /// List the tokens of this project; outside of a project, all tokens
    #[arg(long)]
    pub(crate) list: bool,
    /// Revoke this token
    #[arg(long, value_name = "ID")]
    pub(crate) revoke: Option<String>,
    /// Bind the token to this dialog [default: the first that it sends an event of]
    #[arg(long, value_name = "ID", requires = "agent")]
    pub(crate) dialog: Option<String>,
    /// A note for the list
    #[arg(long, value_name = "TEXT", requires = "agent")]
    pub(crate) label: Option<String>,
}

/// Options of `daemon logout`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DaemonLogoutArgs {
    /// Logins to end [default: the only one]
    #[arg(value_name = "ID", conflicts_with_all = ["all", "list"])]
    pub(crate) ids: Vec<String>,
    /// End all logins
    #[arg(long, conflicts_with = "list")]
    pub(crate) all: bool,
    /// List the logins
    #[arg(long)]
    pub(crate) list: bool,
}

/// Options of `daemon run` and `daemon start`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DaemonRunArgs {
    /// Stop after this many seconds without work [default: the settings]
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) idle_seconds: Option<u64>,
    /// Detach from the terminal, and log to a file
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}
