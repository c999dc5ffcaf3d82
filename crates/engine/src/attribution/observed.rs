//! What attribution decides about: a path that differs from the manifest.

use retake_model::{Millis, PathState, ProjectPath};
use retake_workspace::FileStat;

/// One path that differs from the manifest.
#[derive(Clone, Debug)]
pub(crate) struct ObservedChange {
    pub(crate) path: ProjectPath,
    pub(crate) before: PathState,
    pub(crate) after: PathState,
    /// The stat under which `after` was read.
    pub(crate) stat: Option<FileStat>,
}

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndingCall {
    pub(crate) row: i64,
    pub(crate) at: Millis,
}
