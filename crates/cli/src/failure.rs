//! Maps errors of all kinds to a code, a message and a hint.

use retake_engine::{
    CondenseError, ExportError, HistoryError, OperationError, ProjectError, PurgeError,
    RecordError, SnapshotError, StoreError,
};

pub(crate) use retake_service::ApiError;

/// Converts an error of any kind to a [`ApiError`].
pub(crate) fn failure_of(error: &anyhow::Error) -> ApiError {
    if let Some(failure) = error.downcast_ref::<ApiError>() {
        return failure.clone();
    }
    if let Some(error) = error.downcast_ref::<OperationError>() {
        ApiError::from_engine(error)
    } else if let Some(error) = error.downcast_ref::<ProjectError>() {
        ApiError::from_engine(error)
    } else if let Some(error) = error.downcast_ref::<RecordError>() {
        ApiError::from_engine(error)
    } else if let Some(error) = error.downcast_ref::<StoreError>() {
        ApiError::from_engine(error)
    } else if let Some(error) = error.downcast_ref::<ExportError>() {
        ApiError::from_engine(error)
    } else if let Some(error) = error.downcast_ref::<PurgeError>() {
        ApiError::from_engine(error)
    } else if let Some(error) = error.downcast_ref::<SnapshotError>() {
        ApiError::from_engine(error)
    } else if let Some(error) = error.downcast_ref::<HistoryError>() {
        ApiError::from_engine(error)
    } else if let Some(error) = error.downcast_ref::<CondenseError>() {
        ApiError::from_engine(error)
    } else {
        // Errors of other crates do not include their causes in the message.
        ApiError { code: "error".into(), message: format!("{error:#}"), hint: None }
    }
}
