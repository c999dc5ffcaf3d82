//! A dialog's checkpoints as an ordinary git repository, for people who know git (DBG-1).
//!
//! `export.git` is derived: it is made from the store, may be deleted at any time,
//! and nothing is ever read back from it. It holds the branches of one chain of
//! checkpoints at a time; the objects of others stay, unnamed, so that coming back
//! to them costs nothing.
//!
//! - A parent that was collected makes its child shallow, as after `git clone --depth`.
//! - A content that was purged cannot be there under its name. Its name is replaced
//!   (`refs/replace`) by a text that says so, so every id stays what it was.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use retake_model::{DialogId, ObjectId};
use rusqlite::{Transaction, TransactionBehavior};

use crate::export_repo::ExportRepo;
use crate::gc::links::EntryLink;
use crate::packs::write_pack;
use crate::{FileLock, Store, StoreError};

/// Text that replaces a purged content in the exported repository.
const PURGED_NOTE: &str = "This content was purged from the record (retake purge).\n";

/// Which checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointChain<'a> {
    /// Those of a dialog, in its work sessions.
    Dialog(&'a DialogId),
    /// Those of no dialog.
    NoDialog,
}

/// What the exported repository holds now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedRepo {
    /// The bare repository.
    pub folder: PathBuf,
    /// Its branches, by full name.
    pub refs: Vec<(String, ObjectId)>,
    /// Objects that were written this time.
    pub written: u64,
    /// Contents that are replaced because they were purged.
    pub purged: u64,
}

/// Why there is no exported repository.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is no git.
    #[error("git is not installed, or not in PATH")]
    GitMissing,
    /// A git command failed.
    #[error("git could not {act}: {stderr}")]
    Git {
        /// What it was to do.
        act: &'static str,
        /// What it said.
        stderr: String,
    },
    /// There are no checkpoints in the chain.
    #[error("there are no checkpoints {0} yet")]
    Empty(String),
    /// Another export is under way.
    #[error("another export of this project is under way and did not end in time")]
    Busy,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Where the exported repository is, or would be.
    pub fn export_folder(&self) -> PathBuf {
        self.folder().join("export.git")
    }

    /// Brings the exported repository to the newest state of a chain of checkpoints.
    pub fn export_git(
        &self,
        chain: CheckpointChain<'_>,
        wait: Duration,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ExportedRepo, ExportError> {
        let _lock = FileLock::acquire_export(self.folder(), wait)?.ok_or(ExportError::Busy)?;
        // One moment of the store, whatever is recorded or collected meanwhile.
        let _moment = Transaction::new_unchecked(&self.db, TransactionBehavior::Deferred)
            .map_err(StoreError::from)?;
        let refs = self.chain_refs(chain)?;
        let folder = self.export_folder();
        let existed = folder.exists();
        match self.export_into(&folder, &refs, progress) {
            // It is derived, so on any git error it is deleted and exported again.
            Err(ExportError::Git { act, stderr }) if existed => {
                tracing::warn!(act, stderr, "export.git is made anew");
                self.remove_export()?;
                self.export_into(&folder, &refs, progress)
            }
            other => other,
        }
    }

    /// Deletes the exported repository. The caller holds its lock.
    pub(crate) fn remove_export(&self) -> Result<(), StoreError> {
        let folder = self.export_folder();
        if std::fs::symlink_metadata(&folder).is_err() {
            return Ok(());
        }
        retake_seam::fs::remove_dir_all(&folder).map_err(StoreError::io("remove", &folder))
    }

    /// The branches of a chain; the first is the one that HEAD names.
    fn chain_refs(
        &self,
        chain: CheckpointChain<'_>,
    ) -> Result<Vec<(String, ObjectId)>, ExportError> {
        let CheckpointChain::Dialog(dialog) = chain else {
            let newest = self.newest_of_no_dialog()?;
            let newest =
                newest.ok_or_else(|| ExportError::Empty("outside of dialogs".to_owned()))?;
            return Ok(vec![("refs/heads/checkpoints".to_owned(), newest.id)]);
        };
        let sessions = self.work_sessions(dialog)?;
        let empty = || ExportError::Empty(format!("of dialog {dialog}"));
        let last = sessions.last().ok_or_else(empty)?;
        let main = last.approved_commit.unwrap_or(last.base);
        let mut refs = vec![("refs/heads/main".to_owned(), main)];
        refs.extend(sessions.iter().map(|session| (session.ref_name(), session.tip)));
        Ok(refs)
    }

    fn export_into(
        &self,
        folder: &Path,
        refs: &[(String, ObjectId)],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ExportedRepo, ExportError> {
        let bare = ExportRepo::open(folder)?;
        let found = bare.refs()?;
        let mut written = 0;
        // Refs are written last: where they are right, everything behind them is there.
        if !refs.iter().all(|wanted| found.contains(wanted)) {
            let missing = self.missing_from(&bare, refs)?;
            written = missing.objects.len() as u64;
            bare.add_shallow(&missing.shallow)?;
            if written > 0 {
                bare.import_pack(|out| write_pack(self, &missing.objects, out, progress))?;
            }
            bare.add_replacements(&missing.purged, PURGED_NOTE)?;
        }
        bare.set_branches(&found, refs)?;
        let is_replacement = |(name, _): &&(String, ObjectId)| name.starts_with("refs/replace/");
        let purged = bare.refs()?.iter().filter(is_replacement).count() as u64;
        Ok(ExportedRepo { folder: folder.to_owned(), refs: refs.to_vec(), written, purged })
    }

    /// Everything behind the refs that the repository does not have.
    fn missing_from(
        &self,
        bare: &ExportRepo,
        refs: &[(String, ObjectId)],
    ) -> Result<MissingObjects, ExportError> {
        let mut seen = bare.objects()?;
        let mut missing = MissingObjects::default();
        let mut commits: Vec<ObjectId> = refs.iter().map(|(_, oid)| *oid).collect();
        while let Some(oid) = commits.pop() {
            // Packs are imported whole: a commit that is there has everything behind it.
            if !seen.insert(oid) {
                continue;
            }
            let links = self.commit_links(&oid)?;
            missing.objects.push(oid);
            let mut gone = Vec::new();
            for parent in &links.parents {
                if !seen.contains(parent) && !self.has(parent)? {
                    gone.push(*parent);
                }
            }
            if gone.is_empty() {
                commits.extend(&links.parents);
            } else {
                missing.shallow.push(oid);
            }
            self.missing_beneath(links.tree, &mut seen, &mut missing)?;
        }
        Ok(missing)
    }

    fn missing_beneath(
        &self,
        tree: ObjectId,
        seen: &mut HashSet<ObjectId>,
        missing: &mut MissingObjects,
    ) -> Result<(), StoreError> {
        let mut trees = vec![tree];
        while let Some(tree) = trees.pop() {
            if !seen.insert(tree) {
                continue;
            }
            missing.objects.push(tree);
            for (_, link) in self.tree_links(&tree)? {
                match link {
                    EntryLink::Tree(inner) => trees.push(inner),
                    EntryLink::Blob(blob) if seen.insert(blob) => {
                        if self.has(&blob)? {
                            missing.objects.push(blob);
                        } else if self.is_purged(&blob)? {
                            missing.purged.push(blob);
                        } else {
                            return Err(StoreError::Missing(blob));
                        }
                    }
                    EntryLink::Blob(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// What the repository does not have.
#[derive(Debug, Default)]
struct MissingObjects {
    objects: Vec<ObjectId>,
    /// Commits whose parents are gone.
    shallow: Vec<ObjectId>,
    /// Contents that cannot be there.
    purged: Vec<ObjectId>,
}
