//! Titles that the person gives to dialogs.

use retake_model::{DialogId, JournalKind, Millis};
use retake_store::Dialog;
use serde_json::json;

use crate::error::OperationError;
use crate::journal::record_entry;
use crate::project::Project;

impl Project {
    /// Gives a dialog a title, or takes it away; the agent's own title stays beside it.
    pub fn set_dialog_title(
        &self,
        id: &DialogId,
        title: Option<&str>,
        at: Millis,
    ) -> Result<Dialog, OperationError> {
        let _lock = self.acquire_lock()?;
        let known = self.store().dialog(id)?;
        let known = known.ok_or_else(|| OperationError::UnknownDialog(id.clone()))?;
        if known.given_title.as_deref() == title {
            return Ok(known);
        }
        let batch = self.store().batch()?;
        batch.set_given_title(id, title)?;
        let body = json!({ "title": title });
        let stamp = batch.next_stamp(at);
        record_entry(&batch, stamp, JournalKind::DialogTitled, Some(id), body)?;
        batch.commit()?;
        let dialog = self.store().dialog(id)?;
        dialog.ok_or_else(|| OperationError::UnknownDialog(id.clone()))
    }
}
