//! A stable error code for programs and a hint for people, for each error type.
//!
//! The error's own text names the thing and the reason; the hint is separate, so that each
//! surface (terminal, JSON, HTTP) can show it in its own way.

use retake_model::ErrorCode;
use retake_store::{ExportError, StoreError};

use crate::error::{OperationError, RecordError};
use crate::history::{CondenseError, HistoryError};
use crate::maintenance::purge::PurgeError;
use crate::maintenance::rescue::RescueError;
use crate::query::export::SnapshotError;
use crate::retake::ProjectError;

/// The stable code of an error, and a hint how to resolve it.
pub trait ErrorAdvice {
    /// A stable name for programs.
    fn code(&self) -> ErrorCode;

    /// Returns what a person can do about it.
    fn hint(&self) -> &'static str;
}

impl ErrorAdvice for ProjectError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotAProject(_) => ErrorCode::NotAProject,
            Self::GitDirectory(_) => ErrorCode::GitDirectory,
            Self::TooBroad { .. } => ErrorCode::TooBroad,
            Self::Folder { .. } | Self::Open(_) => ErrorCode::Folder,
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
    fn code(&self) -> ErrorCode {
        match self {
            Self::Replaced(_) => ErrorCode::Replaced,
            Self::Gone(_) => ErrorCode::Gone,
            Self::ReadOnly(_) => ErrorCode::ReadOnly,
            Self::Locked(_) => ErrorCode::Locked,
            Self::Settings(_) => ErrorCode::Settings,
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
    fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownCheckpoint(_) => ErrorCode::UnknownCheckpoint,
            Self::AmbiguousCheckpoint(_) => ErrorCode::AmbiguousCheckpoint,
            Self::UnknownDialog(_) | Self::NoDialog => ErrorCode::UnknownDialog,
            Self::UnknownPaths(_) | Self::NoFileToCommentOn(_) => ErrorCode::UnknownPath,
            Self::UnknownChange(_) => ErrorCode::UnknownChange,
            Self::UnknownHunk { .. } => ErrorCode::UnknownHunk,
            Self::NoHunks(_) => ErrorCode::NoHunks,
            Self::NotAnAgents { .. } => ErrorCode::NotAnAgents,
            Self::NeedsDialog(_) => ErrorCode::NeedsDialog,
            Self::Approved(_) => ErrorCode::Approved,
            Self::StaleHunks(_) => ErrorCode::StaleHunk,
            Self::NeedsDigest(_) => ErrorCode::NeedsDigest,
            Self::UnknownHunkLines { .. } | Self::UnknownLines { .. } => ErrorCode::UnknownLines,
            Self::UnknownComment(_) => ErrorCode::UnknownComment,
            Self::CommentState { .. } => ErrorCode::CommentState,
            Self::NotQueued(_) => ErrorCode::NotQueued,
            Self::Decided { .. } | Self::HunkDecided { .. } => ErrorCode::Decided,
            Self::UnknownOperation(_) => ErrorCode::UnknownOperation,
            Self::UnknownEdit(_) => ErrorCode::UnknownEdit,
            Self::Unfinished { .. } => ErrorCode::Unfinished,
            Self::NothingInterrupted => ErrorCode::NothingInterrupted,
            Self::NoSpace { .. } => ErrorCode::NoSpace,
            Self::Cancelled { .. } => ErrorCode::Cancelled,
            Self::NothingTo(_) => ErrorCode::NothingToDo,
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
            Self::UnknownPaths(_) | Self::NoFileToCommentOn(_) => {
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
            Self::StaleHunks(_) => {
                "the place changed or was decided on; `retake review` shows what there is now"
            }
            Self::NeedsDigest(_) => {
                "name its file's digest too, as `retake review --json` shows it"
            }
            Self::UnknownHunkLines { .. } => {
                "`retake review` numbers them; other hunks go as a whole"
            }
            Self::UnknownLines { .. } => "name lines that it has",
            Self::UnknownComment(_) => "`retake comment` lists them",
            Self::CommentState { .. } => {
                "a draft is sent first, and what is resolved stays so; `retake comment` lists them"
            }
            Self::NotQueued(_) => "`retake review --queue` lists them",
            Self::UnknownOperation(_) => "`retake ops` lists them",
            Self::UnknownEdit(_) => "begin it first",
            Self::Unfinished { .. } => {
                "`retake recover --resume` finishes it, `retake recover --undo` takes it back"
            }
            Self::NothingInterrupted => "there is nothing to do",
            Self::NoSpace { .. } => "make room on the project's disk; no file was touched",
            Self::Cancelled { .. } => "run the command again if it is wanted after all",
            Self::NothingTo(_) => {
                "`retake log` shows what was changed, `retake ops` what was undone"
            }
            Self::Record(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for HistoryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Diverges { .. } => ErrorCode::Diverges,
            Self::NothingHidden(_) => ErrorCode::NothingHidden,
            Self::Moved(_) => ErrorCode::Moved,
            Self::UnknownPlace { .. } => ErrorCode::UnknownMessage,
            Self::NoMessage { .. } => ErrorCode::NoMessage,
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
    fn code(&self) -> ErrorCode {
        match self {
            Self::Nothing(_) => ErrorCode::NothingToDo,
            Self::TooLittle { .. } => ErrorCode::Summary,
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
    fn code(&self) -> ErrorCode {
        match self {
            Self::NewerSchema { .. } => ErrorCode::NewerSchema,
            Self::Missing(_) | Self::Damaged { .. } | Self::DamagedLog { .. } => ErrorCode::Damaged,
            Self::NotCaptured => ErrorCode::NotCaptured,
            Self::NetworkFileSystem { .. } => ErrorCode::NetworkFileSystem,
            _ => ErrorCode::Store,
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
    fn code(&self) -> ErrorCode {
        match self {
            Self::GitMissing => ErrorCode::GitMissing,
            Self::Git { .. } => ErrorCode::Git,
            Self::Empty(_) => ErrorCode::NoCheckpoints,
            Self::Busy => ErrorCode::Locked,
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
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unfinished(_) => ErrorCode::Unfinished,
            Self::Nothing(_) => ErrorCode::NothingOnRecord,
            Self::Changed(_) => ErrorCode::PlanChanged,
            Self::Record(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Unfinished(_) => "finish it or take it back first",
            Self::Nothing(_) => "see `retake log --file PATH`; `retake show` prints object ids",
            Self::Changed(_) => "look at them once more; nothing was purged",
            Self::Record(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

impl ErrorAdvice for SnapshotError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotEmpty(_) => ErrorCode::NotEmpty,
            Self::InProject(_) => ErrorCode::InProject,
            Self::Write { .. } => ErrorCode::Folder,
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

impl ErrorAdvice for RescueError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotEmpty(_) => ErrorCode::NotEmpty,
            Self::NotAFolder(_) | Self::Write { .. } | Self::Open(_) | Self::OffLimits { .. } => {
                ErrorCode::Folder
            }
            Self::InProject(_) => ErrorCode::InProject,
            Self::Nothing(_) => ErrorCode::NothingOnRecord,
            Self::NoSpace { .. } => ErrorCode::NoSpace,
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::NotEmpty(_) | Self::NotAFolder(_) => {
                "name a folder that does not exist yet, or is empty"
            }
            Self::InProject(_) | Self::OffLimits { .. } => "name a folder elsewhere",
            Self::Nothing(_) => "`retake checkpoints` lists the states that can be restored",
            Self::NoSpace { .. } => "make room, or name a folder on another disk",
            Self::Write { .. } | Self::Open(_) => {
                "check that the folder around it exists, and that you may write there"
            }
            Self::Store(error) => error.hint(),
        }
    }
}
