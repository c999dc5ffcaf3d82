//! What programs and people get with an error: a stable code, and the way out.
//!
//! The error's own text names the thing and the reason; the hint is said beside it,
//! so that each surface (terminal, JSON, HTTP) can show it in its own way.

use retake_store::StoreError;

use crate::project::ProjectError;
use crate::record::RecordError;

/// The code of an error and the way out of it.
pub trait Advice {
    /// A stable name for programs.
    fn code(&self) -> &'static str;

    /// What a person can do about it.
    fn hint(&self) -> &'static str;
}

impl Advice for ProjectError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotAProject(_) => "not_a_project",
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

impl Advice for RecordError {
    fn code(&self) -> &'static str {
        match self {
            Self::Replaced(_) => "replaced",
            Self::Gone(_) => "gone",
            Self::ReadOnly(_) => "read_only",
            Self::Locked(_) => "locked",
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
                "what was recorded is kept; put the folder back, or open it where it is"
            }
            Self::ReadOnly(_) => "check the permissions of that folder",
            Self::Locked(_) => "try again when the other process is done",
            Self::Store(error) => error.hint(),
        }
    }
}

impl Advice for StoreError {
    fn code(&self) -> &'static str {
        match self {
            Self::NewerSchema { .. } => "newer_schema",
            Self::Missing(_) | Self::Damaged { .. } => "damaged",
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
            Self::NotCaptured => "`retake status` lists what is not captured and why",
            Self::NetworkFileSystem { .. } => "set RETAKE_HOME to a folder on a local disk",
            _ => "check the disk's free space and permissions, then run `retake doctor`",
        }
    }
}
