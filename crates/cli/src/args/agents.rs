//! Arguments of `hook`, `event` and `run`, which record the work of agents.

use std::ffi::OsString;

use clap::Args;

/// Options of `hook`.
#[derive(Debug, Args)]
#[command(
    after_help = "Reads one JSON payload of the agent from standard input and writes the answer in the agent's own\nform to standard output. Always exits with 0 and answers within its time budget ([hook] in the\nsettings): what cannot be recorded by then is kept and recorded later.\n\nExample:\n  retake hook claude-code < payload.json"
)]
pub(crate) struct HookArgs {
    /// Agent: claude-code, codex, gemini, opencode, copilot, cline, cursor,
    /// copilot-vscode
    pub(crate) agent: String,
    /// Name of the event, if the payload does not have it
    pub(crate) event: Option<String>,
}

/// Options of `event`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EventArgs {
    /// What you do with `stale` in a reply: nothing, notes (pass it to the agent's model), denials
    /// (also do not run a call that is denied) [default: notes]
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
    after_help = "Records what the program and its children change as one turn of a new dialog, so that\n`retake undo` takes it back. Passes on signals and the program's exit code. You can also run an\nagent that has Retake's hooks; what it reports itself is recorded as its own.\n\nExamples:\n  retake run -- make format\n  retake run --agent aider --dialog 'Fix the parser' -- aider --yes"
)]
pub(crate) struct RunArgs {
    /// Name of the agent on record [default: the program's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Title of the dialog [default: the command]
    #[arg(long, value_name = "TITLE")]
    pub(crate) dialog: Option<String>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
