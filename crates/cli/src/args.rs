//! The command line: every command, every option, and what they mean.
//!
//! `docs/cli.md` and the shells' completions are made from these definitions.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use retake_engine::model::{Actor, ChangeId, ChangeStatus};

use crate::time;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  error, or `doctor` found a problem
  2  wrong usage
  3  done in part: some events had errors, or there was a conflict

Environment:
  RETAKE_HOME  where the records are kept (see --home)
  RETAKE_LOG   what is logged to standard error, for example `debug`
  PAGER        the program that shows long output
  NO_COLOR     no colour at all";

/// The undo layer for AI coding agents: see exactly who changed what, and lose nothing.
#[derive(Debug, Parser)]
#[command(name = "retake", version, propagate_version = true, after_help = EXIT_CODES)]
#[command(max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
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
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start to track a folder, or catch up with one that is tracked
    Init(Init),
    /// Show what agents changed that nobody has decided on, and what is not protected
    Status(Status),
    /// List changes, newest first
    Log(Log),
    /// Show one change: who, when, how sure, and its diff
    Show(Show),
    /// Show differences in git's format
    Diff(Diff),
    /// List the conversations with agents
    #[command(
        after_help = "Examples:\n  retake dialogs\n  retake log --dialog \"$(retake dialogs --json | jq -r '.dialogs[0].id')\""
    )]
    Dialogs,
    /// Record events from standard input, one JSON object a line
    #[command(after_help = EVENT_HELP)]
    Event,
    /// Check that everything recorded can be restored; repairs nothing
    Doctor(Doctor),
    /// See Retake at work in a throw-away project
    Demo(Demo),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the reference of all commands in Markdown
    #[command(hide = true)]
    HelpMarkdown,
}

const EVENT_HELP: &str = r#"Each line gets one line of JSON as reply, in order:
  {"ok":true,"seq":12,"changes":[…],"warnings":[…]}
  {"ok":false,"error":{"code":…,"message":…,"hint":…},"line":3}
A line with an error does not stop the rest. The formats are in docs/event.schema.json.

Events: dialog_start, user_message, tool_begin, tool_end, turn_end, dialog_end.

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
#[command(
    after_help = "Nothing is written into the folder itself.\n\nExamples:\n  retake init\n  retake init ~/src/shop"
)]
pub(crate) struct Init {
    /// The folder [default: --project, else the current folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
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
pub(crate) struct Status {
    /// List what is not tracked, and the rule that says so
    #[arg(long, conflicts_with = "no_look")]
    pub(crate) ignored: bool,
}

/// Which changes.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Of this dialog; the start of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Of this agent
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Of this file, or of everything in this folder
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Recorded since this time: 10m, 2h, 3d, today, 2026-02-16, 2026-02-16T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time::check)]
    pub(crate) since: Option<String>,
}

/// Options of `log`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  retake log -n 20\n  retake log --since 2h --actor user\n  retake log --file src/main.rs --oldest-first\n  retake log --json | jq -r '.changes[].path'"
)]
pub(crate) struct Log {
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// Recorded until this time
    #[arg(long, value_name = "TIME", value_parser = time::check)]
    pub(crate) until: Option<String>,
    /// Made by: agent, user, git, retake, unknown
    #[arg(long)]
    pub(crate) actor: Option<Actor>,
    /// With the status: pending, accepted, rejected, reverted
    #[arg(long)]
    pub(crate) status: Option<ChangeStatus>,
    /// At most this many
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Oldest first
    #[arg(long)]
    pub(crate) oldest_first: bool,
}

/// Options of `show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  retake show c12\n  retake show c12 --before > rescued.txt")]
pub(crate) struct Show {
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
    after_help = "Without a choice: everything that agents changed and nobody has decided on.\nPiped, the output is for `git apply`; on a terminal, control characters are spelled out.\n\nExamples:\n  retake diff\n  retake diff c12\n  retake diff --dialog d1 --stat\n  retake diff --file notes.txt --since 1h | git apply -R"
)]
pub(crate) struct Diff {
    /// The change, for example c12
    #[arg(conflicts_with_all = ["dialog", "agent", "file", "since"])]
    pub(crate) change: Option<ChangeId>,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// Count lines for each file instead
    #[arg(long)]
    pub(crate) stat: bool,
    /// Leave control characters as they are, even on a terminal
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 1 if there is a problem. What is wrong is named, never repaired or deleted."
)]
pub(crate) struct Doctor {
    /// Also read every stored content and check its hash
    #[arg(long)]
    pub(crate) read_data: bool,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the project and its record, and tell where they are
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Options of `completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  retake completions bash > ~/.local/share/bash-completion/completions/retake\n  retake completions fish > ~/.config/fish/completions/retake.fish"
)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
