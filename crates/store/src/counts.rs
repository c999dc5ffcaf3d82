//! Maintained counts of the manifest, so that no query counts its rows.
//!
//! Invariant: the one row of `tally` agrees with the manifest in every transaction.

use retake_model::ProjectPath;
use rusqlite::OptionalExtension as _;

use crate::{Batch, Store, StoreError};

/// Counts of the manifest, or a difference of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// All files.
    pub(crate) files: i64,
    /// Those that were not captured.
    pub(crate) unknown: i64,
}

impl Store {
    /// The number of paths in the manifest.
    pub fn manifest_len(&self) -> Result<u64, StoreError> {
        Ok(self.tally()?.files as u64)
    }

    fn tally(&self) -> Result<Tally, StoreError> {
        let mut query = self.db.prepare_cached("SELECT files, unknown FROM tally")?;
        Ok(query.query_row([], |row| Ok(Tally { files: row.get(0)?, unknown: row.get(1)? }))?)
    }
}

impl Batch<'_> {
    /// The numbers as this batch has them now.
    pub(crate) fn tally_now(&self) -> Result<Tally, StoreError> {
        let (before, since) = (self.tally()?, self.counted.get());
        let (files, unknown) = (before.files + since.files, before.unknown + since.unknown);
        Ok(Tally { files, unknown })
    }

    /// Counts a path that comes into the manifest.
    pub(crate) fn count(&self, is_unknown: bool) {
        let Tally { files, unknown } = self.counted.get();
        self.counted.set(Tally { files: files + 1, unknown: unknown + i64::from(is_unknown) });
    }

    /// Takes a path out of the count, if the manifest has it.
    pub(crate) fn uncount(&self, path: &ProjectPath) -> Result<(), StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT oid IS NULL FROM manifest WHERE path = ?1")?;
        let there: Option<bool> =
            query.query_row([path.as_bytes()], |row| row.get(0)).optional()?;
        if let Some(is_unknown) = there {
            let Tally { files, unknown } = self.counted.get();
            self.counted.set(Tally { files: files - 1, unknown: unknown - i64::from(is_unknown) });
        }
        Ok(())
    }

    /// Adds the pending differences to the table `tally`.
    pub(crate) fn keep_tally(&self) -> Result<(), StoreError> {
        let Tally { files, unknown } = self.counted.take();
        if (files, unknown) != (0, 0) {
            let sql = "UPDATE tally SET files = files + ?1, unknown = unknown + ?2";
            self.execute("tally", sql, [files, unknown])?;
        }
        Ok(())
    }
}
