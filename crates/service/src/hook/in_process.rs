//! Runs hook calls without a daemon: the hook's own process opens the project and records.

use std::path::Path;

use retake_engine::model::Millis;
use retake_engine::{Retake, SpoolWriter};

use super::{HookHost, HookWork};
use crate::ApiError;
use crate::request::Submission;

/// Opens the project of a hook call in this process.
#[derive(Clone, Copy, Debug)]
pub struct InProcessHost<'a> {
    /// Retake on this machine.
    pub retake: &'a Retake,
    /// When the call came.
    pub at: Millis,
    /// Tells the time while the call runs.
    pub clock: fn() -> Millis,
    /// Carries out the rejections of a home's project in a process of its own, and waits for it: an
    /// operation must not end with the hook.
    pub carry_out: fn(&Path, &Path) -> Result<(), ApiError>,
}

impl HookHost for InProcessHost<'_> {
    fn with_project(&self, start: &Path, work: HookWork<'_>) -> Result<(), ApiError> {
        let mut project = self.retake.open_or_create(start, self.at)?;
        project.set_clock(self.clock);
        work(&project, &mut |elsewhere: Option<&Path>, submission: &Submission| match elsewhere {
            None => Ok(project.submit(submission)?),
            Some(root) => {
                let mut other = self.retake.open(root)?;
                other.set_clock(self.clock);
                Ok(other.submit(submission)?)
            }
        })
    }

    fn carry_out_rejections(&self, root: &Path) -> Result<(), ApiError> {
        (self.carry_out)(self.retake.folder(), root)
    }

    fn spool_of_unopened(&self, start: &Path) -> Result<Option<SpoolWriter>, ApiError> {
        Ok(self.retake.spool_writer(start)?)
    }
}
