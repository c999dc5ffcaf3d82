//! What a command says when it cannot do what it was asked.

use std::fmt;

use retake_engine::{ProjectError, RecordError, StoreError};
use serde::Serialize;

/// A failure as programs see it: the code is stable, message and hint are for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    /// A stable name.
    pub(crate) code: &'static str,
    /// What went wrong, naming the thing and the reason.
    pub(crate) message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// A failure with a hint.
    pub(crate) fn new(
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { code, message: message.into(), hint: Some(hint.into()) }
    }

    /// The engine's messages end in advice where they have any; with a hint, that is said once.
    fn short(code: &'static str, mut message: String, hint: Option<&str>) -> Self {
        let advised = [
            "not_a_project",
            "too_broad",
            "replaced",
            "read_only",
            "locked",
            "newer_schema",
            "network_file_system",
            "damaged",
        ];
        if advised.contains(&code)
            && let Some(end) = message.rfind("; ")
        {
            message.truncate(end);
        }
        Self { code, message, hint: hint.map(ToOwned::to_owned) }
    }

    /// What an error of any kind comes down to.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if let Some(failure) = error.downcast_ref::<Self>() {
            return failure.clone();
        }
        let (code, hint) = if let Some(error) = error.downcast_ref::<ProjectError>() {
            project(error)
        } else if let Some(error) = error.downcast_ref::<RecordError>() {
            record(error)
        } else if let Some(error) = error.downcast_ref::<StoreError>() {
            store(error)
        } else {
            // Errors of others do not name their causes themselves.
            return Self { code: "error", message: format!("{error:#}"), hint: None };
        };
        Self::short(code, error.to_string(), hint)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

type CodeAndHint = (&'static str, Option<&'static str>);

fn project(error: &ProjectError) -> CodeAndHint {
    match error {
        ProjectError::NotAProject(_) => (
            "not_a_project",
            Some("run `retake init` in the project's top folder, or pass --project DIR"),
        ),
        ProjectError::TooBroad { .. } => (
            "too_broad",
            Some("go to the project's own folder, or pass --anywhere to `retake init`"),
        ),
        ProjectError::Folder { .. } | ProjectError::Open(_) => {
            ("folder", Some("check that the folder exists and that you may read it"))
        }
        ProjectError::Settings(_) => ("settings", Some("correct or remove that config.toml")),
        ProjectError::Record(error) => record(error),
        ProjectError::Store(error) => store(error),
    }
}

fn record(error: &RecordError) -> CodeAndHint {
    match error {
        RecordError::Replaced(_) => (
            "replaced",
            Some(
                "`retake init --same` if it is the same project, `retake init --new` if it is another one",
            ),
        ),
        RecordError::ReadOnly(_) => ("read_only", Some("check the permissions of that folder")),
        RecordError::Locked(_) => ("locked", Some("try again when the other process is done")),
        RecordError::Store(error) => store(error),
    }
}

fn store(error: &StoreError) -> CodeAndHint {
    match error {
        StoreError::NewerSchema { .. } => ("newer_schema", Some("update retake")),
        StoreError::Missing(_) | StoreError::Damaged { .. } => {
            ("damaged", Some("run `retake doctor --read-data` to see everything that is concerned"))
        }
        StoreError::NetworkFileSystem { .. } => {
            ("network_file_system", Some("set RETAKE_HOME to a folder on a local disk"))
        }
        _ => {
            ("store", Some("check the disk's free space and permissions, then run `retake doctor`"))
        }
    }
}

/// The failure of a project's error, for replies to single events.
pub(crate) fn of_project(error: &ProjectError) -> Failure {
    let (code, hint) = project(error);
    Failure::short(code, error.to_string(), hint)
}

/// The failure of a record's error, for replies to single events.
pub(crate) fn of_record(error: &RecordError) -> Failure {
    let (code, hint) = record(error);
    Failure::short(code, error.to_string(), hint)
}
