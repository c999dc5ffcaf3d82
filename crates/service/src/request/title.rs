//! The request that gives a dialog a title.

use retake_engine::Project;
use retake_engine::model::{DialogId, Millis};
use serde::{Deserialize, Serialize};

use super::{ProgressFn, ProjectCommand};
use crate::ApiError;

/// Gives a dialog the person's title, or takes it away.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetDialogTitle {
    /// The dialog.
    pub dialog: DialogId,
    /// The title; none takes it away.
    pub title: Option<String>,
}

impl ProjectCommand for SetDialogTitle {
    type Answer = ();

    fn run(
        &self,
        project: &Project,
        at: Millis,
        _progress: ProgressFn<'_>,
    ) -> Result<(), ApiError> {
        project.set_dialog_title(&self.dialog, self.title.as_deref(), at)?;
        Ok(())
    }
}
