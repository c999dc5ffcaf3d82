//! The command line: every command and option, as clap definitions.
//!
//! `docs/cli.md` and the shells' completions are made from these definitions.

use std::ffi::OsString;
mod agents;
mod context;
mod daemon;
mod history;
mod operations;
mod setup;

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{FalseyValueParser, Resettable};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use retake_engine::model::{Actor, ChangeId, ChangeStatus, Confidence};

use crate::time;

pub(crate) use agents::{EventArgs, HookArgs, ReplySupportArg, RunArgs};
pub(crate) use context::{
    ContextAgentArgs, ContextArgs, ContextCommand, ContextExportArgs, ContextImportArgs,
    ContextMarkArgs, ContextShowArgs,
};
pub(crate) use daemon::{
    DaemonArgs, DaemonCodeArgs, DaemonCommand, DaemonLogoutArgs, DaemonRunArgs, DaemonTokenArgs,
};
pub(crate) use history::{
    ConversationArgs, HistoryArgs, HistoryCommand, HistoryCondenseArgs, HistoryExportArgs,
    HistoryImportArgs, HistoryShowArgs,
};
pub(crate) use operations::{
    AcceptArgs, ApplyArgs, ApproveArgs, CheckpointArgs, CheckpointsArgs, OpsArgs, RecoverArgs,
    RedoArgs, RejectArgs, ResetArgs, RestoreArgs, ReviewScopeArgs, RollbackArgs, RollbackScopeArgs,
    SessionArgs, UndoArgs,
};
pub(crate) use setup::SetupArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  error, or `doctor` found a problem
  2  wrong usage
  3  done in part, or not at all: files were left as they are, a yes was missing, an operation
     was interrupted, or some events had errors
`retake run` exits as the program does that it runs (127: not found, 126: cannot be run);
`retake hook` always exits with 0.

Environment:
  RETAKE_HOME       where the records are kept (see --home)
  RETAKE_NO_DAEMON  if 1, no daemon is asked or started (see --no-daemon)
  RETAKE_AUTOSTART  if 0, hooks start no daemon (see `retake setup --daemon=no`)
  RETAKE_LOG        what is logged to standard error, for example `debug`
  PAGER             the program that shows long output
  NO_COLOR          no colour, unless --color says otherwise";

/// The undo layer for AI coding agents: see exactly who changed what, and lose nothing.
#[derive(Debug, Parser)]
#[command(name = "retake", version, propagate_version = true, after_help = EXIT_CODES)]
#[command(max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

impl Cli {
    /// Reads the command line. That of a command which programs call, and wait for, is understood
    /// without building all the others.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let mut words = std::env::args_os().skip(1);
        let by_programs =
            words.any(|word| word == "hook" || word == "event" || word == "checkpoint");
        if by_programs && let Ok(short) = FastPathCli::try_parse() {
            return Ok(short.into());
        }
        Self::try_parse().map_err(rebuild_error_without_env)
    }
}

/// Rebuilds the error without values from the environment: else clap's usage line names options
/// that the person did not write, as if they were required.
fn rebuild_error_without_env(error: clap::Error) -> clap::Error {
    let command = Cli::command().mut_args(|option| option.env(Resettable::Reset));
    command.try_get_matches().err().unwrap_or(error)
}

/// The command line of what programs call; what is wrong with one is told by [`Cli`].
#[derive(Debug, Parser)]
#[command(name = "retake", disable_help_flag = true, disable_help_subcommand = true)]
struct FastPathCli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: FastPathCommand,
}

#[derive(Debug, Subcommand)]
enum FastPathCommand {
    Hook(HookArgs),
    Event(EventArgs),
    Checkpoint(CheckpointArgs),
}

impl From<FastPathCli> for Cli {
    fn from(line: FastPathCli) -> Self {
        let command = match line.command {
            FastPathCommand::Hook(hook) => CliCommand::Hook(hook),
            FastPathCommand::Event(events) => CliCommand::Event(events),
            FastPathCommand::Checkpoint(checkpoint) => CliCommand::Checkpoint(checkpoint),
        };
        Self { global: line.global, command }
    }
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Work on the project at or above this folder [default: the current folder]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) project: Option<PathBuf>,
    /// Keep records in this folder [default: the user's data folder]
    #[arg(long, global = true, value_name = "DIR", env = "RETAKE_HOME", hide_env_values = true)]
    #[arg(help_heading = "Global options")]
    pub(crate) home: Option<PathBuf>,
    /// Show what is on record, without looking at the files first
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) no_look: bool,
    /// Do the work here, even if a daemon runs
    #[arg(long, global = true, env = "RETAKE_NO_DAEMON", hide_env = true)]
    #[arg(value_parser = FalseyValueParser::new(), help_heading = "Global options")]
    pub(crate) no_daemon: bool,
    /// Colour: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(long, global = true, value_name = "WHEN", value_enum, hide_possible_values = true)]
    #[arg(default_value_t, hide_default_value = true, help_heading = "Global options")]
    pub(crate) color: ColourChoice,
}

/// When there is colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColourChoice {
    /// As the terminal and the environment say.
    #[default]
    Auto,
    /// Even into a pipe.
    Always,
    /// Not even on a terminal.
    Never,
}

impl ColourChoice {
    /// Decides for all output of this process.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::AlwaysAnsi,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Let your agents tell Retake what they do: adds its hooks to their settings
    Setup(SetupArgs),
    /// Start to track a folder, or catch up with one that is tracked
    Init(InitArgs),
    /// Show unreviewed agent changes and unprotected files
    Status(StatusArgs),
    /// List all projects on record, and what of each asks for attention
    Projects(ProjectsArgs),
    /// List changes, newest first
    Log(LogArgs),
    /// Show one change: who, when, how sure, and its diff
    Show(ShowArgs),
    /// Show differences in git's format
    Diff(DiffArgs),
    /// Show who wrote each line of a file
    Blame(BlameArgs),
    /// Take back the newest step: an agent's turn, or an operation
    Undo(UndoArgs),
    /// Bring back what was undone last
    Redo(RedoArgs),
    /// Keep changes of agents; writes no file
    Accept(AcceptArgs),
    /// Take back changes of agents that you do not want
    Reject(RejectArgs),
    /// Take back changes of agents, chosen by change, file, agent, call, message, dialog or time
    Rollback(RollbackArgs),
    /// Make a checkpoint of everything as it is now
    Checkpoint(CheckpointArgs),
    /// List checkpoints, newest first
    Checkpoints(CheckpointsArgs),
    /// Put the files into the state of a checkpoint
    Restore(RestoreArgs),
    /// Show what a dialog did since its last approval
    Session(SessionArgs),
    /// Lock in what a dialog did since its last approval
    Approve(ApproveArgs),
    /// Take back what a dialog did since its last approval
    Reset(ResetArgs),
    /// List what Retake did to your files, newest first
    Ops(OpsArgs),
    /// Finish an operation that was interrupted, or take it back
    Recover(RecoverArgs),
    /// List the conversations with agents
    #[command(
        after_help = "Examples:\n  retake dialogs\n  retake log --dialog \"$(retake dialogs --json | jq -r '.dialogs[0].id')\""
    )]
    Dialogs(DialogsArgs),
    /// Show what was said in a dialog, and what the model got; take it in, write it, condense it
    History(HistoryArgs),
    /// Show which files agents know, and what of them is not so any more
    Context(ContextArgs),
    /// Run a program, and record what it changes as the work of an agent
    Run(RunArgs),
    /// Take in what an agent tells at each of its steps; `retake setup` has agents call this
    Hook(HookArgs),
    /// Record the spooled events
    #[command(hide = true)]
    CatchUp,
    /// Record events from standard input, one JSON object a line
    #[command(after_help = EVENT_HELP)]
    Event(EventArgs),
    /// The process that makes hooks instant: start it, stop it, see how it is
    Daemon(DaemonArgs),
    /// Check that everything recorded can be restored; repairs nothing
    Doctor(DoctorArgs),
    /// Look at the checkpoints of a dialog with git
    Git(GitArgs),
    /// Write the record as plain JSON files
    Export(ExportArgs),
    /// Remove what is older than the limits in the settings allow, and free its space
    Gc(GcArgs),
    /// Remove the bytes of a file from the record for good
    Purge(PurgeArgs),
    /// See Retake at work in a throw-away project
    Demo(DemoArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the reference of all commands in Markdown
    #[command(hide = true)]
    HelpMarkdown,
    /// Print the description of the HTTP interface (OpenAPI 3.1)
    #[command(hide = true)]
    Openapi,
}

const EVENT_HELP: &str = r#"Each line gets one line of JSON as reply, in order:
  {"ok":true,"seq":12,"changes":[…],"checkpoint":null,"warnings":[…]}
  {"ok":false,"error":{"code":…,"message":…,"hint":…},"line":3}
A line with an error does not stop the rest. `checkpoint` is the id of the checkpoint that was
made before a user_message, for `retake restore`, else null. The formats are in
docs/event.schema.json.

If the agent has seen files that changed since, the reply to the begin of an edit or to a
user_message has `stale`, with a `message` for the agent's model. A reader that honours a
`reaction` of `deny`, and does not run the call then, says so with --reply-support denials.

Events: dialog_start, user_message, assistant_message, tool_begin, tool_end, tools_over,
task_end, turn_end, dialog_end.

A folder that is not tracked yet is initialised: the git repository around the event's
`cwd` (or the current folder), else that folder itself.

Example:
  retake event <<'END'
  {"event":"tool_begin","dialog":"d1","call":"c1","tool":"Bash","input":{"command":"make fmt"}}
  END
  make fmt
  echo '{"event":"tool_end","dialog":"d1","call":"c1","ok":true}' | retake event"#;

/// Options of `init`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the command line")]
#[command(
    after_help = "Nothing is written into the folder itself.\n\nExamples:\n  retake init\n  retake init ~/src/shop"
)]
pub(crate) struct InitArgs {
    /// The folder [default: --project, else the current folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Make a checkpoint of what is there
    #[arg(long)]
    pub(crate) checkpoint: bool,
    /// Track it even if it is the home folder, `/` or the folder for temporary files
    #[arg(long)]
    pub(crate) anywhere: bool,
    /// The folder replaces the one that was recorded here and is the same project
    #[arg(long, conflicts_with = "new")]
    pub(crate) same: bool,
    /// The folder replaces the one that was recorded here and is a new project
    #[arg(long)]
    pub(crate) new: bool,
}

/// Options of `status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// List what is not tracked, and the rule that says so
    #[arg(long, conflicts_with = "no_look")]
    pub(crate) ignored: bool,
}

/// Options of `projects`.
#[derive(Debug, Args)]
pub(crate) struct ProjectsArgs {
    /// At most this many, those that were recorded to last
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}

/// Which changes.
#[derive(Debug, Args)]
pub(crate) struct ChangeFilterArgs {
    /// Of this dialog; the start of its id is enough (can be given several times)
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Vec<String>,
    /// Of this agent (can be given several times)
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Vec<String>,
    /// Of this file, or of everything in this folder
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Recorded since this time: 10m, 2h, 3d, today, 2026-02-16, 2026-02-16T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time::validate)]
    pub(crate) since: Option<String>,
}

/// Options of `log`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  retake log -n 20\n  retake log --since 2h --actor user\n  retake log --file src/main.rs --oldest-first\n  retake log --json | jq -r '.changes[].path'"
)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    pub(crate) filter: ChangeFilterArgs,
    /// Recorded until this time
    #[arg(long, value_name = "TIME", value_parser = time::validate)]
    pub(crate) until: Option<String>,
    /// Made by: agent, user, git, retake, unknown (several: separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) actor: Vec<Actor>,
    /// What agents did, with the status: pending, accepted, rejected, reverted (several: separated
    /// by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) status: Vec<ChangeStatus>,
    /// How sure it is who did it: certain, window, shared, late, assumed (several: separated by
    /// commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) confidence: Vec<Confidence>,
    /// Of this turn of the dialog
    #[arg(long, value_name = "N", requires = "dialog")]
    pub(crate) turn: Option<u64>,
    /// By this call of a tool
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<String>,
    /// At most this many
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Oldest first
    #[arg(long)]
    pub(crate) oldest_first: bool,
}

/// Options of `dialogs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  retake dialogs\n  retake dialogs --turns 3f2a\n  retake dialogs --calls 3f2a --json"
)]
pub(crate) struct DialogsArgs {
    /// List the turns of this dialog; the start of its id is enough
    #[arg(long, value_name = "ID", conflicts_with = "calls")]
    pub(crate) turns: Option<String>,
    /// List the calls of tools in this dialog
    #[arg(long, value_name = "ID")]
    pub(crate) calls: Option<String>,
}

/// Options of `show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  retake show c12\n  retake show c12 --before > rescued.txt")]
pub(crate) struct ShowArgs {
    /// The change, for example c12
    pub(crate) change: ChangeId,
    /// Print the file's exact content before the change
    #[arg(long, conflicts_with = "after")]
    pub(crate) before: bool,
    /// Print the file's exact content after the change
    #[arg(long)]
    pub(crate) after: bool,
    /// Leave control characters and binary content as they are, even on a terminal
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Options of `diff`.
#[derive(Debug, Args)]
#[command(
    after_help = "What agents changed and nobody has decided on; with --all, whatever anybody changed.\nPiped, the output is for `git apply`; on a terminal or with --color always, control\ncharacters are spelled out, changed words stand out, and code has its colours.\n\nExamples:\n  retake diff\n  retake diff c12\n  retake diff --dialog d1 --stat\n  retake diff --file notes.txt --since 1h | git apply -R"
)]
pub(crate) struct DiffArgs {
    /// The change, for example c12
    #[arg(conflicts_with_all = ["dialog", "agent", "file", "since", "all"])]
    pub(crate) change: Option<ChangeId>,
    #[command(flatten)]
    pub(crate) filter: ChangeFilterArgs,
    /// Everything on record: also what you and git did, and what was decided on or taken back
    #[arg(long)]
    pub(crate) all: bool,
    /// Count lines for each file instead
    #[arg(long)]
    pub(crate) stat: bool,
    /// Leave control characters as they are, even on a terminal
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Options of `blame`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each line has the change that wrote it, who made that change, the turn of the dialog, the tool\nand the time. `before` was there before anything was recorded; `unseen` came while the content\nwas not captured. What Retake brought back is of whoever wrote it first.\n\nExamples:\n  retake blame src/main.rs\n  retake blame -L 10,20 src/main.rs\n  retake blame --json notes.txt | jq -r '.changes[].message.text'"
)]
pub(crate) struct BlameArgs {
    /// The file
    pub(crate) file: PathBuf,
    /// Only these lines: 10,20 or 10,+5 or 10 (to the end) or ,20
    #[arg(short = 'L', long = "lines", value_name = "START,END")]
    pub(crate) lines: Option<LineRangeArg>,
}

/// Lines of a file, by their numbers from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRangeArg {
    /// The first.
    pub(crate) first: u32,
    /// The last; none is the end of the file.
    pub(crate) last: Option<u32>,
}

impl FromStr for LineRangeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || format!("'{text}' is no range of lines; write 10,20 or 10,+5 or 10");
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let (first, last) = text.split_once(',').unwrap_or((text, ""));
        if first.is_empty() && last.is_empty() {
            return Err(error());
        }
        let first = if first.is_empty() { 1 } else { number(first).ok_or_else(error)? };
        let last = match last.strip_prefix('+') {
            Some(count) => Some(first.saturating_add(number(count).ok_or_else(error)? - 1)),
            None if last.is_empty() => None,
            None => Some(number(last).ok_or_else(error)?),
        };
        if last.is_some_and(|last| last < first) {
            return Err(error());
        }
        Ok(Self { first, last })
    }
}

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 1 if there is a problem. What is wrong is named, never repaired or deleted.\n--salvage exits with 3 if something could not be read; the damaged files are kept."
)]
pub(crate) struct DoctorArgs {
    /// Also read every stored content and check its hash
    #[arg(long)]
    pub(crate) read_data: bool,
    /// Put all that can still be read of a damaged record into a new one
    #[arg(long, conflicts_with = "read_data")]
    pub(crate) salvage: bool,
}

/// Options of `git`.
#[derive(Debug, Args)]
#[command(
    after_help = "The branches are `main` (what was approved) and `session_1`, `session_2`, … of one dialog, or\n`checkpoints` if there is none. The repository is made from the record and may be deleted.\n\nExamples:\n  retake git -- log --graph --all --oneline\n  retake git -- log main..session_2 --oneline\n  retake git -- diff main session_2\n  retake git --dialog d1 -- branch -a"
)]
pub(crate) struct GitArgs {
    /// Of this dialog; the start of its id is enough [default: the latest one]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Of the checkpoints that belong to no dialog
    #[arg(long, conflicts_with = "dialog")]
    pub(crate) no_dialog: bool,
    /// What git is to do; without it, only tell where the repository is
    #[arg(value_name = "ARGS", trailing_var_arg = true, conflicts_with = "json")]
    pub(crate) arguments: Vec<OsString>,
}

/// Options of `export`.
#[derive(Debug, Args)]
#[command(
    after_help = "DIR gets sessions/<dialog>/index.json, sessions/<dialog>/snapshots/<change>.json and\nfile-changes.json. Content that is no text is in base64.\n\nExamples:\n  retake export --json ~/retake-export\n  retake export ~/retake-export --dialog d1 --force"
)]
pub(crate) struct ExportArgs {
    /// The folder, outside of the project
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Only of this dialog; the start of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Write into a folder that is not empty
    #[arg(long)]
    pub(crate) force: bool,
    /// Also write the content of .env files, keys and the like
    #[arg(long)]
    pub(crate) with_secrets: bool,
}

/// Options of `gc`.
#[derive(Debug, Args)]
#[command(
    after_help = "The limits are [retention] in the settings (docs/settings.md). Dialogs that were active within\na day, unapproved work of dialogs that were active lately, unfinished operations and the ten\nnewest ones always stay.\nExits with 3 if others were writing too busily to finish.\n\nExamples:\n  retake gc --dry-run\n  retake gc"
)]
pub(crate) struct GcArgs {
    /// Show what would be removed, and what goes later
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `purge`.
#[derive(Debug, Args)]
#[command(
    after_help = "The file itself is not touched. The record keeps who changed it and when, but not the bytes;\narguments of the calls that touched it are dropped too. Its current content is not captured\nagain until it changes: to leave it out for good, add it to `ignore.exclude` in the settings.\nExits with 3 if some of it could not be removed.\n\nExamples:\n  retake purge .env --dry-run\n  retake purge config/secrets.yml --yes"
)]
pub(crate) struct PurgeArgs {
    /// A file or folder of the project, or an object id (40 hexadecimal digits)
    #[arg(value_name = "PATH|OID")]
    pub(crate) what: PathBuf,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Show what would be purged
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the project and its record, and tell where they are
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Options of `completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  retake completions bash > ~/.local/share/bash-completion/completions/retake\n  retake completions fish > ~/.config/fish/completions/retake.fish"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short way to understand a line understands it as the long one does.
    #[test]
    fn the_line_of_a_program_means_the_same_both_ways() {
        for line in [
            "retake hook claude-code",
            "retake hook cline PreToolUse --home /h --no-daemon",
            "retake --json --project /p hook codex",
            "retake --color never hook gemini BeforeTool",
            "retake checkpoint --json",
            "retake checkpoint -m words --dialog d1",
            "retake event --reply-support denials",
            "retake event --hears denials",
        ] {
            let words = || line.split(' ');
            let short = Cli::from(FastPathCli::try_parse_from(words()).unwrap());
            let long = Cli::try_parse_from(words()).unwrap();
            assert_eq!(format!("{short:?}"), format!("{long:?}"), "{line}");
        }
        for line in [
            "retake log --file hook",
            "retake hook",
            "retake hook --help",
            "retake hook a b c",
            "retake checkpoint --nonsense",
            "retake help event",
        ] {
            assert!(FastPathCli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }

    /// The old name is accepted, and not offered.
    #[test]
    fn hears_is_a_hidden_alias_of_reply_support() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map(|cli| format!("{cli:?}"));
        let new = parse("retake event --reply-support denials").unwrap();
        assert_eq!(parse("retake event --hears denials").unwrap(), new);
        let help = parse("retake event --help").unwrap_err().to_string();
        assert!(help.contains("--reply-support <WHAT>") && !help.contains("--hears"), "{help}");
    }
}
