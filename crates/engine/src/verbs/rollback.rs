//! Rollback: takes back changes, chosen by change, file, agent, call, message, dialog or time.

use retake_model::{ChangeStatus, Millis, OperationKind};

use crate::arrival::first_words;
use crate::plan::Plan;
use crate::plan::selection::Selection;
use crate::plan::take_back::{TakeBackOptions, take_back};
use crate::project::Project;
use crate::verb::VerbError;

/// Maximum characters of a message that are quoted in a title.
const MESSAGE_CHARS: usize = 50;

impl Project {
    /// Plans to take back changes of agents; what came later stays (ROLL-1…7).
    pub fn plan_rollback(
        &self,
        selection: &Selection,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, VerbError> {
        if let Some(dialog) = &selection.dialog {
            self.known_dialog(dialog)?;
        }
        self.planned(at, |project| {
            let store = project.store();
            let selected = selection.find(store)?;
            let mut title = format!("rollback of {}", selection.describe());
            if let (Some(dialog), Some(turn)) = (&selection.dialog, selection.message)
                && let Some(message) = store.message_of(dialog, turn)?
            {
                let words = first_words(&message.text, MESSAGE_CHARS);
                title = format!("{title} ({words})");
            }
            let mut plan = Plan::new(OperationKind::Rollback, title);
            plan.dialog.clone_from(&selection.dialog);
            let status = ChangeStatus::Reverted;
            take_back(store, &mut plan, (&selected.effective, &[]), status, options)?;
            project.name_left(&mut plan, &selected)?;
            Ok(plan)
        })
    }

    /// Plans to take back single hunks of a change, numbered from 1.
    pub fn plan_rollback_hunks(
        &self,
        change: retake_model::ChangeId,
        numbers: &[u32],
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, VerbError> {
        self.plan_hunks(OperationKind::Rollback, change, numbers, options, at)
    }
}
