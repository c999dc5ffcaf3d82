//! Requests that decide on changes, take them back, or go back to an earlier state.

use retake_engine::model::{
    ChangeId, Checkpoint, DialogId, Millis, Operation, OperationId, RewindScope,
};
use retake_engine::{
    AcceptedChanges, AppliedPlan, Approval, GoToOptions, OperationControl, OperationError, Plan,
    Project, RecoveryChoice, RewindAction, RewindTarget, Selection, TakeBackOptions, UndoStep,
};
use serde::{Deserialize, Serialize};

use super::{ProgressFn, ProjectCommand};
use crate::ApiError;

/// Places of one change, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkSelection {
    /// The change.
    pub change: ChangeId,
    /// The numbers, from 1.
    pub numbers: Vec<u32>,
}

/// What is decided on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ChangeScope {
    /// Whole changes.
    Changes(Selection),
    /// Places of one change.
    Hunks(HunkSelection),
}

/// Plans to take back the newest step.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PlanUndo {
    /// How.
    pub taking: TakeBackOptions,
    /// What goes back.
    pub what: RewindScope,
}

impl ProjectCommand for PlanUndo {
    /// None if there is nothing to undo.
    type Answer = Option<(Plan, UndoStep)>;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("undo")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        let Some((plan, step)) = none_if_nothing_to_do(project.plan_undo(self.taking, at))? else {
            return Ok(None);
        };
        Ok(Some((project.plan_with_rewind(plan, self.what, step.rewind_action())?, step)))
    }
}

/// Plans to take one operation back, whatever was done after it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PlanUndoOf {
    /// The operation.
    pub operation: OperationId,
    /// How.
    pub taking: TakeBackOptions,
}

impl ProjectCommand for PlanUndoOf {
    type Answer = Plan;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("undo")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Plan, ApiError> {
        Ok(project.plan_undo_of(self.operation, self.taking, at)?)
    }
}

/// Plans to take back several steps, each on top of those before it; one that cannot be taken back
/// whole is the last.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PlanUndos {
    /// Maximum number of steps.
    pub steps: u32,
    /// How.
    pub taking: TakeBackOptions,
    /// What goes back.
    pub what: RewindScope,
}

impl ProjectCommand for PlanUndos {
    /// Fewer than asked for, if there are no more.
    type Answer = Vec<(Plan, UndoStep)>;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("undo")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        let mut rehearsal = project.rehearse(at)?;
        let next = PlanUndo { taking: self.taking, what: self.what };
        let mut planned = Vec::new();
        for _ in 0..self.steps {
            let Some((plan, step)) = next.run(project, at, progress)? else { break };
            let plan = rehearsal.checked(plan);
            planned.push((plan.clone(), step));
            if !plan.is_whole() {
                break;
            }
            rehearsal.rehearse_plan(&plan)?;
        }
        Ok(planned)
    }
}

/// Plans to bring back what was undone last.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PlanRedo {
    /// How.
    pub taking: TakeBackOptions,
    /// What comes back.
    pub what: RewindScope,
}

impl ProjectCommand for PlanRedo {
    /// None if there is nothing to redo.
    type Answer = Option<(Plan, Operation)>;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("redo")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        let Some((plan, undone)) = none_if_nothing_to_do(project.plan_redo(self.taking, at))?
        else {
            return Ok(None);
        };
        let how = RewindAction::TakeBack(undone.id);
        Ok(Some((project.plan_with_rewind(plan, self.what, how)?, undone)))
    }
}

/// Plans to take back changes that the person does not want.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReject {
    /// Which.
    pub scope: ChangeScope,
    /// How.
    pub taking: TakeBackOptions,
}

impl ProjectCommand for PlanReject {
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
        Ok(match &self.scope {
            ChangeScope::Changes(selection) => project.plan_reject(selection, self.taking, at)?,
            ChangeScope::Hunks(hunks) => {
                project.plan_reject_hunks(hunks.change, &hunks.numbers, self.taking, at)?
            }
        })
    }
}

/// Plans to take back changes, approved or not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRollback {
    /// Which.
    pub scope: ChangeScope,
    /// How.
    pub taking: TakeBackOptions,
}

impl ProjectCommand for PlanRollback {
    type Answer = Plan;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("rollback")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Plan, ApiError> {
        Ok(match &self.scope {
            ChangeScope::Changes(selection) => project.plan_rollback(selection, self.taking, at)?,
            ChangeScope::Hunks(hunks) => {
                project.plan_rollback_hunks(hunks.change, &hunks.numbers, self.taking, at)?
            }
        })
    }
}

/// Plans to put the files into the state of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRestore {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// How.
    pub options: GoToOptions,
    /// What the person called it by, if not by its id.
    pub title: Option<String>,
    /// What goes back.
    pub what: RewindScope,
}

impl ProjectCommand for PlanRestore {
    type Answer = Plan;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("restore")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Plan, ApiError> {
        let mut plan = project.plan_restore(&self.checkpoint, &self.options, at)?;
        if let Some(title) = &self.title {
            plan.title.clone_from(title);
        }
        if self.what == RewindScope::Files {
            return Ok(plan);
        }
        let dialog = match self.options.dialog.as_ref().or(self.checkpoint.dialog.as_ref()) {
            Some(dialog) => dialog.clone(),
            None => project.latest_dialog()?.id,
        };
        let how = RewindAction::Cut { dialog, to: RewindTarget::Checkpoint(self.checkpoint.id) };
        Ok(project.plan_with_rewind(plan, self.what, how)?)
    }
}

/// Plans to take back what a dialog did since its last approval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReset {
    /// The dialog.
    pub dialog: DialogId,
    /// Compare trees instead of taking back changes.
    pub exact: bool,
    /// How.
    pub taking: TakeBackOptions,
}

impl ProjectCommand for PlanReset {
    type Answer = Plan;

    const ONLY_PLANS: bool = true;

    fn long_verb(&self) -> Option<&'static str> {
        Some("reset")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Plan, ApiError> {
        Ok(project.plan_reset(&self.dialog, self.exact, self.taking, at)?)
    }
}

/// Carries out a plan; what moved on since it was made is left alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApplyPlan {
    /// The plan.
    pub plan: Plan,
}

impl ProjectCommand for ApplyPlan {
    type Answer = AppliedPlan;

    fn long_verb(&self) -> Option<&'static str> {
        Some(self.plan.kind.as_str())
    }

    fn dialog(&self) -> Option<&DialogId> {
        self.plan.dialog.as_ref()
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<AppliedPlan, ApiError> {
        Ok(project.apply(&self.plan, at)?)
    }

    /// It can be cancelled until its first file is written.
    fn run_with_control(
        self,
        project: &Project,
        at: Millis,
        control: &OperationControl,
    ) -> Result<AppliedPlan, ApiError> {
        Ok(project.apply_with_control(self.plan, at, control)?)
    }
}

/// Keeps what agents changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AcceptChanges {
    /// Which changes.
    pub scope: ChangeScope,
}

impl ProjectCommand for AcceptChanges {
    type Answer = AcceptedChanges;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<AcceptedChanges, ApiError> {
        Ok(match &self.scope {
            ChangeScope::Changes(selection) => project.accept(selection, at)?,
            ChangeScope::Hunks(hunks) => project.accept_hunks(hunks.change, &hunks.numbers, at)?,
        })
    }
}

/// Locks in what a dialog did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApproveDialog {
    /// The dialog.
    pub dialog: DialogId,
    /// What the person says to it.
    pub message: Option<String>,
}

impl ProjectCommand for ApproveDialog {
    type Answer = Approval;

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Approval, ApiError> {
        Ok(project.approve(&self.dialog, self.message.as_deref(), at)?)
    }
}

/// Settles an operation that was interrupted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RecoverOperation {
    /// How.
    pub how: RecoveryChoice,
}

impl ProjectCommand for RecoverOperation {
    /// None if nothing was interrupted.
    type Answer = Option<AppliedPlan>;

    fn long_verb(&self) -> Option<&'static str> {
        Some("recover")
    }

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<Self::Answer, ApiError> {
        none_if_nothing_to_do(project.recover(self.how, at))
    }
}

/// Maps "nothing to do" to `None`: it is an answer, not a failure.
fn none_if_nothing_to_do<T>(done: Result<T, OperationError>) -> Result<Option<T>, ApiError> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(OperationError::NothingTo(_) | OperationError::NothingInterrupted) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
