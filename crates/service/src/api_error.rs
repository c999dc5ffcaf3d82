//! The error of every surface (terminal, JSON, socket, HTTP): code, message, hint.

use std::borrow::Cow;
use std::fmt;

use retake_engine::{
    CondenseError, ErrorAdvice, ExportError, HistoryError, OperationError, ProjectError,
    PurgeError, RecordError, SnapshotError, StoreError,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A failure as programs see it: the code is stable, message and hint are for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Failure)]
pub struct ApiError {
    /// A stable name.
    #[schema(value_type = String)]
    pub code: Cow<'static, str>,
    /// What went wrong, naming the thing and the reason.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ApiError {
    /// A failure with a hint.
    pub fn new(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: Some(hint.into()) }
    }

    /// An engine error with its code and hint.
    pub fn from_engine<E: ErrorAdvice + fmt::Display>(error: &E) -> Self {
        Self::new(error.code(), error.to_string(), error.hint())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

macro_rules! advised {
    ($($error:ty),*) => {
        $(impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                Self::from_engine(&error)
            }
        })*
    };
}

advised!(
    ProjectError,
    RecordError,
    OperationError,
    StoreError,
    ExportError,
    PurgeError,
    SnapshotError,
    HistoryError,
    CondenseError
);
