//! Restore: puts the files into the state of a checkpoint.

use retake_model::{Checkpoint, Millis, OperationKind};

use crate::plan::go_to::{GoToOptions, go_to};
use crate::plan::{Plan, Sequel};
use crate::project::Project;
use crate::verb::VerbError;

impl Project {
    /// Plans to put the files into the state of a checkpoint (RSTR-1, design section 8).
    pub fn plan_restore(
        &self,
        checkpoint: &Checkpoint,
        options: &GoToOptions,
        at: Millis,
    ) -> Result<Plan, VerbError> {
        self.planned(at, |project| {
            let title = format!("restore to '{}'", checkpoint.message);
            let mut plan = Plan::new(OperationKind::Restore, title);
            plan.dialog.clone_from(&checkpoint.dialog);
            let (seq, dialog) = (checkpoint.seq, checkpoint.dialog.as_ref());
            go_to(project.store(), &mut plan, seq, dialog, options)?;
            let dialog = dialog.map(|dialog| dialog.0.clone());
            if plan.writes().next().is_some() {
                plan.sequel = Sequel::Restored { to: checkpoint.id, dialog };
            }
            Ok(plan)
        })
    }
}
