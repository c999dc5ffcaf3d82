//! Options of `setup`.

use clap::Args;
use retake_agents::AgentKind;

const HELP: &str = "\
Agents: claude-code, codex, gemini, opencode, copilot, cline, cursor (cursor is untested: it is
made from Cursor's documentation). Without a name: every agent that is installed; --remove also
covers those that were set up before.

Everything else in their settings stays as it is, and --remove puts the files back. Codex runs
hooks only after you approved them in it, with /hooks. What is written where: docs/agents.md.

Exits with 3 if a file was left as it is, or if a yes was missing.

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
    /// The agents [default: every agent that is installed]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<AgentKind>,
    /// In this project instead of for all of yours
    #[arg(long)]
    pub(crate) here: bool,
    /// Take the hooks out again
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show which agents are there, whether they are set up, and when they were last heard of
    #[arg(long, conflicts_with_all = ["remove", "print", "yes"])]
    pub(crate) status: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Whether hooks start the daemon if none runs: yes or no [default: as it is set, else yes]
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
