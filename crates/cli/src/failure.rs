//! Maps errors of all kinds to a code, a message and a hint.

use retake_engine::model::ErrorCode;

pub(crate) use retake_service::ApiError;

/// Converts an error of any kind to a [`ApiError`].
pub(crate) fn failure_of(error: &anyhow::Error) -> ApiError {
    // Errors of other crates do not include their causes in the message.
    let other = || ApiError::without_hint(ErrorCode::Error, format!("{error:#}"));
    error.chain().find_map(ApiError::from_dyn).unwrap_or_else(other)
}

/// The failure of a command whose question the person declined; `what` did not happen.
pub(crate) fn declined_failure(what: &str) -> ApiError {
    ApiError::without_hint(ErrorCode::Declined, what)
}
