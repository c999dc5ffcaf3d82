//! Arguments of the commands that start a record, check it, and keep it small.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Options of `init`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the command line")]
#[command(
    after_help = "Nothing is written into the folder itself.\n\nExamples:\n  retake init\n  retake init ~/src/shop"
)]
pub(crate) struct InitArgs {
    /// Folder to record [default: --project, else the current folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Save a checkpoint of the files as they are
    #[arg(long)]
    pub(crate) checkpoint: bool,
    /// Allow the home folder, `/` or the folder for temporary files
    #[arg(long)]
    pub(crate) anywhere: bool,
    /// The folder replaces the one recorded here: continue the same project
    #[arg(long, conflicts_with = "new")]
    pub(crate) same: bool,
    /// The folder replaces the one recorded here: start a new project
    #[arg(long)]
    pub(crate) new: bool,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Lists problems and exits with 1 if there are any; repairs and deletes nothing. --salvage exits\nwith 3 if something could not be read; the damaged files are kept.\n\nExamples:\n  retake doctor\n  retake doctor --read-data"
)]
pub(crate) struct DoctorArgs {
    /// Also read all stored content and check its hashes
    #[arg(long)]
    pub(crate) read_data: bool,
    /// Copy all that can still be read from a damaged record into a new one
    #[arg(long, conflicts_with = "read_data")]
    pub(crate) salvage: bool,
}

/// Options of `git`.
#[derive(Debug, Args)]
#[command(
    after_help = "The branches are `main` (approved work) and `session_1`, `session_2`, … of one dialog, or\n`checkpoints` if there is none. The repository is made from the record and may be deleted.\n\nExamples:\n  retake git -- log --graph --all --oneline\n  retake git -- log main..session_2 --oneline\n  retake git -- diff main session_2\n  retake git --dialog d1 -- branch -a"
)]
pub(crate) struct GitArgs {
    /// Use this dialog, by its name (claude-2) or the start of its id [default: the latest one]
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Use the checkpoints that belong to no dialog
    #[arg(long, conflicts_with = "dialog")]
    pub(crate) no_dialog: bool,
    /// Arguments for git; without any, print where the repository is
    #[arg(value_name = "ARGS", trailing_var_arg = true, conflicts_with = "json")]
    pub(crate) arguments: Vec<OsString>,
}

/// Options of `export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Writes sessions/<dialog>/index.json, sessions/<dialog>/snapshots/<change>.json and\nfile-changes.json into DIR. Binary content is in base64.\n\nExamples:\n  retake export --json ~/retake-export\n  retake export ~/retake-export --dialog d1 --force"
)]
pub(crate) struct ExportArgs {
    /// Folder to write to, outside of the project
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Export only this dialog, by its name (claude-2) or the start of its id
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Write to a folder that is not empty
    #[arg(long)]
    pub(crate) force: bool,
    /// Include the content of .env files, keys and the like
    #[arg(long)]
    pub(crate) with_secrets: bool,
}

/// Options of `gc`.
#[derive(Debug, Args)]
#[command(
    after_help = "The limits are [retention] in the settings (docs/settings.md). Always kept: dialogs active within a\nday, unapproved work of recently active dialogs, unfinished operations and the ten newest ones.\nExits with 3 if other processes wrote too much for it to finish.\n\nExamples:\n  retake gc --dry-run\n  retake gc"
)]
pub(crate) struct GcArgs {
    /// Show what would be removed now, and what later
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `purge`.
#[derive(Debug, Args)]
#[command(
    after_help = "The file itself is not touched. The record keeps who changed it and when, but not its content;\narguments of the calls that touched it are removed, too. Its current content is not captured\nagain until it changes: to exclude it for good, add it to `ignore.exclude` in the settings.\nExits with 3 if some of it could not be removed, or if you declined.\n\nExamples:\n  retake purge .env --dry-run\n  retake purge config/secrets.yml --yes"
)]
pub(crate) struct PurgeArgs {
    /// File or folder of the project, or an object id (40 hexadecimal digits)
    #[arg(value_name = "PATH|OID")]
    pub(crate) what: PathBuf,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `demo`.
#[derive(Debug, Args)]
#[command(
    after_help = "At a terminal it is shown step by step, at your pace, in under a minute; Enter goes on, q quits.\nPiped, it is printed as a whole. The project is removed at the end.\n\nExamples:\n  retake demo\n  retake demo --play\n  retake demo --keep"
)]
pub(crate) struct DemoArgs {
    /// Go on by itself, with short pauses
    #[arg(long)]
    pub(crate) play: bool,
    /// Keep the project and its record, and print where they are
    #[arg(long)]
    pub(crate) keep: bool,
}

const COMPLETIONS_HELP: &str = r#"Add one line to the startup file of your shell:
  ~/.bashrc                   eval "$(retake completions bash)"
  ~/.zshrc, after compinit    eval "$(retake completions zsh)"
  ~/.config/fish/config.fish  retake completions fish | source
The shell then completes commands, options, change ids, hunks, dialogs, checkpoints and agents of the
project in the current folder. Completion only reads the record. Other shells complete commands and
options. Without SHELL, the shell is taken from $SHELL; on a terminal its line is printed.

Examples:
  retake completions
  eval "$(retake completions bash)""#;

/// Options of `completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArgs {
    /// Shell [default: the one of $SHELL]
    pub(crate) shell: Option<clap_complete::Shell>,
}

/// Options of `man-pages`.
#[derive(Debug, Args)]
pub(crate) struct ManPagesArgs {
    /// Folder to write to
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
