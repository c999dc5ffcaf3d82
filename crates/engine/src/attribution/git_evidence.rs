//! Evidence that git made a change.
//!
//! Taken from git's own record, only read: the index and the log of HEAD. A commit, or an `add`,
//! follows a person's edit and is no evidence that git made it.

use std::path::Path;
use std::sync::Arc;

use retake_model::{FileKind, PathState};
use retake_store::{Batch, StoreError};
use retake_workspace::git::{GitIndex, GitIndexEntry, GitState};

use crate::attribution::observed::ObservedChange;
use crate::attribution::repository::ProjectRepository;

/// git's actions since the last scan.
#[derive(Debug, Default)]
pub(crate) struct GitEvidence {
    /// HEAD moved by something other than a commit: a switch, rebase, reset, merge, pull.
    pub(crate) head_moved: bool,
    index_rewritten: bool,
    /// A stash was made, taken or dropped.
    stash_moved: bool,
    index: Arc<GitIndex>,
    /// The entries of HEAD's log, for the event.
    pub(crate) actions: Vec<String>,
}

impl GitEvidence {
    /// Compares git's state at the last scan with the current one, which may have read the index
    /// already.
    pub(crate) fn gather(
        root: &Path,
        old: Option<&GitState>,
        new: Option<&GitState>,
        index: Option<Arc<GitIndex>>,
    ) -> Self {
        let (Some(old), Some(new)) = (old, new) else { return Self::default() };
        let Some(repository) = ProjectRepository::find_around(root).filter(|_| old != new) else {
            return Self::default();
        };
        let actions = repository.actions_since(old.reflog_size);
        let moves = |action: &String| !action.starts_with("commit");
        Self {
            head_moved: old.head != new.head && actions.iter().any(moves),
            index_rewritten: old.index_id != new.index_id,
            stash_moved: old.stash.is_some() && new.stash.is_some() && old.stash != new.stash,
            index: index.unwrap_or_else(|| Arc::new(repository.index().unwrap_or_default())),
            actions,
        }
    }

    /// Returns true if git's record shows that it made this change.
    pub(crate) fn claims(
        &self,
        batch: &Batch<'_>,
        seen: &ObservedChange,
    ) -> Result<bool, StoreError> {
        if !self.head_moved && !self.index_rewritten && !self.stash_moved {
            return Ok(false);
        }
        let entry = self.index.entries.get(&seen.path);
        if self.head_moved {
            return Ok(match (&seen.after, entry) {
                (PathState::Absent, None) => true,
                (PathState::Known(_), Some(entry)) => matches_entry(seen, entry),
                _ => false,
            });
        }
        if self.stash_moved && self.is_stashed(batch, seen)? {
            return Ok(true);
        }
        // `git restore`, `git checkout -- x` and `git stash` bring back a content
        // that was there before; an edit that was then added is new content.
        match (&seen.after, entry) {
            (PathState::Known(state), Some(entry)) => {
                Ok(matches_entry(seen, entry) && batch.path_had_content(&seen.path, state)?)
            }
            _ => Ok(false),
        }
    }

    /// A stash takes what is not in HEAD, and brings back a content that was there before.
    fn is_stashed(&self, batch: &Batch<'_>, seen: &ObservedChange) -> Result<bool, StoreError> {
        match &seen.after {
            PathState::Absent => Ok(!self.index.entries.contains_key(&seen.path)),
            PathState::Known(state) => batch.path_had_content(&seen.path, state),
            PathState::Unknown => Ok(false),
        }
    }
}

/// The content is the entry's, or git's own stat of the file says so (filters, line endings).
fn matches_entry(seen: &ObservedChange, entry: &GitIndexEntry) -> bool {
    let Some(state) = seen.after.known() else {
        return false;
    };
    let by_stat = seen.stat.is_some_and(|stat| {
        state.kind == FileKind::File
            && stat.mtime_ns == entry.mtime_ns
            && stat.size as u32 == entry.size
    });
    state.oid == entry.oid || by_stat
}
