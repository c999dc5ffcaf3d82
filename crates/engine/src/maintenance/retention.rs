//! Applies the retention limits to the record (garbage collection).

use retake_model::{JournalKind, Millis};
use retake_store::{
    DiskUsage, FileLock, GcError, GcReport, RemovedRecords, RetentionForecast, RetentionLimits,
    StoreError,
};
use serde_json::json;

use crate::apply::{OperationControl, OperationPhase};
use crate::error::RecordError;
use crate::journal::record_entry;
use crate::project::Project;
use crate::settings::RetentionSettings;

const MILLIS_PER_DAY: Millis = 24 * 60 * 60 * 1000;

impl RetentionSettings {
    /// Converts the settings into the store's limits.
    fn limits(&self) -> RetentionLimits {
        let days = |days: u32| Millis::from(days) * MILLIS_PER_DAY;
        RetentionLimits {
            max_age: self.max_age_days.map(days),
            max_dialogs: self.max_dialogs,
            max_bytes: self.max_bytes,
            protect: days(self.protect_days),
        }
    }
}

impl Project {
    /// Forecasts what the next collection removes and why; `measure` also counts bytes, which takes
    /// a while.
    pub fn retention_forecast(
        &self,
        at: Millis,
        measure: bool,
    ) -> Result<RetentionForecast, StoreError> {
        self.store().retention_forecast(&self.settings().retention.limits(), at, measure)
    }

    /// Returns the disk usage of the record, by purpose.
    pub fn disk_usage(&self) -> Result<DiskUsage, StoreError> {
        self.store().disk_usage()
    }

    /// Removes what exceeds the limits, and every content without a reference.
    pub fn collect_garbage(
        &self,
        at: Millis,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<GcReport, RecordError> {
        self.collect_garbage_until(at, progress, &|| false)
    }

    /// Like [`Project::collect_garbage`], so that it can be followed and cancelled: it ends between
    /// two transactions, and the report says that it is not complete.
    pub fn collect_garbage_with_control(
        &self,
        at: Millis,
        control: &OperationControl,
    ) -> Result<GcReport, RecordError> {
        control.report(OperationPhase::Removing, 0, 0);
        let report = &mut |done, all| control.report(OperationPhase::Removing, done, all);
        self.collect_garbage_until(at, report, &|| control.is_cancelled())
    }

    fn collect_garbage_until(
        &self,
        at: Millis,
        progress: &mut dyn FnMut(u64, u64),
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<GcReport, RecordError> {
        self.check_writable()?;
        // Invalid settings must not decide what is removed.
        if let Some(problem) = self.settings_problem() {
            return Err(RecordError::Settings(problem.to_string()));
        }
        let limits = self.settings().retention.limits();
        let wait = self.settings().wait.command_timeout();
        let collected =
            self.store().gc_until(&limits, at, wait, progress, is_cancelled).map_err(|error| {
                match error {
                    GcError::Busy => self.locked_error(),
                    GcError::Store(error) => error.into(),
                }
            })?;
        let RemovedRecords { dialogs, changes, checkpoints, .. } = collected.removed;
        if collected.removed.events > 0
            && let Some(_lock) = FileLock::acquire(self.store().folder(), wait)?
        {
            let batch = self.store().batch()?;
            let body =
                json!({ "dialogs": dialogs, "changes": changes, "checkpoints": checkpoints });
            record_entry(&batch, batch.next_stamp(at), JournalKind::Collected, None, body)?;
            batch.commit()?;
        }
        Ok(collected)
    }

    /// Returns the error that names the holder of the lock.
    pub(crate) fn locked_error(&self) -> RecordError {
        let owner = FileLock::owner(self.store().folder());
        RecordError::Locked(owner.map_or("unknown".to_owned(), |pid| pid.to_string()))
    }
}
