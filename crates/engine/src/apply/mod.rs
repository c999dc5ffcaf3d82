//! Applies a plan: the only code that writes to the user's files.
//!
//! 1. Under the lock the files are scanned once more; files that changed since the
//!    plan was made are left alone.
//! 2. One transaction makes everything durable: the current state (the safety
//!    checkpoint), the content that will be written, and the plan with the names
//!    of its temporary files.
//! 3. All temporary files are written and synced together, then each is exchanged
//!    with its path; the displaced file is compared with the expected one, and
//!    put back if another program had saved in between ([`run`]).
//! 4. One transaction records the outcome.
//!
//! Until the first exchange it can be cancelled ([`OperationControl`]): the temporary files are
//! removed, and the operation is on record as cancelled. From then on it is finished.
//!
//! Invariants: nothing is overwritten or deleted unless its exact bytes are in the
//! store; killed at any point, each file is wholly old or wholly new, and
//! [`recover`] finishes the operation or takes it back.

mod cleanup;
mod control;
mod finish;
mod journal;
pub(crate) mod links;
mod recover;
mod rehearsal;
mod run;
mod temp_files;

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

use retake_model::{Change, Millis, ObjectId, Operation, OperationKind, PathState, ProjectPath};
use retake_store::{OperationStep, StatusMark, StoreError};

use crate::error::OperationError;
use crate::plan::nesting::PathNesting;
use crate::plan::{FileAction, Plan, PlanReason, PlannedFile};
use crate::project::Project;

pub use control::{OperationControl, OperationPhase, OperationProgress};
pub(crate) use finish::{follow_up_of, set_hunk_decisions};
pub use recover::{InterruptedOperation, RecoveryChoice};
pub use rehearsal::Rehearsal;

/// The result of applying a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppliedPlan {
    /// The operation; none if there was nothing to do.
    pub operation: Option<Operation>,
    /// The checkpoint that names the restored state, if it was a restore.
    pub checkpoint: Option<ObjectId>,
    /// The plan with the outcome of each file.
    pub plan: Plan,
}

impl AppliedPlan {
    /// Returns whether everything that was asked for was done.
    pub fn is_whole(&self) -> bool {
        self.plan.is_whole()
    }
}

impl Project {
    /// Applies a plan.
    ///
    /// Files that changed since it was made are left alone and reported.
    pub fn apply(&self, plan: &Plan, at: Millis) -> Result<AppliedPlan, OperationError> {
        self.apply_with_control(plan.clone(), at, &OperationControl::default())
    }

    /// Applies a plan that can be followed, and cancelled until its first file is written.
    pub fn apply_with_control(
        &self,
        plan: Plan,
        at: Millis,
        control: &OperationControl,
    ) -> Result<AppliedPlan, OperationError> {
        control.check()?;
        control.report(OperationPhase::Planning, 0, 0);
        let _lock = self.lock_and_refresh_planned(&plan, at)?;
        let mut applied = self.apply_locked(plan, at, control)?;
        self.apply_rewind(&mut applied, at);
        Ok(applied)
    }

    /// Applies a plan; the caller holds the lock and has scanned.
    pub(crate) fn apply_locked(
        &self,
        mut plan: Plan,
        at: Millis,
        control: &OperationControl,
    ) -> Result<AppliedPlan, OperationError> {
        self.leave_changed_since_plan(&mut plan)?;
        self.leave_unwritable(&mut plan, &|_| false);
        self.check_space(&plan)?;
        control.check()?;
        if plan.is_idle() {
            let plan = self.record_left_changes(plan, at)?;
            return Ok(AppliedPlan { operation: None, checkpoint: None, plan });
        }
        let steps = &mut |plan: &mut Plan, operation| self.make_steps(plan, operation);
        let journalled = self.journal_operation(&mut plan, at, steps)?;
        control.set_operation(journalled.operation);
        let outcomes = self.run_steps(&journalled.steps, control);
        if control.is_cancelled() {
            return self.record_cancelled(journalled.operation, &outcomes, &plan, at);
        }
        self.record_outcome(journalled.operation, &journalled.steps, outcomes, plan, at)
    }

    /// Records an undo that leaves everything, so that the next undo goes further back.
    fn record_left_changes(&self, mut plan: Plan, at: Millis) -> Result<Plan, OperationError> {
        if plan.kind != OperationKind::Undo || plan.left_for_good().next().is_none() {
            return Ok(plan);
        }
        let steps = &mut |_: &mut Plan, _| Vec::new();
        let journalled = self.journal_operation(&mut plan, at, steps)?;
        Ok(self.record_outcome(journalled.operation, &[], Vec::new(), plan, at)?.plan)
    }

    fn leave_changed_since_plan(&self, plan: &mut Plan) -> Result<(), StoreError> {
        let _snapshot = self.store().snapshot()?;
        let mut moved = HashMap::new();
        for mark in &plan.marks {
            let change = self.store().change(mark.change)?;
            if change.is_none_or(|change| decided_since(plan, mark, &change)) {
                moved.insert(mark.part, PlanReason::MovedOn);
            }
        }
        for file in plan.writes() {
            let entry = self.store().manifest_entry(&file.path)?;
            if entry.map_or(PathState::Absent, |entry| entry.state.into()) != file.now {
                moved.insert(file.part, PlanReason::MovedOn);
            }
        }
        plan.leave_parts(&moved);
        Ok(())
    }

    /// Leaves files that cannot be written. Paths that `is_settled` were rehearsed and are not
    /// checked on disk.
    pub(crate) fn leave_unwritable(
        &self,
        plan: &mut Plan,
        is_settled: &dyn Fn(&ProjectPath) -> bool,
    ) {
        let mut refused = HashMap::new();
        let nesting = PathNesting::of(plan.writes().map(|file| &file.path));
        // The plan has already handled files that become folders and the reverse.
        let is_open = |file: &&PlannedFile| !nesting.has(&file.path) && !is_settled(&file.path);
        for file in plan.writes().filter(is_open) {
            if let Err(error) = self.workspace().check_writable(&file.path) {
                refused.insert(file.part, PlanReason::NotWritable(error.to_string()));
            } else if file.action == FileAction::Create
                && self.workspace().link_count(&file.path).is_some()
            {
                // It is not tracked, so its content is not in the store and it may not be replaced.
                refused.insert(file.part, PlanReason::Occupied("an ignored file".to_owned()));
            }
        }
        drop(nesting);
        plan.leave_parts(&refused);
    }

    /// Removes temporary files that earlier operations could not remove.
    pub(crate) fn remove_leftover_temps(&self) -> Result<(), StoreError> {
        for operation in self.store().untidy_operations()? {
            let steps = self.store().operation_steps(operation.id)?;
            let is_stuck = |step: &&OperationStep| {
                let stuck = temp_files::discard_temp(self.workspace(), self.store(), step).is_err();
                drop(self.workspace().remove_emptied(&step.temp));
                stuck
            };
            if steps.iter().filter(is_stuck).count() == 0 {
                let batch = self.store().batch()?;
                batch.end_operation(operation.id, operation.state, false)?;
                batch.commit()?;
            }
        }
        Ok(())
    }

    fn check_space(&self, plan: &Plan) -> Result<(), OperationError> {
        let size = |side: &PathState| side.known().map_or(0, |state| state.size);
        let written = plan.writes().filter(|file| file.action != FileAction::Mode);
        let needed: u64 = written.map(|file| size(&file.then)).sum();
        match self.workspace().free_bytes() {
            Some(free) if free < needed => Err(OperationError::NoSpace { needed, free }),
            _ => Ok(()),
        }
    }
}

/// Returns whether the change's status or approval changed after the plan was made.
fn decided_since(plan: &Plan, mark: &StatusMark, change: &Change) -> bool {
    let newly_approved = change.approved.is_some() && !plan.approved.contains(&change.id);
    change.status != mark.old || newly_approved
}
