//! Removes the files that the steps of a part displaced, after a last check of each.

use retake_model::{ObjectId, PathState};
use retake_store::{OperationStep, StoreError};
use retake_workspace::Workspace;

use crate::apply::temp_files::{remove_temp, state_of};
use crate::plan::FileAction;

/// The result of removing a part's displaced files.
pub(super) enum PartCleanup {
    /// Another program wrote to the file that this step displaced.
    WrittenTo(usize),
    /// The displaced files of the steps, each removed or failed.
    Removed(Vec<(usize, Result<Option<ObjectId>, StoreError>)>),
}

/// The data that one thread needs to remove displaced files.
#[derive(Clone, Copy)]
pub(super) struct CleanupWorker<'p> {
    pub(super) workspace: &'p Workspace,
    pub(super) steps: &'p [OperationStep],
    pub(super) actions: &'p [FileAction],
}

impl CleanupWorker<'_> {
    pub(super) fn clean_up_part(self, part: &[usize]) -> PartCleanup {
        let written_to =
            |at: &&usize| !is_expected(self.workspace, &self.steps[**at], self.actions[**at]);
        if let Some(&at) = part.iter().find(written_to) {
            return PartCleanup::WrittenTo(at);
        }
        // Just checked, so not read once more.
        let remove =
            |at: &usize| (*at, remove_temp(self.workspace, &self.steps[*at]).map(|()| None));
        PartCleanup::Removed(part.iter().map(remove).collect())
    }
}

/// Returns whether the displaced file is the expected one.
pub(super) fn is_expected(workspace: &Workspace, step: &OperationStep, action: FileAction) -> bool {
    match action {
        FileAction::Write | FileAction::Delete => {
            state_of(workspace, &step.temp).map_or(PathState::Unknown, PathState::Known) == step.now
        }
        FileAction::Create | FileAction::Mode | FileAction::Leave => true,
    }
}
