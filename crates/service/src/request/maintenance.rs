//! Requests that collect garbage and purge content from the store for good.

use retake_engine::model::{Millis, ObjectId};
use retake_engine::{GcReport, OperationControl, Project, PurgeTarget};
use serde::{Deserialize, Serialize};

use super::{ProgressFn, ProjectCommand};
use crate::ApiError;

/// Removes what the retention limits no longer keep.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CollectGarbage {}

impl ProjectCommand for CollectGarbage {
    type Answer = GcReport;

    const RUNS_BESIDE: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("gc")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        progress: ProgressFn<'_>,
    ) -> Result<GcReport, ApiError> {
        Ok(project.collect_garbage(at, progress)?)
    }

    /// Cancelled, it ends between two transactions: what it has removed is removed.
    fn run_with_control(
        self,
        project: &Project,
        at: Millis,
        control: &OperationControl,
    ) -> Result<GcReport, ApiError> {
        control.check()?;
        Ok(project.collect_garbage_with_control(at, control)?)
    }
}

/// Removes the bytes of every version of a path, or of one content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PurgeContent {
    /// What is removed.
    pub target: PurgeTarget,
    /// The contents that the person saw; if the record has others by now, nothing is removed.
    #[serde(default)]
    pub seen: Option<Vec<ObjectId>>,
}

impl ProjectCommand for PurgeContent {
    type Answer = retake_engine::PurgeReport;

    fn long_verb(&self) -> Option<&'static str> {
        Some("purge")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        Ok(project.purge_seen(&self.target, self.seen.as_deref(), at)?)
    }
}
