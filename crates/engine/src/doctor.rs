//! Can everything that was acknowledged be restored?

use retake_store::{StoreError, Verification};

use crate::project::Project;

/// The findings of a check-up.
#[derive(Clone, Debug)]
pub struct CheckUp {
    /// What the store found about itself.
    pub verification: Verification,
    /// Bytes that are free where the store lies.
    pub free_bytes: Option<u64>,
    /// Bytes that the store takes.
    pub store_bytes: u64,
    /// Whether another folder stands at the project's path.
    pub replaced: bool,
}

impl Project {
    /// Checks the record; with `read_data` also every object's bytes. Repairs nothing.
    pub fn check_up(
        &self,
        read_data: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckUp, StoreError> {
        Ok(CheckUp {
            verification: self.store().verify(read_data, progress)?,
            free_bytes: self.store().free_bytes(),
            store_bytes: self.store().disk_size(),
            replaced: self.is_replaced(),
        })
    }
}
