//! Maintained counts of the manifest, so that no query counts its rows.
//!
//! Invariant: the one row of `tally` agrees with the manifest in every transaction.

use retake_model::ProjectPath;
use rusqlite::OptionalExtension as _;

use crate::{Batch, Store, StoreError};

/// Counts of the manifest, or a difference of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ManifestCounts {
    /// All files.
    pub(crate) files: i64,
    /// Those that were not captured.
    pub(crate) unknown: i64,
}

impl Store {
    /// The number of paths in the manifest.
    pub fn manifest_len(&self) -> Result<u64, StoreError> {
        Ok(self.manifest_counts()?.files as u64)
    }

    fn manifest_counts(&self) -> Result<ManifestCounts, StoreError> {
        let mut query = self.db.prepare_cached("SELECT files, unknown FROM tally")?;
        Ok(query
            .query_row([], |row| Ok(ManifestCounts { files: row.get(0)?, unknown: row.get(1)? }))?)
    }
}

impl Batch<'_> {
    /// The numbers as this batch has them now.
    pub(crate) fn current_counts(&self) -> Result<ManifestCounts, StoreError> {
        let (before, since) = (self.manifest_counts()?, self.manifest_counts_delta.get());
        let (files, unknown) = (before.files + since.files, before.unknown + since.unknown);
        Ok(ManifestCounts { files, unknown })
    }

    /// Counts a path that comes into the manifest.
    pub(crate) fn add_to_counts(&self, is_unknown: bool) {
        let ManifestCounts { files, unknown } = self.manifest_counts_delta.get();
        self.manifest_counts_delta
            .set(ManifestCounts { files: files + 1, unknown: unknown + i64::from(is_unknown) });
    }

    /// Takes a path out of the count, if the manifest has it.
    pub(crate) fn remove_from_counts(&self, path: &ProjectPath) -> Result<(), StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT oid IS NULL FROM manifest WHERE path = ?1")?;
        let there: Option<bool> =
            query.query_row([path.as_bytes()], |row| row.get(0)).optional()?;
        if let Some(is_unknown) = there {
            let ManifestCounts { files, unknown } = self.manifest_counts_delta.get();
            self.manifest_counts_delta
                .set(ManifestCounts { files: files - 1, unknown: unknown - i64::from(is_unknown) });
        }
        Ok(())
    }

    /// Adds the pending differences to the table `tally`.
    pub(crate) fn write_manifest_counts(&self) -> Result<(), StoreError> {
        let ManifestCounts { files, unknown } = self.manifest_counts_delta.take();
        if (files, unknown) != (0, 0) {
            let sql = "UPDATE tally SET files = files + ?1, unknown = unknown + ?2";
            self.execute("tally", sql, [files, unknown])?;
        }
        Ok(())
    }
}
