//! Removes contents from the record for good.

use retake_model::{JournalKind, Millis, ObjectId, OperationId};
use retake_store::{FileLock, PurgeReport, PurgeScope, PurgeTarget, StoreError};
use serde_json::json;

use crate::error::RecordError;
use crate::journal::record_entry;
use crate::project::Project;

/// Why nothing was purged.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// An operation was interrupted, and may need the content.
    #[error("operation {0} was interrupted and is not finished, and may need this content")]
    Unfinished(OperationId),
    /// The record has nothing of the kind.
    #[error("nothing is on record of {0}")]
    Nothing(String),
    /// The record has other contents than those that were shown.
    #[error("{0} has other contents on record than those that were shown")]
    Changed(String),
    /// The project cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Project {
    /// Returns what a purge would remove; no contents if nothing matches.
    pub fn purge_scope(&self, target: &PurgeTarget) -> Result<PurgeScope, StoreError> {
        self.store().purge_scope(target)
    }

    /// Returns whether the record has, or had, a content of this id.
    pub fn knows_content(&self, oid: &ObjectId) -> Result<bool, StoreError> {
        Ok(self.store().has(oid)? || self.store().is_purged(oid)?)
    }

    /// Removes the bytes of every version of a path, or of one content. Files are not touched.
    pub fn purge(&self, target: &PurgeTarget, at: Millis) -> Result<PurgeReport, PurgeError> {
        self.purge_seen(target, None, at)
    }

    /// The same, if the contents still are those that the person has seen.
    pub fn purge_seen(
        &self,
        target: &PurgeTarget,
        seen: Option<&[ObjectId]>,
        at: Millis,
    ) -> Result<PurgeReport, PurgeError> {
        self.check_writable()?;
        let (store, wait) = (self.store(), self.settings().wait.command_timeout());
        let Some(_lock) = FileLock::acquire(store.folder(), wait)? else {
            return Err(self.locked_error().into());
        };
        // Spooled events may hold the content in their arguments.
        self.drain_spool(at)?;
        if let Some(operation) = store.unfinished_operation()? {
            return Err(PurgeError::Unfinished(operation.id));
        }
        if let Some(seen) = seen
            && store.purge_scope(target)?.content_ids() != seen
        {
            return Err(PurgeError::Changed(describe_target(target)));
        }
        let waiting = store.needs_scrub()?;
        let purge = store.purge(target, at, wait)?;
        if purge.scope.contents.is_empty() && !waiting {
            return Err(PurgeError::Nothing(describe_target(target)));
        }
        // Subscribers that show the content must drop it.
        let batch = store.batch()?;
        let body = json!({ "contents": purge.scope.contents.len() });
        record_entry(&batch, batch.next_stamp(at), JournalKind::Purged, None, body)?;
        batch.commit()?;
        Ok(purge)
    }
}

fn describe_target(target: &PurgeTarget) -> String {
    match target {
        PurgeTarget::Path(path) => path.to_string(),
        PurgeTarget::Content(oid) => oid.to_string(),
    }
}
