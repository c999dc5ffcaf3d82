//! Files that were copied or renamed from one of secrets, by the record.
//!
//! A content that a file of secrets ever had is secret under any name, and a path that such a
//! content came to, or that was renamed from one, stays so until it is deleted. The record is
//! followed from where it was left, so that a query costs what has changed since.
//!
//! Ignored files are not on record: a copy of one that was never captured is not known.

use std::collections::HashSet;

use retake_model::{ObjectId, ProjectPath};
use retake_store::{LineageStep, SizedContent, Store, StoreError};

use crate::content::secret_names::{is_sample, usually_holds_secrets};
use crate::project::Project;

/// Maximum bytes of a content that says nothing about its origin: `{}` and empty files.
const MAX_TRIVIAL_BYTES: u64 = 3;

/// What is known of secret contents, as far as the record was followed.
#[derive(Debug, Default)]
pub(crate) struct SecretLineage {
    is_loaded: bool,
    last_seq: u64,
    paths: HashSet<ProjectPath>,
    contents: HashSet<ObjectId>,
}

impl Project {
    /// Returns true if this path or content was copied or renamed from a file that usually holds
    /// secrets. Samples of such files are none.
    pub fn descends_from_secret_file(
        &self,
        path: &ProjectPath,
        content: Option<&ObjectId>,
    ) -> Result<bool, StoreError> {
        if is_sample(path) {
            return Ok(false);
        }
        let mut lineage = self.secret_lineage.borrow_mut();
        lineage.follow(&self.store)?;
        let is_secret_content = content.is_some_and(|oid| lineage.contents.contains(oid));
        Ok(is_secret_content || lineage.paths.contains(path))
    }
}

impl SecretLineage {
    fn follow(&mut self, store: &Store) -> Result<(), StoreError> {
        if !self.is_loaded {
            for content in store.contents_of_paths(&usually_holds_secrets)? {
                self.add_content(Some(content));
            }
            self.is_loaded = true;
        }
        let last_seq = self.last_seq;
        store.for_each_lineage_step(last_seq, &mut |step| self.add_step(step))
    }

    fn add_step(&mut self, step: LineageStep) {
        self.last_seq = step.seq;
        let is_secret_name =
            |path: &ProjectPath| usually_holds_secrets(path) || self.paths.contains(path);
        let is_secret_content = |content: &SizedContent| self.contents.contains(&content.oid);
        let is_secret = is_secret_name(&step.path)
            || step.old_path.as_ref().is_some_and(is_secret_name)
            || [&step.before, &step.after].into_iter().flatten().any(is_secret_content);
        if !is_secret {
            return;
        }
        self.add_content(step.before);
        self.add_content(step.after);
        if let Some(old) = &step.old_path {
            self.paths.remove(old);
        }
        if step.after.is_none() {
            self.paths.remove(&step.path);
        } else if !is_sample(&step.path) {
            self.paths.insert(step.path);
        }
    }

    fn add_content(&mut self, content: Option<SizedContent>) {
        self.contents.extend(
            content.filter(|content| content.size > MAX_TRIVIAL_BYTES).map(|content| content.oid),
        );
    }
}
