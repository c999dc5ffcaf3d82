//! What a command says when it cannot do what it was asked.

use std::fmt;

use retake_engine::{
    Advice, ExportError, ProjectError, PurgeError, RecordError, SnapshotError, StoreError,
    VerbError,
};
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

    /// What the engine says, with its advice.
    pub(crate) fn advised<E: Advice + fmt::Display>(error: &E) -> Self {
        Self::new(error.code(), error.to_string(), error.hint())
    }

    /// What an error of any kind comes down to.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if let Some(failure) = error.downcast_ref::<Self>() {
            return failure.clone();
        }
        if let Some(error) = error.downcast_ref::<VerbError>() {
            Self::advised(error)
        } else if let Some(error) = error.downcast_ref::<ProjectError>() {
            Self::advised(error)
        } else if let Some(error) = error.downcast_ref::<RecordError>() {
            Self::advised(error)
        } else if let Some(error) = error.downcast_ref::<StoreError>() {
            Self::advised(error)
        } else if let Some(error) = error.downcast_ref::<ExportError>() {
            Self::advised(error)
        } else if let Some(error) = error.downcast_ref::<PurgeError>() {
            Self::advised(error)
        } else if let Some(error) = error.downcast_ref::<SnapshotError>() {
            Self::advised(error)
        } else {
            // Errors of others do not name their causes themselves.
            Self { code: "error", message: format!("{error:#}"), hint: None }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
