//! Arguments of `hook`, `event` and `run`, which record the work of agents.

use std::ffi::OsString;

use clap::Args;

/// Options of `hook`.
#[derive(Debug, Args)]
#[command(
    after_help = "One JSON payload of the agent is read from standard input; the answer that the agent\nunderstands goes to standard output. It always exits with 0 and answers within its budget\n([hook] in the settings): what cannot be recorded by then is kept and taken in later.\n\nExample:\n  retake hook claude-code < payload.json"
)]
pub(crate) struct HookArgs {
    /// The agent: claude-code, codex, gemini, opencode, copilot, cline, cursor,
    /// copilot-vscode
    pub(crate) agent: String,
    /// The agent's name for the event, if the payload does not have it
    pub(crate) event: Option<String>,
}

/// Options of `event`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EventArgs {
    /// What is done with `stale` in a reply: nothing, notes (told to the agent's model), denials
    /// (also, a call that is denied is not run) [default: notes]
    #[arg(long, alias = "hears", value_name = "WHAT", value_enum, default_value_t = ReplySupportArg::Notes)]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) reply_support: ReplySupportArg,
}

/// What the reader of replies does with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReplySupportArg {
    Nothing,
    Notes,
    Denials,
}

/// Options of `run`.
#[derive(Debug, Args)]
#[command(
    after_help = "What the program and its children change is recorded, as one turn of a dialog of its own,\nso that `retake undo` takes it back. The program's exit code and the signals are passed on.\nAn agent that has Retake's hooks may be run like this too; what it reports itself is its own.\n\nExamples:\n  retake run -- make format\n  retake run --agent aider --dialog 'Fix the parser' -- aider --yes"
)]
pub(crate) struct RunArgs {
    /// The name that the work is recorded under [default: the program's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// A title for the dialog [default: the command]
    #[arg(long, value_name = "TITLE")]
    pub(crate) dialog: Option<String>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
