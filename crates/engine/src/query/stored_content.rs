//! Contents on record, read in pieces: of an id, or of a path as of the last scan.

use std::ops::Range;

use retake_model::{ObjectId, PathState, ProjectPath};
use retake_store::{StoreError, StoredContent};

use crate::project::Project;

impl Project {
    /// Finds a content in the store. It may be one that the record does not name: see
    /// [`Project::content_names`].
    pub fn stored_content(&self, oid: &ObjectId) -> Result<StoredContent, StoreError> {
        self.store().stored_content(oid)
    }

    /// Reads one piece of a content; past the last one there is none.
    pub fn read_content_piece(
        &self,
        content: &StoredContent,
        number: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.store().read_piece(content, number)
    }

    /// Reads a part of a content; the range lies in it.
    pub fn read_content_range(
        &self,
        content: &StoredContent,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        self.store().read_content_range(content, range)
    }

    /// Returns the paths that have, or had, this content; none if the record does not name it, as
    /// with most objects of a repository whose packs are borrowed.
    pub fn content_names(&self, oid: &ObjectId) -> Result<Vec<ProjectPath>, StoreError> {
        self.store().names_of_content(oid)
    }

    /// Returns true if the content was purged.
    pub fn is_purged(&self, oid: &ObjectId) -> Result<bool, StoreError> {
        self.store().is_purged(oid)
    }

    /// Returns the state of a path as of the last scan.
    pub fn recorded_state(&self, path: &ProjectPath) -> Result<PathState, StoreError> {
        let entry = self.store().manifest_entry(path)?;
        Ok(entry.map_or(PathState::Absent, |entry| entry.state.into()))
    }
}
