//! Requests that collect garbage and purge content from the store for good.

use retake_engine::model::Millis;
use retake_engine::{GcReport, Project, PurgeTarget};
use serde::{Deserialize, Serialize};

use super::{ProgressFn, ProjectCommand};
use crate::ApiError;

/// Removes what the retention limits no longer keep.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CollectGarbage {}

impl ProjectCommand for CollectGarbage {
    type Answer = GcReport;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        progress: ProgressFn<'_>,
    ) -> Result<GcReport, ApiError> {
        Ok(project.collect_garbage(at, progress)?)
    }
}

/// Removes the bytes of every version of a path, or of one content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PurgeContent {
    /// What is removed.
    pub target: PurgeTarget,
}

impl ProjectCommand for PurgeContent {
    type Answer = retake_engine::PurgeReport;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        Ok(project.purge(&self.target, at)?)
    }
}
