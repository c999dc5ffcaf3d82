//! Rollback: takes back changes, chosen by change, file, agent, call, message, dialog or time.

use retake_model::{ChangeStatus, Millis, OperationKind, title_of};

use crate::error::OperationError;
use crate::history::dialog_name::MAX_QUOTED_CHARS;
use crate::plan::Plan;
use crate::plan::selection::Selection;
use crate::plan::take_back::{TakeBackOptions, TakeBackRequest, take_back};
use crate::project::Project;

impl Project {
    /// Plans to take back changes of agents; what came later stays (ROLL-1…7).
    pub fn plan_rollback(
        &self,
        selection: &Selection,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        if let Some(dialog) = &selection.dialog {
            self.known_dialog(dialog)?;
        }
        self.make_plan(at, |project| {
            let store = project.store();
            let selected = selection.find(store)?;
            let mut title = format!("rollback of {}", selection.describe(store)?);
            if let (Some(dialog), Some(turn)) = (&selection.dialog, selection.message)
                && let Some(message) = store.message_of_turn(dialog, turn)?
            {
                title = format!("{title} (“{}”)", title_of(&message.text, MAX_QUOTED_CHARS));
            }
            let mut plan = Plan::new(OperationKind::Rollback, title);
            plan.dialog.clone_from(&selection.dialog);
            plan.since = selection.after;
            let status = ChangeStatus::Reverted;
            let request = TakeBackRequest::new(&selected.effective, status, options);
            take_back(store, &mut plan, request)?;
            project.list_left_changes(&mut plan, &selected)?;
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
    ) -> Result<Plan, OperationError> {
        self.plan_hunks(OperationKind::Rollback, change, numbers, options, at)
    }
}
