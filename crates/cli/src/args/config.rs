//! Arguments of `config` and of `bug-report`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const CONFIG_HELP: &str = "\
Without a subcommand: show. Settings are in config.toml of Retake's home; a project may have a file
of its own there, which then counts as a whole, but for [daemon] and [http]. All are explained in
docs/settings.md.

Examples:
  retake config
  retake config --changed
  retake config get retention.max_dialogs
  retake config set retention.max_dialogs 50
  retake config path";

const SHOW_HELP: &str = "\
Exits with 1 if a settings file has a wrong entry; each is named with its line.

Examples:
  retake config show
  retake config show --changed
  retake config show --json | jq '.values[] | select(.source != \"default\") | .key'";

const GET_HELP: &str = "\
Prints the value alone; a list as JSON, and nothing if the setting has no value.

Examples:
  retake config get retention.max_dialogs
  retake config get ignore.exclude --json";

const SET_HELP: &str = "\
true or false (yes, no, on, off), a number, a text; sizes also as 500MB or 64MiB; a list as several
words or as JSON. Comments and order in the file stay. A running daemon takes it at once, except
what it reads at its start, which is said. Only the person may change settings, no agent.

Examples:
  retake config set retention.max_dialogs 50
  retake config set limits.max_file_bytes 500MB --here
  retake config set ignore.exclude '*.log' 'tmp/'
  retake config set ignore.exclude '[]'";

const UNSET_HELP: &str = "\
Takes the setting out of the file, so that its default counts.

Examples:
  retake config unset retention.max_dialogs
  retake config unset ignore.exclude --here";

const PATH_HELP: &str = "\
Examples:
  retake config path
  retake config path --json | jq -r '.files[0].path'";

const BUG_REPORT_HELP: &str = "\
Nothing is sent anywhere: you read the report, and attach the file to an issue yourself. It has the
versions, the settings that are not default, the daemon's state and the end of its log, the checks
of `doctor`, and counts. It has no prompts, no names and no contents of files; secrets, your name
and your machine's name are masked, folders are named ~, PROJECT and RETAKE_HOME.

Without a terminal pass -o FILE and --yes, or -o - for standard output. An existing file is never
overwritten. Exits with 3 if nothing was written.

Examples:
  retake bug-report
  retake bug-report -o report.md --yes
  retake bug-report -o -
  retake bug-report --json";

/// Options of `config`.
#[derive(Debug, Args)]
#[command(after_help = CONFIG_HELP)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    #[command(flatten)]
    pub(crate) show: ConfigShowArgs,
}

/// What is done with the settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting with its value in force, and where that comes from
    #[command(after_help = SHOW_HELP)]
    Show(ConfigShowArgs),
    /// Print the value of one setting
    #[command(after_help = GET_HELP)]
    Get(ConfigGetArgs),
    /// Change a setting
    #[command(after_help = SET_HELP)]
    Set(ConfigSetArgs),
    /// Take a setting out of the file
    #[command(after_help = UNSET_HELP)]
    Unset(ConfigUnsetArgs),
    /// Print where the settings files are
    #[command(after_help = PATH_HELP)]
    Path,
}

/// Options of `config show`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// Only what is not the default
    #[arg(long)]
    pub(crate) changed: bool,
}

/// Options of `config get`.
#[derive(Debug, Args)]
pub(crate) struct ConfigGetArgs {
    /// The setting, as `retention.max_dialogs`
    pub(crate) key: String,
}

/// Options of `config set`.
#[derive(Debug, Args)]
pub(crate) struct ConfigSetArgs {
    /// The setting, as `retention.max_dialogs`
    pub(crate) key: String,
    /// Its value; several for a list
    #[arg(value_name = "VALUE", required = true, allow_negative_numbers = true)]
    pub(crate) values: Vec<String>,
    /// Only for this project, in its own settings file in Retake's home
    #[arg(long)]
    pub(crate) here: bool,
}

/// Options of `config unset`.
#[derive(Debug, Args)]
pub(crate) struct ConfigUnsetArgs {
    /// The setting, as `retention.max_dialogs`
    pub(crate) key: String,
    /// Only for this project, in its own settings file in Retake's home
    #[arg(long)]
    pub(crate) here: bool,
}

/// Options of `bug-report`.
#[derive(Debug, Args)]
#[command(after_help = BUG_REPORT_HELP)]
pub(crate) struct BugReportArgs {
    /// Write the report to this new file; - is standard output [default: retake-report-TIME.md]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}
