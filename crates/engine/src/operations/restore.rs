//! Restore: puts the files into the state of a checkpoint.

use retake_model::{Checkpoint, DialogId, Millis, OperationKind, PathState, ProjectPath};
use retake_store::{ChangeFilter, StoreError};

use crate::error::OperationError;
use crate::plan::go_to::{GoToOptions, go_to};
use crate::plan::{FollowUp, Plan, PlanReason, PlannedFile};
use crate::project::Project;

impl Project {
    /// Plans to put the files into the state of a checkpoint (RSTR-1, docs/design/undo.md).
    pub fn plan_restore(
        &self,
        checkpoint: &Checkpoint,
        options: &GoToOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        if let Some(dialog) = &options.dialog {
            self.known_dialog(dialog)?;
        }
        self.make_plan(at, |project| {
            let unknown = project.unknown_paths(&options.paths, checkpoint.seq)?;
            if !unknown.is_empty() && unknown.len() == options.paths.len() {
                return Err(OperationError::unknown_paths(&unknown));
            }
            let mut plan = Plan::new(OperationKind::Restore, title(checkpoint, options));
            let dialog = options.dialog.as_ref().or(checkpoint.dialog.as_ref());
            plan.dialog = dialog.cloned();
            go_to(project.store(), &mut plan, checkpoint.seq, dialog, options)?;
            if plan.writes().next().is_some() {
                let dialog = dialog.map(|dialog| dialog.0.clone());
                plan.follow_up = FollowUp::Restored { to: checkpoint.id, dialog };
            }
            for path in unknown {
                let mut file = PlannedFile::left(path, PathState::Absent, PlanReason::NotOnRecord);
                file.part = u64::MAX;
                plan.files.push(file);
            }
            Ok(plan)
        })
    }

    /// Returns the paths at and beneath which nothing is tracked now, and nothing was at `seq`:
    /// a file of that time is still tracked, or has changed since.
    fn unknown_paths(
        &self,
        paths: &[ProjectPath],
        seq: u64,
    ) -> Result<Vec<ProjectPath>, StoreError> {
        let store = self.store();
        let mut unknown = Vec::new();
        for path in paths {
            let since = ChangeFilter {
                path: Some(path.clone()),
                after: Some(seq),
                limit: Some(1),
                ..ChangeFilter::default()
            };
            let is_known = store.manifest_entry(path)?.is_some()
                || !store.tracked_beneath(path)?.is_empty()
                || !store.changes(&since)?.is_empty();
            if !is_known {
                unknown.push(path.clone());
            }
        }
        Ok(unknown)
    }
}

fn title(checkpoint: &Checkpoint, options: &GoToOptions) -> String {
    let of = |dialog: &DialogId| format!(" of what dialog {dialog} changed");
    let of = options.dialog.as_ref().map(of).unwrap_or_default();
    format!("restore{of} to '{}'", checkpoint.message)
}
