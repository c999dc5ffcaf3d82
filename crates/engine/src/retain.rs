//! Keeping the record within its limits.

use retake_model::Millis;
use retake_store::{Collected, Forecast, GcError, Limits, Lock, Meter, Removed, StoreError};
use serde_json::json;

use crate::journal::note;
use crate::project::Project;
use crate::record::RecordError;
use crate::settings::Retention;

const DAY: Millis = 24 * 60 * 60 * 1000;

impl Retention {
    /// The limits in the store's words.
    fn limits(&self) -> Limits {
        let days = |days: u32| Millis::from(days) * DAY;
        Limits {
            max_age: self.max_age_days.map(days),
            max_dialogs: self.max_dialogs,
            max_bytes: self.max_bytes,
            protect: days(self.protect_days),
        }
    }
}

impl Project {
    /// What the next collection would remove and why; `measure` also counts bytes, which takes
    /// a while.
    pub fn retention_forecast(&self, at: Millis, measure: bool) -> Result<Forecast, StoreError> {
        self.store().retention_forecast(&self.settings().retention.limits(), at, measure)
    }

    /// What the record takes on disk, and what for.
    pub fn meter(&self) -> Result<Meter, StoreError> {
        self.store().meter()
    }

    /// Removes what the limits let go, and every content that nothing names.
    pub fn collect(
        &self,
        at: Millis,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Collected, RecordError> {
        self.writable()?;
        // Settings that cannot be used say nothing about what may go.
        if let Some(problem) = self.settings_problem() {
            return Err(RecordError::Settings(problem.to_string()));
        }
        let limits = self.settings().retention.limits();
        let wait = self.settings().wait.command();
        let collected =
            self.store().gc(&limits, at, wait, progress).map_err(|error| match error {
                GcError::Busy => self.locked(),
                GcError::Store(error) => error.into(),
            })?;
        let Removed { dialogs, changes, checkpoints, .. } = collected.removed;
        if collected.removed.events > 0
            && let Some(_lock) = Lock::acquire(self.store().folder(), wait)?
        {
            let batch = self.store().batch()?;
            let body =
                json!({ "dialogs": dialogs, "changes": changes, "checkpoints": checkpoints });
            note(&batch, (batch.next_seq(), at), "collected", None, body)?;
            batch.commit()?;
        }
        Ok(collected)
    }

    /// Who holds the project.
    pub(crate) fn locked(&self) -> RecordError {
        let owner = Lock::owner(self.store().folder());
        RecordError::Locked(owner.map_or("unknown".to_owned(), |pid| pid.to_string()))
    }
}
