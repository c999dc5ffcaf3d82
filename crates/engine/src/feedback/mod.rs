//! What the person says to agents about their work: rejections with reasons, and comments.
//!
//! Invariant: an agent is told of each once, and that it was is on record before the reply.

pub(crate) mod anchor;
mod deliver;
pub(crate) mod rejected_lines;
pub(crate) mod rejection;
mod text;

pub(crate) use deliver::tell_sender;
pub use deliver::{FeedbackChannel, FeedbackItems, FeedbackMoments, FeedbackTimes};

use retake_model::{
    ChangeId, JournalKind, Millis, Operation, OperationId, OperationKind, ProjectPath,
};
use retake_store::StoreError;
use serde_json::json;

use crate::error::OperationError;
use crate::feedback::rejected_lines::earlier_names;
use crate::journal::record_entry;
use crate::project::Project;

impl Project {
    /// Forgets what was rejected in a file, or in the files beneath a folder, under all of their names,
    /// or everywhere; returns the number of places.
    pub fn forget_rejections(
        &self,
        path: Option<&ProjectPath>,
        at: Millis,
    ) -> Result<u64, OperationError> {
        let _lock = self.acquire_lock()?;
        let batch = self.store().batch()?;
        let forgotten = match path {
            None => batch.forget_rejected_runs(None)?,
            Some(path) => {
                let mut forgotten = batch.forget_rejected_runs(Some(path))?;
                for file in std::iter::once(path.clone()).chain(batch.tracked_beneath(path)?) {
                    for name in earlier_names(&batch, &file, None)? {
                        forgotten += batch.forget_rejected_runs(Some(&name))?;
                    }
                }
                forgotten
            }
        };
        let body = json!({ "path": path, "forgotten": forgotten });
        record_entry(&batch, batch.next_stamp(at), JournalKind::RejectionQueue, None, body)?;
        batch.commit()?;
        Ok(forgotten)
    }

    /// Returns the reason that the person gave for a rejection.
    pub fn rejection_reason(&self, id: OperationId) -> Result<Option<String>, StoreError> {
        self.store().rejection_reason(id)
    }

    /// Returns the rejections that stand and whose lines a change added again, oldest first.
    pub fn rejections_repeated_by(&self, id: ChangeId) -> Result<Vec<OperationId>, StoreError> {
        self.store().rejections_repeated_by(id)
    }

    /// Returns the rejections that stand, each with the person's reason, oldest first.
    pub fn rejections(&self) -> Result<Vec<(Operation, Option<String>)>, StoreError> {
        let mut found = Vec::new();
        for operation in self.store().operations(usize::MAX)? {
            if operation.kind == OperationKind::Reject && operation.undone_by.is_none() {
                let reason = self.store().rejection_reason(operation.id)?;
                found.push((operation, reason));
            }
        }
        found.reverse();
        Ok(found)
    }
}
