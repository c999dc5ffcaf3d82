//! Requests that decide on changes, take them back, or go back to an earlier state.

use retake_engine::model::{ChangeId, Checkpoint, DialogId, Millis, Operation, RewindWhat};
use retake_engine::{
    Accepted, Applied, Approved, GoToOptions, Plan, Project, Recovery, Rewind, RewindHow,
    Selection, TakeBackOptions, UndoStep, VerbError,
};
use serde::{Deserialize, Serialize};

use super::{Progress, Verb};
use crate::Failure;

/// Places of one change, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunks {
    /// The change.
    pub change: ChangeId,
    /// The numbers, from 1.
    pub numbers: Vec<u32>,
}

/// What is decided on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Scope {
    /// Whole changes.
    Changes(Selection),
    /// Places of one change.
    Hunks(Hunks),
}

/// Plans to take back the newest step.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PlanUndo {
    /// How.
    pub taking: TakeBackOptions,
    /// What goes back.
    pub what: RewindWhat,
}

impl Verb for PlanUndo {
    /// None if there is nothing to undo.
    type Answer = Option<(Plan, UndoStep)>;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Self::Answer, Failure> {
        let Some((plan, step)) = if_any(project.plan_undo(self.taking, at))? else {
            return Ok(None);
        };
        Ok(Some((project.rewind_along(plan, self.what, step.rewind())?, step)))
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
    pub what: RewindWhat,
}

impl Verb for PlanUndos {
    /// Fewer than asked for, if there are no more.
    type Answer = Vec<(Plan, UndoStep)>;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        progress: Progress<'_>,
    ) -> Result<Self::Answer, Failure> {
        let mut rehearsal = project.rehearse(at)?;
        let next = PlanUndo { taking: self.taking, what: self.what };
        let mut planned = Vec::new();
        for _ in 0..self.steps {
            let Some((plan, step)) = next.carry_out(project, at, progress)? else { break };
            let plan = rehearsal.checked(plan);
            planned.push((plan.clone(), step));
            if !plan.is_whole() {
                break;
            }
            rehearsal.perform(&plan)?;
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
    pub what: RewindWhat,
}

impl Verb for PlanRedo {
    /// None if there is nothing to redo.
    type Answer = Option<(Plan, Operation)>;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Self::Answer, Failure> {
        let Some((plan, undone)) = if_any(project.plan_redo(self.taking, at))? else {
            return Ok(None);
        };
        let how = RewindHow::TakeBack(undone.id);
        Ok(Some((project.rewind_along(plan, self.what, how)?, undone)))
    }
}

/// Plans to take back changes that the person does not want.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReject {
    /// Which.
    pub scope: Scope,
    /// How.
    pub taking: TakeBackOptions,
}

impl Verb for PlanReject {
    type Answer = Plan;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Plan, Failure> {
        Ok(match &self.scope {
            Scope::Changes(selection) => project.plan_reject(selection, self.taking, at)?,
            Scope::Hunks(hunks) => {
                project.plan_reject_hunks(hunks.change, &hunks.numbers, self.taking, at)?
            }
        })
    }
}

/// Plans to take back changes, approved or not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRollback {
    /// Which.
    pub scope: Scope,
    /// How.
    pub taking: TakeBackOptions,
}

impl Verb for PlanRollback {
    type Answer = Plan;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Plan, Failure> {
        Ok(match &self.scope {
            Scope::Changes(selection) => project.plan_rollback(selection, self.taking, at)?,
            Scope::Hunks(hunks) => {
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
    pub what: RewindWhat,
}

impl Verb for PlanRestore {
    type Answer = Plan;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Plan, Failure> {
        let mut plan = project.plan_restore(&self.checkpoint, &self.options, at)?;
        if let Some(title) = &self.title {
            plan.title.clone_from(title);
        }
        if self.what == RewindWhat::Files {
            return Ok(plan);
        }
        let dialog = match self.options.dialog.as_ref().or(self.checkpoint.dialog.as_ref()) {
            Some(dialog) => dialog.clone(),
            None => project.latest_dialog()?.id,
        };
        let how = RewindHow::Cut { dialog, to: Rewind::Checkpoint(self.checkpoint.id) };
        Ok(project.rewind_along(plan, self.what, how)?)
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

impl Verb for PlanReset {
    type Answer = Plan;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Plan, Failure> {
        Ok(project.plan_reset(&self.dialog, self.exact, self.taking, at)?)
    }
}

/// Carries out a plan; what moved on since it was made is left alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Apply {
    /// The plan.
    pub plan: Plan,
}

impl Verb for Apply {
    type Answer = Applied;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Applied, Failure> {
        Ok(project.apply(&self.plan, at)?)
    }
}

/// Keeps what agents changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Accept {
    /// Which changes.
    pub scope: Scope,
}

impl Verb for Accept {
    type Answer = Accepted;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Accepted, Failure> {
        Ok(match &self.scope {
            Scope::Changes(selection) => project.accept(selection, at)?,
            Scope::Hunks(hunks) => project.accept_hunks(hunks.change, &hunks.numbers, at)?,
        })
    }
}

/// Locks in what a dialog did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Approve {
    /// The dialog.
    pub dialog: DialogId,
    /// What the person says to it.
    pub message: Option<String>,
}

impl Verb for Approve {
    type Answer = Approved;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Approved, Failure> {
        Ok(project.approve(&self.dialog, self.message.as_deref(), at)?)
    }
}

/// Settles an operation that was interrupted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Recover {
    /// How.
    pub how: Recovery,
}

impl Verb for Recover {
    /// None if nothing was interrupted.
    type Answer = Option<Applied>;

    fn carry_out(
        &self,
        project: &Project,
        at: Millis,
        _progress: Progress<'_>,
    ) -> Result<Self::Answer, Failure> {
        if_any(project.recover(self.how, at))
    }
}

/// Maps "nothing to do" to `None`: it is an answer, not a failure.
fn if_any<T>(done: Result<T, VerbError>) -> Result<Option<T>, Failure> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(VerbError::NothingTo(_) | VerbError::NothingInterrupted) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
