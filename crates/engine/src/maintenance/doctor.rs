//! Checks whether everything that was acknowledged can be restored, and salvages damaged records.

use std::path::Path;
use std::time::Duration;

use retake_model::Millis;
use retake_store::{FileLock, Home, OpenPath, SalvageReport, StoreError, VerifyReport};

use crate::error::RecordError;
use crate::project::{INITIALISED_AT_KEY, Project};
use crate::retake::{ProjectError, Retake};

/// Timeout of waiting for a project's lock before a salvage.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The findings of a check-up.
#[derive(Clone, Debug)]
pub struct HealthReport {
    /// What the store found about itself.
    pub verification: VerifyReport,
    /// Bytes that are free where the store lies.
    pub free_bytes: Option<u64>,
    /// Bytes that the store takes.
    pub store_bytes: u64,
    /// Whether another folder stands at the project's path.
    pub replaced: bool,
    /// Files and folders of Retake's home that other users may reach.
    pub open_paths: Vec<OpenPath>,
}

impl Project {
    /// Checks the record; with `read_data` also every object's bytes. Repairs nothing.
    pub fn check_health(
        &self,
        read_data: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<HealthReport, StoreError> {
        Ok(HealthReport {
            verification: self.store().verify(read_data, progress)?,
            free_bytes: self.store().free_bytes(),
            store_bytes: self.store().disk_size(),
            replaced: self.is_replaced(),
            open_paths: self.open_paths_of_home(),
        })
    }
}

impl Project {
    /// The project's folder is `HOME/projects/<id>`.
    fn open_paths_of_home(&self) -> Vec<OpenPath> {
        let home = self.folder().ancestors().nth(2);
        home.map_or_else(Vec::new, |home| Home::new(home).open_paths())
    }
}

impl Retake {
    /// Copies all that can still be read of a damaged record into a new one, in its place. The
    /// damaged files are kept.
    pub fn salvage(&self, path: &Path, at: Millis) -> Result<SalvageReport, ProjectError> {
        let located = self.locate(path)?;
        let folder = located.folder();
        let Some(_lock) = FileLock::acquire(folder, LOCK_TIMEOUT)? else {
            let owner = FileLock::owner(folder).map_or("unknown".to_owned(), |pid| pid.to_string());
            return Err(RecordError::Locked(owner).into());
        };
        let salvaged = retake_store::salvage(folder, &format!("damaged-{at}"))?;
        let project = self.open(path)?;
        // Without it the next scan would record every file as new.
        if project.store().meta(INITIALISED_AT_KEY)?.is_none() && project.store().last_seq()? > 0 {
            let batch = project.store().batch()?;
            batch.set_meta(INITIALISED_AT_KEY, &at.to_be_bytes())?;
            batch.commit()?;
        }
        Ok(salvaged)
    }
}
