//! Requests that collect garbage and purge content from the store for good.

use retake_engine::model::Millis;
use retake_engine::{Collected, Project, PurgeTarget};
use serde::{Deserialize, Serialize};

use super::{Progress, Verb};
use crate::Failure;

/// Removes what the retention limits no longer keep.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Collect {}

impl Verb for Collect {
    type Answer = Collected;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Collected, Failure> {
        Ok(project.collect(at, progress)?)
    }
}

/// Removes the bytes of every version of a path, or of one content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Purge {
    /// What is removed.
    pub target: PurgeTarget,
}

impl Verb for Purge {
    type Answer = retake_engine::Purge;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Self::Answer, Failure> {
        Ok(project.purge(&self.target, at)?)
    }
}
