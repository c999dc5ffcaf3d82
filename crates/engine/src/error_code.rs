//! A stable error code for programs and a hint for people, for each error type.
//!
//! The error's own text names the thing and the reason; the hint is separate, so that each
//! surface (terminal, JSON, HTTP) can show it in its own way.

use retake_store::{ExportError, StoreError};

use crate::history::{CondenseError, HistoryError};
use crate::maintenance::purge::PurgeError;
use crate::operations::begin::OperationError;
use crate::project::ProjectError;
use crate::query::export::SnapshotError;
use crate::record::RecordError;

/// The stable code of an error, and a hint how to resolve it.
pub trait ErrorAdvice {
    /// A stable name for programs.
    fn code(&self) -> &'static str;

    /// Returns what a person can do about it.
    fn hint(&self) -> &'static str;
}

impl ErrorAdvice for ProjectError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotAProject(_) => "not_a_project",
            Self::GitDirectory(_) => "git_directory",
            Self::TooBroad { .. } => "too_broad",
            Self::Folder { .. } | Self::Open(_) => "folder",
            Self::Record(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::NotAProject(_) => {
                "run `retake init` in the project's top folder, or pass --project DIR"
            }
            Self::GitDirectory(_) => "go to the repository's working tree",
            Self::TooBroad { .. } => {
                "go to the project's own folder, or pass --anywhere to `retake init`"
            }
            Self::Folder { .. } | Self::Open(_) => {
                "check that the folder exists and that you may read it"
            }
            Self::Record(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for RecordError {
    fn code(&self) -> &'static str {
        match self {
            Self::Replaced(_) => "replaced",
            Self::Gone(_) => "gone",
            Self::ReadOnly(_) => "read_only",
            Self::Locked(_) => "locked",
            Self::Settings(_) => "settings",
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Replaced(_) => {
                "`retake init --same` if it is the same project, `retake init --new` if it is \
                 another one"
            }
            Self::Gone(_) => {
                "what was recorded is kept: open the folder where it is now, or make it again and \
                 run `retake init --same` there, which says how everything comes back"
            }
            Self::ReadOnly(_) => "check the permissions of that folder",
            Self::Locked(_) => "try again when the other process is done",
            Self::Settings(_) => "correct the settings, see docs/settings.md",
            Self::Store(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for OperationError {
    fn code(&self) -> &'static str {
        match self {
            Self::UnknownCheckpoint(_) => "unknown_checkpoint",
            Self::AmbiguousCheckpoint(_) => "ambiguous_checkpoint",
            Self::UnknownDialog(_) | Self::NoDialog => "unknown_dialog",
            Self::UnknownPaths(_) => "unknown_path",
            Self::UnknownChange(_) => "unknown_change",
            Self::UnknownHunk { .. } => "unknown_hunk",
            Self::NoHunks(_) => "no_hunks",
            Self::NotAnAgents { .. } => "not_an_agents",
            Self::NeedsDialog(_) => "needs_dialog",
            Self::Approved(_) => "approved",
            Self::Decided { .. } | Self::HunkDecided { .. } => "decided",
            Self::UnknownOperation(_) => "unknown_operation",
            Self::UnknownEdit(_) => "unknown_edit",
            Self::Unfinished { .. } => "unfinished",
            Self::NothingInterrupted => "nothing_interrupted",
            Self::NoSpace { .. } => "no_space",
            Self::NothingTo(_) => "nothing_to_do",
            Self::Record(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::UnknownCheckpoint(_) | Self::AmbiguousCheckpoint(_) => {
                "`retake checkpoints` lists them; give at least four digits of the id"
            }
            Self::UnknownDialog(_) => "`retake dialogs` lists them",
            Self::NoDialog => "it appears here once an agent with Retake's hooks has worked",
            Self::UnknownPaths(_) => {
                "check the spelling; `retake status --ignored` lists what is left out"
            }
            Self::UnknownChange(_) => "`retake log` lists them",
            Self::UnknownHunk { .. } | Self::NoHunks(_) => "`retake show` numbers a change's hunks",
            Self::NotAnAgents { .. } => {
                "`retake undo` takes back what Retake did, `retake restore` brings back a file's \
                 earlier state"
            }
            Self::NeedsDialog(_) => "name one with --dialog; `retake dialogs` lists them",
            Self::Approved(_) => "`retake rollback --change` takes back what was approved",
            Self::Decided { .. } | Self::HunkDecided { .. } => {
                "`retake ops` shows what took it back, `retake undo` takes that back"
            }
            Self::UnknownOperation(_) => "`retake ops` lists them",
            Self::UnknownEdit(_) => "begin it first",
            Self::Unfinished { .. } => {
                "`retake recover --resume` finishes it, `retake recover --undo` takes it back"
            }
            Self::NothingInterrupted => "there is nothing to do",
            Self::NoSpace { .. } => "make room on the project's disk; no file was touched",
            Self::NothingTo(_) => {
                "`retake log` shows what was changed, `retake ops` what was undone"
            }
            Self::Record(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for HistoryError {
    fn code(&self) -> &'static str {
        match self {
            Self::Diverges { .. } => "diverges",
            Self::NothingHidden(_) => "nothing_hidden",
            Self::Moved(_) => "moved",
            Self::UnknownPlace { .. } => "unknown_message",
            Self::NoMessage { .. } => "no_message",
            Self::Record(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Diverges { .. } => "take it in as another dialog, with --dialog NAME",
            Self::NothingHidden(_) => "`retake history --views` lists what was done to it",
            Self::Moved(_) => "look at it with `retake history`, and try again",
            Self::UnknownPlace { .. } => "`retake history --model --whole` lists all messages",
            Self::NoMessage { .. } => {
                "`retake history` shows the messages; only those that Retake was told can be cut at"
            }
            Self::Record(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for CondenseError {
    fn code(&self) -> &'static str {
        match self {
            Self::Nothing(_) => "nothing_to_do",
            Self::TooLittle { .. } => "summary",
            Self::History(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Nothing(_) => {
                "`retake history --model` shows what the model gets; keep fewer messages with --keep"
            }
            Self::TooLittle { .. } => "see [summary] in docs/settings.md, and try again",
            Self::History(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for StoreError {
    fn code(&self) -> &'static str {
        match self {
            Self::NewerSchema { .. } => "newer_schema",
            Self::Missing(_) | Self::Damaged { .. } | Self::DamagedLog { .. } => "damaged",
            Self::NotCaptured => "not_captured",
            Self::NetworkFileSystem { .. } => "network_file_system",
            _ => "store",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::NewerSchema { .. } => "update retake",
            Self::Missing(_) | Self::Damaged { .. } => {
                "run `retake doctor --read-data` to see everything that is concerned"
            }
            Self::NotInPlace(_) => "it was removed or salvaged meanwhile; run the command again",
            Self::DamagedLog { .. } => "`retake doctor --salvage` saves all that can be read",
            Self::NotCaptured => "`retake status` lists what is not captured and why",
            Self::NetworkFileSystem { .. } => "set RETAKE_HOME to a folder on a local disk",
            _ => "check the disk's free space and permissions, then run `retake doctor`",
        }
    }
}

impl ErrorAdvice for ExportError {
    fn code(&self) -> &'static str {
        match self {
            Self::GitMissing => "git_missing",
            Self::Git { .. } => "git",
            Self::Empty(_) => "no_checkpoints",
            Self::Busy => "locked",
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::GitMissing => "install git; everything else of retake works without it",
            Self::Git { .. } => "delete export.git in the project's folder of the store and retry",
            Self::Empty(_) => "see `retake dialogs`, or pass another --dialog",
            Self::Busy => "try again when the other process is done",
            Self::Store(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for PurgeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unfinished(_) => "unfinished",
            Self::Nothing(_) => "nothing_on_record",
            Self::Record(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Unfinished(_) => "finish it or take it back first",
            Self::Nothing(_) => "see `retake log --file PATH`; `retake show` prints object ids",
            Self::Record(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for SnapshotError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotEmpty(_) => "not_empty",
            Self::InProject(_) => "in_project",
            Self::Write { .. } => "folder",
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::NotEmpty(_) => "name another folder, or pass --force to write into this one",
            Self::InProject(_) => "name a folder outside of the project",
            Self::Write { .. } => {
                "check that you may write there, and that no link lies in the way"
            }
            Self::Store(error) => error.hint(),
        }
    }
}
