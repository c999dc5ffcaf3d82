//! Options of `setup`.

use clap::Args;
use retake_agents::AgentKind;

const HELP: &str = "\
Agents: claude-code, codex, gemini, opencode, copilot, cline, cursor (untested: written from
Cursor's documentation). Without a name: every installed agent; --remove also covers agents that
were set up before.

Everything else in their settings stays as it is, and --remove puts the files back. Codex runs
hooks only after you approve them there with /hooks. What is written where: docs/agents.md.

Exits with 3 if a file was left as it is, or if confirmation was needed.

Examples:
  retake setup
  retake setup --print
  retake setup claude-code codex --yes
  retake setup --here opencode
  retake setup --yes --daemon
  retake setup --status
  retake setup --remove";

/// Options of `setup`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the command line")]
pub(crate) struct SetupArgs {
    /// Agents to set up [default: every installed agent]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<AgentKind>,
    /// Set up for this project only, instead of for all of your projects
    #[arg(long)]
    pub(crate) here: bool,
    /// Remove the hooks
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show which agents are installed, whether they are set up, and when they last reported
    #[arg(long, conflicts_with_all = ["remove", "print", "yes"])]
    pub(crate) status: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Let hooks start the daemon if none runs: yes or no [default: as set before, else yes]
    #[arg(long, value_name = "CHOICE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "yes", conflicts_with_all = ["remove", "print", "status"])]
    pub(crate) daemon: Option<YesNo>,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum YesNo {
    /// It is wanted.
    Yes,
    /// It is not.
    No,
}

impl From<YesNo> for bool {
    fn from(choice: YesNo) -> Self {
        choice == YesNo::Yes
    }
}
