//! The command line: every command and option, as clap definitions.
//!
//! `docs/cli.md`, the man pages and the shells' completions are made from these definitions.

mod agents;
mod config;
mod context;
mod daemon;
pub(crate) mod help;
mod history;
mod hunk_name;
mod look;
mod operations;
mod review;
mod setup;
mod upkeep;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use agents::{EventArgs, HookArgs, ReplySupportArg, RunArgs};
use clap::builder::{FalseyValueParser, Resettable};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{
    Arg, ArgMatches, Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
};

use crate::time::DateStyle;

pub(crate) use config::{
    BugReportArgs, ConfigArgs, ConfigCommand, ConfigSetArgs, ConfigShowArgs, ConfigUnsetArgs,
};
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
pub(crate) use hunk_name::{
    ChangeOrHunkArg, HunkArg, HunkPlaceArgs, format_lines, parse_lines, parse_range,
};
pub(crate) use look::{
    BlameArgs, ChangeFilterArgs, ChangeOrPathArg, DialogsArgs, DiffArgs, LineRangeArg, LogArgs,
    ProjectsArgs, ShowArgs, StatusArgs,
};
pub(crate) use operations::{
    AcceptArgs, ApplyArgs, ApproveArgs, CheckpointArgs, CheckpointsArgs, OpsArgs, RecoverArgs,
    RedoArgs, RejectArgs, ResetArgs, RestoreArgs, ReviewScopeArgs, RollbackArgs, RollbackScopeArgs,
    SessionArgs, UndoArgs, UndoTargetArg,
};
pub(crate) use review::{
    CommentAddArgs, CommentArgs, CommentCommand, CommentSendArgs, FeedbackArgs, ReviewArgs,
};
pub(crate) use setup::SetupArgs;
pub(crate) use upkeep::{
    CompletionsArgs, DemoArgs, DoctorArgs, ExportArgs, GcArgs, GitArgs, InitArgs, ManPagesArgs,
    PurgeArgs,
};

/// The undo layer for AI coding agents: see who changed what, and lose nothing.
#[derive(Debug, Parser)]
#[command(name = "retake", version, propagate_version = true)]
#[command(max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// None is `retake` alone.
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

impl Cli {
    /// Reads the command line. That of a command which programs call, and wait for, is understood
    /// without building all the others.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let mut words = std::env::args_os().skip(1);
        let by_programs =
            words.any(|word| word == "hook" || word == "event" || word == "checkpoint");
        if by_programs
            && let Ok(matches) = without_empty_home(FastPathCli::command()).try_get_matches()
            && let Ok(short) = FastPathCli::from_arg_matches(&matches)
        {
            return Ok(short.into());
        }
        let command = without_empty_home(Self::full_command());
        let matches = command.try_get_matches().map_err(rebuild_error_without_env)?;
        check_subcommand_options(&matches)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut Self::full_command()))
    }

    /// The whole command line with the help by task.
    pub(crate) fn full_command() -> Command {
        help::with_help(Self::command())
    }
}

/// Has an empty RETAKE_HOME count as none, which clap takes for an option without its value.
fn without_empty_home(command: Command) -> Command {
    if std::env::var_os("RETAKE_HOME").is_none_or(|home| !home.is_empty()) {
        return command;
    }
    command.mut_arg("home", |option| option.env(Resettable::Reset))
}

/// Checks that no option of a command stands before a command of its own, which would ignore it.
/// Clap's check for this also refuses the global options.
fn check_subcommand_options(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, own)) = matches.subcommand() else { return Ok(()) };
    let Some((inner, _)) = own.subcommand() else { return Ok(()) };
    let cli = Cli::command();
    let arguments = cli.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
    let is_given = |argument: &&Arg| {
        own.try_contains_id(argument.get_id().as_str()).is_ok()
            && own.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    match arguments.into_iter().find(is_given) {
        None => Ok(()),
        Some(argument) => {
            let option = help::option_name(argument);
            let message =
                format!("'{option}' of `retake {name}` is none of `retake {name} {inner}`");
            Err(Cli::full_command().error(ErrorKind::ArgumentConflict, message))
        }
    }
}

/// Returns true if the words, the program first, call `retake hook`: an agent runs that.
pub(crate) fn is_for_hook(words: impl Iterator<Item = OsString>) -> bool {
    let cli = Cli::command();
    let with_value: Vec<_> = cli
        .get_arguments()
        .filter(|option| option.get_action().takes_values())
        .filter_map(|option| Some(format!("--{}", option.get_long()?)))
        .collect();
    let mut words = words.skip(1);
    while let Some(word) = words.next() {
        if !word.as_encoded_bytes().starts_with(b"-") {
            return word == "hook";
        }
        if with_value.iter().any(|option| word == option.as_str()) {
            words.next();
        }
    }
    false
}

/// Rebuilds the error without values from the environment: else clap's usage line names options
/// that the person did not write, as if they were required.
fn rebuild_error_without_env(error: clap::Error) -> clap::Error {
    let command = Cli::full_command().mut_args(|option| option.env(Resettable::Reset));
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
        Self { global: line.global, command: Some(command) }
    }
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Use the project at or above this folder [default: the current one]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) project: Option<PathBuf>,
    /// Keep records in this folder [default: your data folder]
    #[arg(long, global = true, value_name = "DIR", env = "RETAKE_HOME", hide_env_values = true)]
    #[arg(hide_short_help = true, help_heading = "Global options")]
    pub(crate) home: Option<PathBuf>,
    /// Show what is on record, without scanning the files first
    #[arg(long, global = true, hide_short_help = true, help_heading = "Global options")]
    pub(crate) no_look: bool,
    /// Do the work in this process, even if the daemon runs
    #[arg(long, global = true, env = "RETAKE_NO_DAEMON", hide_env = true)]
    #[arg(hide_short_help = true, value_parser = FalseyValueParser::new())]
    #[arg(help_heading = "Global options")]
    pub(crate) no_daemon: bool,
    /// When to use colour: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(long, global = true, value_name = "WHEN", value_enum, hide_possible_values = true)]
    #[arg(default_value_t, hide_default_value = true, hide_short_help = true)]
    #[arg(help_heading = "Global options")]
    pub(crate) color: ColourChoice,
    /// How to show times: relative (2 min ago), iso (2026-02-16 10:00:00)
    #[arg(long, global = true, value_name = "STYLE", value_enum, hide_possible_values = true)]
    #[arg(hide_short_help = true)]
    #[arg(help_heading = "Global options")]
    pub(crate) date: Option<DateStyle>,
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
    /// Connect your agents: add Retake's hooks to their settings
    Setup(SetupArgs),
    /// Start recording a folder, or bring its record up to date
    Init(InitArgs),
    /// Show unreviewed agent changes and unprotected files
    Status(StatusArgs),
    /// List all projects and what needs your attention in each
    Projects(ProjectsArgs),
    /// List changes, newest first
    Log(LogArgs),
    /// Show one change: who made it, when, and its diff
    Show(ShowArgs),
    /// Show what agents changed, as a diff
    Diff(DiffArgs),
    /// Show who wrote each line of a file
    Blame(BlameArgs),
    /// Undo the latest step: an agent's turn, or an operation of Retake
    Undo(UndoArgs),
    /// Redo what was undone last
    Redo(RedoArgs),
    /// Review what agents changed, hunk by hunk
    Review(ReviewArgs),
    /// Mark agent changes as accepted; no file is written
    Accept(AcceptArgs),
    /// Take back agent changes that you do not want
    Reject(RejectArgs),
    /// List, write and send comments on agents' work
    Comment(CommentArgs),
    /// Show what an agent was not told yet: comments and rejections
    Feedback(FeedbackArgs),
    /// Take back agent changes by file, agent, dialog, message or time
    Rollback(RollbackArgs),
    /// Save a checkpoint of all files as they are now
    Checkpoint(CheckpointArgs),
    /// List checkpoints, newest first
    Checkpoints(CheckpointsArgs),
    /// Restore files to a checkpoint, or to before a message
    Restore(RestoreArgs),
    /// Show a dialog's work since its last approval
    Session(SessionArgs),
    /// Approve a dialog's work since its last approval
    Approve(ApproveArgs),
    /// Take back a dialog's work since its last approval
    Reset(ResetArgs),
    /// List what Retake did to your files, newest first
    Ops(OpsArgs),
    /// Finish an interrupted operation, or take it back
    Recover(RecoverArgs),
    /// List dialogs with agents, their turns and tool calls
    Dialogs(DialogsArgs),
    /// Show, import, export or condense the conversation of a dialog
    History(HistoryArgs),
    /// Show which files agents have seen, and which are out of date
    Context(ContextArgs),
    /// Run a program and record its changes as an agent's work
    Run(RunArgs),
    /// Record what an agent's hook reports (see `setup`)
    Hook(HookArgs),
    /// Show what waits in this project, and what to do about it; `retake` alone does this
    #[command(hide = true)]
    Overview,
    /// Record the spooled events
    #[command(hide = true)]
    CatchUp,
    /// Record events from standard input, one JSON object per line
    #[command(after_help = EVENT_HELP)]
    Event(EventArgs),
    /// Start, stop or inspect the process that makes hooks instant
    Daemon(DaemonArgs),
    /// Show or change settings, and see where each comes from
    Config(ConfigArgs),
    /// Check that everything on record can be restored
    Doctor(DoctorArgs),
    /// Write a report for maintainers, without anything private
    BugReport(BugReportArgs),
    /// Inspect the checkpoints of a dialog with git
    Git(GitArgs),
    /// Export the record as plain JSON files
    Export(ExportArgs),
    /// Remove what is older than the retention limits
    Gc(GcArgs),
    /// Remove the content of a file from the record for good
    Purge(PurgeArgs),
    /// See Retake at work in a throw-away project
    Demo(DemoArgs),
    /// Print the completion script for your shell
    Completions(CompletionsArgs),
    /// Print the reference of all commands in Markdown
    #[command(hide = true)]
    HelpMarkdown,
    /// Write the man pages of all commands
    #[command(hide = true)]
    ManPages(ManPagesArgs),
    /// Print the description of the HTTP interface (OpenAPI 3.1)
    #[command(hide = true)]
    Openapi,
}

const EVENT_HELP: &str = r#"Each line of input gets one line of JSON as its reply, in order:
  {"ok":true,"seq":12,"changes":[…],"checkpoint":null,"warnings":[…]}
  {"ok":false,"error":{"code":…,"message":…,"hint":…},"line":3}
An error in one line does not stop the others. `checkpoint` is the id of the checkpoint that was
made before a user_message (see `retake restore`), else null. The formats are in
docs/event.schema.json.

If files that the agent has seen changed since, the reply to a user_message or to the begin of an
edit has `stale`, with a `message` for the agent's model. A program that honours a `reaction` of
`deny` by not running the call says so with --reply-support denials.

Events: dialog_start, user_message, assistant_message, tool_begin, tool_end, tools_over,
task_end, turn_end, dialog_end.

A folder without a record gets one: the git repository around the event's `cwd` (or the current
folder), else that folder itself.

Example:
  retake event <<'END'
  {"event":"tool_begin","dialog":"d1","call":"c1","tool":"Bash","input":{"command":"make fmt"}}
  END
  make fmt
  echo '{"event":"tool_end","dialog":"d1","call":"c1","ok":true}' | retake event"#;

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
