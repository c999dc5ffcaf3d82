//! Maps errors of all kinds to a code, a message and a hint.

use retake_engine::{
    CondenseError, ExportError, HistoryError, ProjectError, PurgeError, RecordError, SnapshotError,
    StoreError, VerbError,
};

pub(crate) use retake_server::Failure;

/// Converts an error of any kind to a [`Failure`].
pub(crate) fn failure_of(error: &anyhow::Error) -> Failure {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.clone();
    }
    if let Some(error) = error.downcast_ref::<VerbError>() {
        Failure::advised(error)
    } else if let Some(error) = error.downcast_ref::<ProjectError>() {
        Failure::advised(error)
    } else if let Some(error) = error.downcast_ref::<RecordError>() {
        Failure::advised(error)
    } else if let Some(error) = error.downcast_ref::<StoreError>() {
        Failure::advised(error)
    } else if let Some(error) = error.downcast_ref::<ExportError>() {
        Failure::advised(error)
    } else if let Some(error) = error.downcast_ref::<PurgeError>() {
        Failure::advised(error)
    } else if let Some(error) = error.downcast_ref::<SnapshotError>() {
        Failure::advised(error)
    } else if let Some(error) = error.downcast_ref::<HistoryError>() {
        Failure::advised(error)
    } else if let Some(error) = error.downcast_ref::<CondenseError>() {
        Failure::advised(error)
    } else {
        // Errors of other crates do not include their causes in the message.
        Failure { code: "error".into(), message: format!("{error:#}"), hint: None }
    }
}
