//! Rewinds a conversation together with an operation on files, or instead of it.
//!
//! The files come first: a conversation is rewound only if the operation was applied, at least in
//! part. That is a transaction of its own, since no file depends on it.

use retake_model::{AgentId, DialogId, MAIN_AGENT, Millis, OperationId, RewindWhat};
use serde::{Deserialize, Serialize};

use super::{HistoryError, Rewind, Rewound};
use crate::apply::Applied;
use crate::plan::Plan;
use crate::project::Project;
use crate::verbs::steps::UndoStep;

/// What is done to a conversation with a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRewind {
    /// The dialog.
    pub dialog: DialogId,
    /// Whose conversation it is.
    pub agent: AgentId,
    /// What is done.
    pub how: RewindHow,
    /// What that hides; nothing if it only brings back.
    pub rewound: Rewound,
    /// Whether it was done; `None` while it is only planned.
    pub done: Option<bool>,
    /// Why it was not.
    pub problem: Option<String>,
}

/// What is done to a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindHow {
    /// It is cut before a message.
    Cut {
        /// The dialog.
        dialog: DialogId,
        /// Where.
        to: Rewind,
    },
    /// What an operation did to it is taken back.
    TakeBack(OperationId),
}

impl UndoStep {
    /// Returns what undoing the step does to the conversation.
    pub fn rewind(&self) -> RewindHow {
        match self {
            Self::Turn { dialog, turn, .. } | Self::Redone { turn: Some((dialog, turn)), .. } => {
                RewindHow::Cut { dialog: dialog.clone(), to: Rewind::Turn(*turn) }
            }
            Self::Redone { root, .. } => RewindHow::TakeBack(*root),
            Self::Operation(operation) => RewindHow::TakeBack(operation.id),
        }
    }
}

impl Project {
    /// Adds the rewind of the conversation to a plan, or replaces its files by it.
    pub fn rewind_along(
        &self,
        mut plan: Plan,
        what: RewindWhat,
        how: RewindHow,
    ) -> Result<Plan, HistoryError> {
        if what == RewindWhat::Files {
            return Ok(plan);
        }
        let rewind = self.planned_rewind(&plan, how);
        if what == RewindWhat::Conversation {
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

    fn planned_rewind(&self, plan: &Plan, how: RewindHow) -> Result<PlannedRewind, HistoryError> {
        let (dialog, agent, rewound) = match &how {
            RewindHow::Cut { dialog, to } => {
                let agent = AgentId::from(MAIN_AGENT);
                let rewound = self.plan_rewind(dialog, &agent, *to)?;
                (dialog.clone(), agent, rewound)
            }
            RewindHow::TakeBack(operation) => {
                let found = self.store().views_of(*operation)?.into_iter().next();
                let Some((dialog, agent)) = found else {
                    let dialog = plan.dialog.clone().unwrap_or_else(|| DialogId::from("any"));
                    let what = format!("operation {operation}");
                    return Err(HistoryError::NoMessage { dialog, what });
                };
                (dialog, agent, Rewound::default())
            }
        };
        Ok(PlannedRewind { dialog, agent, how, rewound, done: None, problem: None })
    }

    /// Applies the rewind of a plan; the caller holds the lock.
    pub(crate) fn rewind_applied(&self, applied: &mut Applied, at: Millis) {
        let operation = applied.operation.as_ref().map(|operation| operation.id);
        let is_done = operation.is_some() || applied.plan.is_whole();
        let Some(rewind) = &mut applied.plan.rewind else { return };
        rewind.done = Some(false);
        if !is_done {
            rewind.problem = Some("nothing was done to the files".to_owned());
            return;
        }
        let done = match &rewind.how {
            RewindHow::Cut { dialog, to } => {
                let cut = self.rewind_held((dialog, &rewind.agent), *to, operation, at);
                cut.map(|rewound| {
                    rewind.rewound = rewound;
                    true
                })
            }
            RewindHow::TakeBack(undone) => {
                self.take_back_held(*undone, operation, at).map(|count| count > 0)
            }
        };
        match done {
            Ok(true) => rewind.done = Some(true),
            Ok(false) => rewind.problem = Some("it was changed again since".to_owned()),
            Err(error) => rewind.problem = Some(error.to_string()),
        }
    }
}

impl PlannedRewind {
    /// Returns whether it shows again what was hidden, and hides nothing.
    pub fn brings_back(&self) -> bool {
        matches!(self.how, RewindHow::TakeBack(_))
    }
}
