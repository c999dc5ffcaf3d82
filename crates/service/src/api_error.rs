//! The error of every surface (terminal, JSON, socket, HTTP): code, message, hint.

use std::error::Error;
use std::fmt;

use retake_engine::model::ErrorCode;
use retake_engine::{
    CondenseError, ErrorAdvice, ExportError, HistoryError, OperationError, ProjectError,
    PurgeError, RecordError, RescueError, SnapshotError, StoreError,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A failure as programs see it: the code is stable, message and hint are for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Failure)]
pub struct ApiError {
    /// A stable name.
    #[schema(value_type = String)]
    pub code: ApiErrorCode,
    /// What went wrong, naming the thing and the reason.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The code of an [`ApiError`]. One that another version sent may not be known here: its text is
/// kept, so that reading the error does not fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ApiErrorCode {
    /// A code of this version.
    Known(ErrorCode),
    /// A code of another version.
    Unknown(String),
}

impl ApiErrorCode {
    /// Returns the code, if this version knows it.
    pub fn known(&self) -> Option<ErrorCode> {
        match self {
            Self::Known(code) => Some(*code),
            Self::Unknown(_) => None,
        }
    }
}

impl From<ErrorCode> for ApiErrorCode {
    fn from(code: ErrorCode) -> Self {
        Self::Known(code)
    }
}

impl PartialEq<ErrorCode> for ApiErrorCode {
    fn eq(&self, other: &ErrorCode) -> bool {
        self.known() == Some(*other)
    }
}

impl fmt::Display for ApiErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(code) => f.pad(code.as_str()),
            Self::Unknown(code) => f.pad(code),
        }
    }
}

impl ApiError {
    /// A failure with a hint.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: Some(hint.into()) }
    }

    /// A failure about which a person can do nothing else.
    pub fn without_hint(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: None }
    }

    fn from_engine<E: ErrorAdvice + fmt::Display>(error: &E) -> Self {
        Self::new(error.code(), error.to_string(), error.hint())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ApiError {}

macro_rules! engine_errors {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                Self::from_engine(&error)
            }
        })*

        impl ApiError {
            /// Converts an error whose type is only known at run time; `None` if it is neither an
            /// [`ApiError`] nor an error of the engine.
            pub fn from_dyn(error: &(dyn Error + 'static)) -> Option<Self> {
                if let Some(failure) = error.downcast_ref::<Self>() {
                    return Some(failure.clone());
                }
                $(if let Some(error) = error.downcast_ref::<$error>() {
                    return Some(Self::from_engine(error));
                })*
                None
            }
        }
    };
}

engine_errors!(
    ProjectError,
    RecordError,
    OperationError,
    StoreError,
    ExportError,
    PurgeError,
    RescueError,
    SnapshotError,
    HistoryError,
    CondenseError,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_its_text_in_json_and_one_of_another_version_is_kept() {
        let text = r#"{"code":"needs_yes","message":"no","hint":"say yes"}"#;
        let failure: ApiError = serde_json::from_str(text).unwrap();
        assert_eq!(failure, ApiError::new(ErrorCode::NeedsYes, "no", "say yes"));
        assert_eq!(serde_json::to_string(&failure).unwrap(), text);

        let text = r#"{"code":"of_tomorrow","message":"no"}"#;
        let failure: ApiError = serde_json::from_str(text).unwrap();
        assert_eq!(
            (failure.code.known(), failure.code.to_string().as_str()),
            (None, "of_tomorrow")
        );
        assert_eq!(serde_json::to_string(&failure).unwrap(), text);
    }

    #[test]
    fn errors_of_the_engine_are_found_at_run_time() {
        let error: Box<dyn Error> = Box::new(StoreError::NotCaptured);
        assert_eq!(ApiError::from_dyn(&*error).unwrap().code, ErrorCode::NotCaptured);
        assert!(ApiError::from_dyn(&fmt::Error).is_none());
    }
}
