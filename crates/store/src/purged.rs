//! Ids of purged contents, remembered so that no scan captures them again.

use retake_model::{Millis, ObjectId};

use crate::manifest::oid_from;
use crate::{Batch, Store, StoreError};

/// A content that was purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PurgedContent {
    /// Its name.
    pub oid: ObjectId,
    /// Its length: only files of this length need to be compared.
    pub size: u64,
    /// When it was purged.
    pub at: Millis,
}

impl Store {
    /// Returns whether a content was purged.
    pub fn is_purged(&self, oid: &ObjectId) -> Result<bool, StoreError> {
        let mut query = self.db.prepare_cached("SELECT 1 FROM purged WHERE oid = ?1")?;
        Ok(query.exists([oid.as_bytes().as_slice()])?)
    }

    /// Every content that was purged. They are few.
    pub fn purged(&self) -> Result<Vec<PurgedContent>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT oid, size, at FROM purged ORDER BY oid")?;
        let mut rows = query.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (oid, size) = (oid_from(&row.get::<_, Vec<u8>>(0)?)?, row.get::<_, i64>(1)? as u64);
            found.push(PurgedContent { oid, size, at: row.get(2)? });
        }
        Ok(found)
    }
}

impl Batch<'_> {
    pub(crate) fn put_purged(&self, content: &PurgedContent) -> Result<(), StoreError> {
        self.execute(
            "put purged",
            "INSERT OR IGNORE INTO purged(oid, size, at) VALUES(?1, ?2, ?3)",
            (content.oid.as_bytes().as_slice(), content.size as i64, content.at),
        )?;
        Ok(())
    }
}
