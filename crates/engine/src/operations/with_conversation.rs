//! Rewinds a conversation together with an operation on files, or instead of it.
//!
//! The files come first: a conversation is rewound only if the operation was applied, at least in
//! part. That is a transaction of its own, since no file depends on it.

use retake_model::{AgentId, AgentRef, DialogId, MAIN_AGENT, Millis, RewindScope};

use crate::apply::AppliedPlan;
use crate::history::{HistoryError, PlannedRewind, RewindAction, RewindOutcome, RewindTarget};
use crate::operations::steps::UndoStep;
use crate::plan::Plan;
use crate::project::Project;

impl UndoStep {
    /// Returns what undoing the step does to the conversation.
    pub fn rewind_action(&self) -> RewindAction {
        match self {
            Self::Turn { dialog, turn, .. } | Self::Redone { turn: Some((dialog, turn)), .. } => {
                RewindAction::Cut { dialog: dialog.clone(), to: RewindTarget::Turn(*turn) }
            }
            Self::Redone { root, .. } => RewindAction::TakeBack(*root),
            Self::Operation(operation) => RewindAction::TakeBack(operation.id),
        }
    }
}

impl Project {
    /// Adds the rewind of the conversation to a plan, or replaces its files by it.
    pub fn plan_with_rewind(
        &self,
        mut plan: Plan,
        what: RewindScope,
        how: RewindAction,
    ) -> Result<Plan, HistoryError> {
        if what == RewindScope::Files {
            return Ok(plan);
        }
        let rewind = self.plan_rewind_action(&plan, how);
        if what == RewindScope::Conversation {
            let title = format!("{} (the conversation only)", plan.title);
            plan = Plan { dialog: plan.dialog, ..Plan::new(plan.kind, title) };
            plan.rewind = Some(Box::new(rewind?));
            return Ok(plan);
        }
        plan.rewind = match rewind {
            Ok(rewind) => Some(Box::new(rewind)),
            // Without a message there is no conversation to rewind.
            Err(HistoryError::NoMessage { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(plan)
    }

    fn plan_rewind_action(
        &self,
        plan: &Plan,
        how: RewindAction,
    ) -> Result<PlannedRewind, HistoryError> {
        let (dialog, agent, rewound) = match &how {
            RewindAction::Cut { dialog, to } => {
                let agent = AgentId::from(MAIN_AGENT);
                let rewound = self.plan_rewind(dialog, &agent, *to)?;
                (dialog.clone(), agent, rewound)
            }
            RewindAction::TakeBack(operation) => {
                let found = self.store().threads_changed_by(*operation)?.into_iter().next();
                let Some((dialog, agent)) = found else {
                    let dialog = plan.dialog.clone().unwrap_or_else(|| DialogId::from("any"));
                    let what = format!("operation {operation}");
                    return Err(HistoryError::NoMessage { dialog, what });
                };
                (dialog, agent, RewindOutcome::default())
            }
        };
        Ok(PlannedRewind { dialog, agent, how, rewound, done: None, problem: None })
    }

    /// Applies the rewind of a plan; the caller holds the lock.
    pub(crate) fn apply_rewind(&self, applied: &mut AppliedPlan, at: Millis) {
        let operation = applied.operation.as_ref().map(|operation| operation.id);
        let is_done = operation.is_some() || applied.plan.is_whole();
        let Some(rewind) = &mut applied.plan.rewind else { return };
        rewind.done = Some(false);
        if !is_done {
            rewind.problem = Some("nothing was done to the files".to_owned());
            return;
        }
        let done = match &rewind.how {
            RewindAction::Cut { dialog, to } => {
                let thread = AgentRef { dialog, agent: &rewind.agent };
                let cut = self.rewind_locked(thread, *to, operation, at);
                cut.map(|rewound| {
                    rewind.rewound = rewound;
                    true
                })
            }
            RewindAction::TakeBack(undone) => {
                self.undo_rewind_locked(*undone, operation, at).map(|count| count > 0)
            }
        };
        match done {
            Ok(true) => rewind.done = Some(true),
            Ok(false) => rewind.problem = Some("it was changed again since".to_owned()),
            Err(error) => rewind.problem = Some(error.to_string()),
        }
    }
}
