//! Recovers an interrupted operation: finishes it, or takes it back.
//!
//! The journal has the plan, the store has both versions of every file. First the
//! temporary files are removed, after their content is in the store and versions that
//! other programs saved in between are put back; then a scan records the files that the
//! operation wrote as Retake's. From there, resuming writes the rest, and undoing is an
//! ordinary undo.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};

use retake_model::{Millis, ObjectId, Operation, PathState, ProjectPath};
use retake_store::{OperationStep, StoreError};

use crate::apply::finish::recorded_paths;
use crate::apply::run::{StepFate, StepOutcome, action};
use crate::apply::temp_files::{discard_temp, finish_exchange, read_state, state_of};
use crate::apply::{AppliedPlan, OperationControl};
use crate::error::OperationError;
use crate::plan::{FileAction, FollowUp, Plan, PlanReason, PlannedFile};
use crate::project::Project;

/// An operation that was interrupted.
#[derive(Clone, Debug)]
pub struct InterruptedOperation {
    /// The operation.
    pub operation: Operation,
    /// The files that it had written.
    pub written: Vec<ProjectPath>,
    /// The files that it had not written yet.
    pub missing: Vec<ProjectPath>,
}

/// The way to recover an interrupted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecoveryChoice {
    /// Write the rest.
    Resume,
    /// Take back what was written.
    Undo,
}

impl Project {
    /// The operation that was interrupted, if one was.
    pub fn interrupted(&self) -> Result<Option<InterruptedOperation>, StoreError> {
        let Some(operation) = self.store().unfinished_operation()? else { return Ok(None) };
        let is_done = |step: &OperationStep| {
            state_of(self.workspace(), &step.path).map_or(PathState::Absent, PathState::Known)
                == step.then
        };
        let steps = self.store().operation_steps(operation.id)?;
        let (written, missing): (Vec<_>, Vec<_>) =
            steps.into_iter().partition(|step| is_done(step));
        let paths = |steps: Vec<OperationStep>| steps.into_iter().map(|step| step.path).collect();
        Ok(Some(InterruptedOperation {
            operation,
            written: paths(written),
            missing: paths(missing),
        }))
    }

    /// Finishes an operation that was interrupted, or takes it back.
    pub fn recover(&self, how: RecoveryChoice, at: Millis) -> Result<AppliedPlan, OperationError> {
        let _lock = self.acquire_lock()?;
        let operation =
            self.store().unfinished_operation()?.ok_or(OperationError::NothingInterrupted)?;
        let steps = self.store().operation_steps(operation.id)?;
        let mut removals = HashMap::new();
        for step in &steps {
            removals.insert(step.path.clone(), self.remove_temp(step)?);
        }
        self.catch_up_and_refresh(at)?;
        let done = recorded_paths(self.store(), operation.id)?;
        // The process may have been killed just before it removed a folder that it had emptied.
        for step in steps.iter().filter(|step| step.then.is_absent() && done.contains(&step.path)) {
            drop(self.workspace().remove_emptied(&step.path));
        }
        let is_pending = |step: &&OperationStep| !done.contains(&step.path);
        // Or just after it had made a folder in the place of a file, with nothing in it yet.
        let replaced: HashSet<_> = steps.iter().map(|step| &step.path).collect();
        for step in steps.iter().filter(is_pending).filter(|step| !step.then.is_absent()) {
            let above = std::iter::successors(step.path.parent(), ProjectPath::parent);
            if above.into_iter().any(|folder| replaced.contains(&folder)) {
                drop(self.workspace().remove_emptied(&step.path));
            }
        }
        let outcomes = match how {
            RecoveryChoice::Resume => {
                let is_free = |step: &&OperationStep| {
                    removals.get(&step.path).is_none_or(|outcome| outcome.fate == StepFate::Done)
                };
                let rest = steps.iter().filter(is_pending).filter(is_free).cloned().collect();
                let rest = self.still_as_planned(rest)?;
                let fates = self.run_steps(&rest, &OperationControl::default());
                let ran = rest.iter().map(|step| step.path.clone()).zip(fates).collect();
                step_outcomes(&steps, &done, ran, removals)
            }
            RecoveryChoice::Undo => step_outcomes(&steps, &done, HashMap::new(), removals),
        };
        let mut plan = self.plan_from_journal(&operation, &steps)?;
        if how == RecoveryChoice::Undo {
            self.cancel_rejections_of(&plan, at)?;
            plan.follow_up = FollowUp::Nothing;
        }
        let applied = self.record_outcome(operation.id, &steps, outcomes, plan, at)?;
        match how {
            RecoveryChoice::Resume => Ok(applied),
            RecoveryChoice::Undo => self.undo_operation(operation.id, at),
        }
    }

    /// Removes a step's temporary file. If it holds a version that another program saved at the
    /// moment of the exchange, that is put back first. An unreachable file is left and reported.
    fn remove_temp(&self, step: &OperationStep) -> Result<StepOutcome, StoreError> {
        match self.restore_and_remove_temp(step) {
            Ok(kept) => {
                Ok(StepOutcome { fate: StepFate::Done, kept, untidy: false, unsynced: false })
            }
            Err(StoreError::Write(error)) => {
                let fate = StepFate::Left(PlanReason::NotWritable(error.to_string()));
                Ok(StepOutcome { fate, kept: None, untidy: true, unsynced: false })
            }
            Err(error) => Err(error),
        }
    }

    fn restore_and_remove_temp(
        &self,
        step: &OperationStep,
    ) -> Result<Option<ObjectId>, StoreError> {
        let workspace = self.workspace();
        let spare = finish_exchange(workspace, self.store(), step)?;
        let temp_state = read_state(workspace, &step.temp)?.map(PathState::Known);
        let state_now = state_of(workspace, &step.path).map_or(PathState::Absent, PathState::Known);
        let is_foreign =
            temp_state.is_some_and(|temp_state| temp_state != step.now && temp_state != step.then);
        if is_foreign && state_now == step.then && !self.is_half_written(step)? {
            let put_back = match action(step) {
                // A mode change has a temporary file if it needed a file of its own.
                FileAction::Write | FileAction::Mode => workspace.exchange(&step.temp, &step.path),
                FileAction::Delete => workspace.place_new(&step.temp, &step.path).map(drop),
                FileAction::Create | FileAction::Leave => Ok(()),
            };
            if let Err(error) = put_back {
                tracing::warn!(path = %step.path, %error, "kept in the store instead");
            }
        }
        Ok(discard_temp(workspace, self.store(), step)?.or(spare))
    }

    /// Returns whether a temporary file is a truncated copy of the content to be written.
    fn is_half_written(&self, step: &OperationStep) -> Result<bool, StoreError> {
        let Some(then) = step.then.known() else { return Ok(false) };
        let mut is_beginning = false;
        let whole = self.store().read_if_intact(&then.oid)?.unwrap_or_default();
        let read = self.workspace().read(&step.temp, then.size, &mut |reader, _| {
            let mut found = Vec::new();
            reader.read_to_end(&mut found)?;
            is_beginning = whole.starts_with(&found);
            Ok(())
        });
        Ok(read.is_ok() && is_beginning)
    }

    /// Keeps the steps whose path is still as the plan expected.
    fn still_as_planned(
        &self,
        steps: Vec<OperationStep>,
    ) -> Result<Vec<OperationStep>, StoreError> {
        let mut moved = BTreeSet::new();
        for step in &steps {
            let entry = self.store().manifest_entry(&step.path)?;
            if entry.map_or(PathState::Absent, |entry| entry.state.into()) != step.now {
                moved.insert(step.part);
            }
        }
        Ok(steps.into_iter().filter(|step| !moved.contains(&step.part)).collect())
    }

    /// Rebuilds the plan from the journal.
    fn plan_from_journal(
        &self,
        operation: &Operation,
        steps: &[OperationStep],
    ) -> Result<Plan, StoreError> {
        let mut plan = Plan::new(operation.kind, operation.title.clone());
        plan.dialog.clone_from(&operation.dialog);
        plan.left_out = self.store().left_out_count(operation.id)?;
        plan.follow_up = serde_json::from_value(self.store().follow_up(operation.id)?)
            .map_err(|error| StoreError::Row(format!("sequel of {}: {error}", operation.id)))?;
        for step in steps {
            let path = step.path.clone();
            let mut file = PlannedFile::going(path, step.now, step.then, PlanReason::Resumed);
            file.part = step.part;
            plan.files.push(file);
        }
        Ok(plan)
    }
}

/// Returns the outcome of each step: done before, done now, or left.
fn step_outcomes(
    steps: &[OperationStep],
    done: &BTreeSet<ProjectPath>,
    mut ran: HashMap<ProjectPath, StepOutcome>,
    mut removals: HashMap<ProjectPath, StepOutcome>,
) -> Vec<StepOutcome> {
    let outcome = |step: &OperationStep| {
        let removal = removals.remove(&step.path);
        let kept = removal.as_ref().and_then(|removal| removal.kept);
        let untidy = removal.as_ref().is_some_and(|removal| removal.untidy);
        let left = || match removal {
            Some(StepOutcome { fate: StepFate::Left(reason), .. }) => reason,
            _ => PlanReason::MovedOn,
        };
        match (done.contains(&step.path), ran.remove(&step.path)) {
            (true, _) => StepOutcome { fate: StepFate::Done, kept, untidy, unsynced: false },
            (_, Some(outcome)) => StepOutcome { kept: outcome.kept.or(kept), ..outcome },
            (_, None) => {
                StepOutcome { fate: StepFate::Left(left()), kept, untidy, unsynced: false }
            }
        }
    };
    steps.iter().map(outcome).collect()
}
