//! Common to all operations: taking the lock, refreshing the record, and the error type.

use retake_model::{DialogId, Millis};
use retake_store::{Dialog, FileLock, StoreError};

use crate::error::OperationError;
use crate::plan::Plan;
use crate::project::Project;
use crate::scan::request::ScanTrigger;

/// Maximum age in ms of the plan's full scan; until then only the planned paths are scanned again.
const RECENT_SCAN_MS: Millis = 2000;

impl Project {
    /// Begins an operation: takes the lock, checks that no operation was interrupted, and brings
    /// the record up to date with the files by a scan.
    pub(crate) fn lock_and_refresh(&self, at: Millis) -> Result<FileLock, OperationError> {
        let lock = self.lock_for_operation(at)?;
        self.refresh_locked(ScanTrigger::Requested, at, &mut |_, _| {})?;
        Ok(lock)
    }

    /// The same before a plan is applied. If the plan's full scan is recent, and a full scan is a
    /// walk of the tree (no watcher), only the paths that would be written are scanned again: no
    /// other path is touched.
    pub(crate) fn lock_and_refresh_planned(
        &self,
        plan: &Plan,
        at: Millis,
    ) -> Result<FileLock, OperationError> {
        let just_now = (0..RECENT_SCAN_MS).contains(&at.saturating_sub(plan.made_at));
        if !just_now || self.hints.is_some() {
            return self.lock_and_refresh(at);
        }
        let lock = self.lock_for_operation(at)?;
        let paths = plan.writes().map(|file| file.path.clone()).collect();
        self.refresh_visible_paths_locked(paths, at)?;
        Ok(lock)
    }

    /// Begins an operation that does its own scan.
    pub(crate) fn lock_for_operation(&self, at: Millis) -> Result<FileLock, OperationError> {
        let lock = self.acquire_lock()?;
        if let Some(operation) = self.store().unfinished_operation()? {
            return Err(OperationError::Unfinished { id: operation.id, title: operation.title });
        }
        self.remove_leftover_temps()?;
        self.catch_up(at)?;
        Ok(lock)
    }

    pub(crate) fn known_dialog(&self, id: &DialogId) -> Result<Dialog, OperationError> {
        self.store().dialog(id)?.ok_or_else(|| OperationError::UnknownDialog(id.clone()))
    }

    /// The dialogs with work that waits for approval, the latest activity first.
    pub fn dialogs_to_approve(&self) -> Result<Vec<Dialog>, StoreError> {
        self.store().dialogs_to_approve()
    }

    /// Returns the default dialog: the one with the latest activity.
    pub fn latest_dialog(&self) -> Result<Dialog, OperationError> {
        self.store().dialogs()?.into_iter().next().ok_or(OperationError::NoDialog)
    }
}
