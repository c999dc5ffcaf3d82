//! Requests of a review: hunks that are kept, marked or taken back, and rejections that wait.

use retake_engine::model::{DialogId, Millis, ProjectPath, QueuedRejection};
use retake_engine::{
    HunkRequest, Plan, Project, ReviewedHunks, SettledRejection, TakeBackOptions, stated_reason,
};
use serde::{Deserialize, Serialize};

use super::{ProgressFn, ProjectCommand};
use crate::ApiError;
use crate::caller::is_process_alive;

/// Keeps hunks: they are seen, and changes of which all is seen are accepted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeepHunks {
    /// Which.
    pub hunks: HunkRequest,
}

impl ProjectCommand for KeepHunks {
    type Answer = ReviewedHunks;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<ReviewedHunks, ApiError> {
        Ok(project.keep_hunks(&self.hunks, at)?)
    }
}

/// Marks hunks as seen, or as not seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MarkHunks {
    /// Which.
    pub hunks: HunkRequest,
    /// Whether they are seen.
    pub reviewed: bool,
}

impl ProjectCommand for MarkHunks {
    type Answer = ReviewedHunks;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<ReviewedHunks, ApiError> {
        Ok(project.set_reviewed(&self.hunks, self.reviewed, at)?)
    }
}

/// Remembers that the person has seen everything up to a place in the order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct MarkAllSeen {
    /// The place; the newest one if none is given.
    pub seq: Option<u64>,
}

impl ProjectCommand for MarkAllSeen {
    /// The place up to which everything is seen now.
    type Answer = u64;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<u64, ApiError> {
        Ok(project.set_review_seen(self.seq.unwrap_or(u64::MAX), at)?)
    }
}

/// Plans to take back hunks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRejectHunks {
    /// Which.
    pub hunks: HunkRequest,
    /// How.
    pub taking: TakeBackOptions,
    /// Why, for the agents.
    pub reason: Option<String>,
}

impl ProjectCommand for PlanRejectHunks {
    type Answer = Plan;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("reject")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Plan, ApiError> {
        let hunks = project.without_kept(&self.hunks)?;
        let plan = project.plan_reject_places(&hunks, self.taking, at)?;
        Ok(plan.because(self.reason.clone()))
    }
}

/// Queues a rejection of hunks until the agents behind them have ended their turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueRejection {
    /// Which hunks.
    pub hunks: HunkRequest,
    /// How.
    pub taking: TakeBackOptions,
    /// Why, for the agents.
    pub reason: Option<String>,
    /// Queues nothing if none of the agents is at work.
    pub if_at_work: bool,
}

/// What was queued.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QueuedHunks {
    /// The entries of the queue.
    pub entries: Vec<QueuedRejection>,
    /// The dialogs whose agents are at work.
    pub working: Vec<DialogId>,
}

impl ProjectCommand for QueueRejection {
    type Answer = QueuedHunks;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<QueuedHunks, ApiError> {
        let hunks = project.without_kept(&self.hunks)?;
        let working = project.working_dialogs(&hunks, at, &is_process_alive)?;
        if self.if_at_work && working.is_empty() {
            return Ok(QueuedHunks::default());
        }
        let reason = stated_reason(self.reason.clone());
        let entries = project.queue_rejection(&hunks, self.taking, reason.as_deref(), at)?;
        Ok(QueuedHunks { entries, working })
    }
}

/// Takes a rejection out of the queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CancelRejection {
    /// Its number.
    pub id: u64,
}

impl ProjectCommand for CancelRejection {
    type Answer = QueuedRejection;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<QueuedRejection, ApiError> {
        Ok(project.cancel_queued_rejection(self.id, at)?)
    }
}

/// Carries out the queued rejections whose agents have ended their turns.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CarryOutRejections {}

impl ProjectCommand for CarryOutRejections {
    type Answer = Vec<SettledRejection>;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Vec<SettledRejection>, ApiError> {
        Ok(project.carry_out_rejections(at, &is_process_alive)?)
    }
}

/// Forgets what was rejected, so that the same lines are no longer a repeat.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ForgetRejections {
    /// In this file, or in all files beneath this folder; everywhere if none is given.
    pub path: Option<ProjectPath>,
}

impl ProjectCommand for ForgetRejections {
    /// The number of places that are forgotten.
    type Answer = u64;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<u64, ApiError> {
        Ok(project.forget_rejections(self.path.as_ref(), at)?)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
mod tests {
    use retake_testkit::{TestProject, play};

    use super::*;

    #[test]
    fn a_queued_rejection_has_a_reason_only_if_it_has_words() {
        let test = TestProject::new();
        play(&test, "file a.txt: 1\\n\ninit\nsay d1: go\nedit d1 e1 a.txt: 1 => one\n");
        let project = test.open();
        for (said, kept) in [(" \n", None), (" no words ", Some("no words"))] {
            let hunks = HunkRequest { all: true, ..HunkRequest::default() };
            let (taking, reason) = (TakeBackOptions::default(), Some(said.to_owned()));
            let queue = QueueRejection { hunks, taking, reason, if_at_work: false };
            let queued = queue.run(&project, test.tick(), &mut |_, _| {}).unwrap();
            let [entry] = queued.entries.as_slice() else { panic!("{queued:?}") };
            assert_eq!(entry.reason.as_deref(), kept);
            project.cancel_queued_rejection(entry.id, test.tick()).unwrap();
        }
    }
}
