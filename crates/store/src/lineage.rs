//! What the lineage of contents needs of the record: which path had which content, and came from
//! which other path.

use retake_model::{ObjectId, ProjectPath};
use rusqlite::Row;

use crate::manifest::{oid_from, path_from};
use crate::{Store, StoreError};

/// A content of a path, with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizedContent {
    /// The content.
    pub oid: ObjectId,
    /// Its bytes.
    pub size: u64,
}

/// A change, as far as the lineage of contents is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageStep {
    /// The place in the order.
    pub seq: u64,
    /// The path.
    pub path: ProjectPath,
    /// The path before a rename.
    pub old_path: Option<ProjectPath>,
    /// The content before; `None` if there was none, or none is known.
    pub before: Option<SizedContent>,
    /// The content after.
    pub after: Option<SizedContent>,
}

impl Store {
    /// Passes the changes after a place to `take`, in order.
    pub fn for_each_lineage_step(
        &self,
        after: u64,
        take: &mut dyn FnMut(LineageStep),
    ) -> Result<(), StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, path, old_path, before_oid, before_size, after_oid, after_size
             FROM change WHERE seq > ?1 ORDER BY seq",
        )?;
        let mut rows = query.query([after as i64])?;
        while let Some(row) = rows.next()? {
            let old_path: Option<Vec<u8>> = row.get(2)?;
            take(LineageStep {
                seq: row.get::<_, i64>(0)? as u64,
                path: path_from(row.get(1)?)?,
                old_path: old_path.map(path_from).transpose()?,
                before: content_of(blob(row, 3)?, row.get(4)?)?,
                after: content_of(blob(row, 5)?, row.get(6)?)?,
            });
        }
        Ok(())
    }

    /// The contents that the manifest has for wanted paths.
    pub fn contents_of_paths(
        &self,
        is_wanted: &dyn Fn(&ProjectPath) -> bool,
    ) -> Result<Vec<SizedContent>, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT path, oid, size FROM manifest WHERE oid IS NOT NULL")?;
        let mut rows = query.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            // A row without a path is none.
            if path_from(row.get(0)?).is_ok_and(|path| is_wanted(&path)) {
                found.extend(content_of(blob(row, 1)?, row.get(2)?)?);
            }
        }
        Ok(found)
    }
}

fn content_of(oid: Option<&[u8]>, size: Option<i64>) -> Result<Option<SizedContent>, StoreError> {
    let content = |oid| SizedContent { oid, size: size.unwrap_or(0) as u64 };
    Ok(oid.map(oid_from).transpose()?.map(content))
}

/// The bytes of a column; `None` if it is null.
fn blob<'a>(row: &'a Row<'_>, column: usize) -> Result<Option<&'a [u8]>, StoreError> {
    let value = row.get_ref(column)?.as_blob_or_null();
    value.map_err(|error| StoreError::Row(error.to_string()))
}
