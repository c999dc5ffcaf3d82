//! The files of a checkpoint: one path, one folder, or everything beneath it in pages.
//!
//! Invariant: entries come in git's order, in which a folder sorts as if its name ended with a
//! slash. So files in a recursive list are in the order of their paths' bytes, and a page can go on
//! after any of them.

use retake_model::{Checkpoint, FileKind, FileState, ObjectId, ProjectPath};
use retake_store::{FolderEntry, FolderEntryKind, StoreError};

use crate::project::Project;

/// Which entries of a checkpoint are listed.
#[derive(Clone, Copy, Debug)]
pub struct TreeQuery<'a> {
    /// The folder; the root if there is none.
    pub folder: Option<&'a ProjectPath>,
    /// Lists the files of all folders beneath it instead of its own entries.
    pub recursive: bool,
    /// The place after which the page begins: the `next` of the page before.
    pub after: Option<&'a [u8]>,
    /// Maximum number of entries.
    pub limit: usize,
}

/// A page of the entries of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointTree {
    /// The entries.
    pub entries: Vec<CheckpointEntry>,
    /// The place after which the next page begins; none after the last one.
    pub next: Option<Vec<u8>>,
}

/// A path in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointEntry {
    /// The path.
    pub path: ProjectPath,
    /// File or link; none for a folder.
    pub kind: Option<FileKind>,
    /// The permission bits; of a file git keeps only whether its owner may execute it.
    pub mode: Option<u32>,
    /// The content, or the tree of the folder.
    pub oid: ObjectId,
    /// The content's length; none for a folder, and for a content that is not in the store.
    pub size: Option<u64>,
}

impl Project {
    /// Returns a page of a folder of a checkpoint; `None` if it has no such folder.
    pub fn checkpoint_tree(
        &self,
        checkpoint: &Checkpoint,
        query: &TreeQuery<'_>,
    ) -> Result<Option<CheckpointTree>, StoreError> {
        let tree = match query.folder {
            None => checkpoint.tree,
            Some(folder) => match self.entry_at(checkpoint, folder)? {
                Some(entry) if entry.kind == FolderEntryKind::Folder => entry.oid,
                _ => return Ok(None),
            },
        };
        let mut walk = TreeWalk { project: self, query, entries: Vec::new(), is_full: false };
        walk.list(&tree, query.folder)?;
        let TreeWalk { entries, is_full, .. } = walk;
        let next = entries.last().filter(|_| is_full).map(order_of);
        Ok(Some(CheckpointTree { entries, next }))
    }

    /// Returns the state of a file in a checkpoint; `None` if it has no such file.
    pub fn checkpoint_file(
        &self,
        checkpoint: &Checkpoint,
        path: &ProjectPath,
    ) -> Result<Option<FileState>, StoreError> {
        let Some(FolderEntry { kind: FolderEntryKind::File(kind, mode), oid, .. }) =
            self.entry_at(checkpoint, path)?
        else {
            return Ok(None);
        };
        let size = self.store().content_size(&oid)?.unwrap_or(0);
        Ok(Some(FileState { kind, mode, oid, size }))
    }

    fn entry_at(
        &self,
        checkpoint: &Checkpoint,
        path: &ProjectPath,
    ) -> Result<Option<FolderEntry>, StoreError> {
        let mut tree = checkpoint.tree;
        let mut components = path.components().peekable();
        while let Some(name) = components.next() {
            let entries = self.store().folder_entries(&tree)?;
            let Some(entry) = entries.into_iter().find(|entry| entry.name == name) else {
                return Ok(None);
            };
            match (components.peek(), entry.kind) {
                (None, _) => return Ok(Some(entry)),
                (Some(_), FolderEntryKind::Folder) => tree = entry.oid,
                (Some(_), FolderEntryKind::File(..)) => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// Collects a page, and notes whether another entry follows it.
struct TreeWalk<'a> {
    project: &'a Project,
    query: &'a TreeQuery<'a>,
    entries: Vec<CheckpointEntry>,
    is_full: bool,
}

impl TreeWalk<'_> {
    fn list(&mut self, tree: &ObjectId, folder: Option<&ProjectPath>) -> Result<(), StoreError> {
        for entry in self.project.store().folder_entries(tree)? {
            if self.is_full {
                return Ok(());
            }
            let path = match folder {
                Some(folder) => folder.child(&entry.name),
                None => ProjectPath::new(entry.name.clone()),
            };
            let path = path.map_err(|error| StoreError::Row(error.to_string()))?;
            if self.query.recursive && entry.kind == FolderEntryKind::Folder {
                if self.may_hold_more(&path) {
                    self.list(&entry.oid, Some(&path))?;
                }
            } else {
                self.add(path, &entry)?;
            }
        }
        Ok(())
    }

    /// Returns true if something in the folder comes after the place where the page begins.
    fn may_hold_more(&self, folder: &ProjectPath) -> bool {
        let start = [folder.as_bytes(), b"/"].concat();
        self.query.after.is_none_or(|after| after.starts_with(&start) || start.as_slice() > after)
    }

    fn add(&mut self, path: ProjectPath, entry: &FolderEntry) -> Result<(), StoreError> {
        let (kind, mode) = match entry.kind {
            FolderEntryKind::File(kind, mode) => (Some(kind), Some(mode)),
            FolderEntryKind::Folder => (None, None),
        };
        let mut listed = CheckpointEntry { path, kind, mode, oid: entry.oid, size: None };
        if self.query.after.is_some_and(|after| order_of(&listed).as_slice() <= after) {
            return Ok(());
        }
        if self.entries.len() == self.query.limit {
            self.is_full = true;
            return Ok(());
        }
        if kind.is_some() {
            listed.size = self.project.store().content_size(&entry.oid)?;
        }
        self.entries.push(listed);
        Ok(())
    }
}

/// The entry's place in git's order.
fn order_of(entry: &CheckpointEntry) -> Vec<u8> {
    let end: &[u8] = if entry.kind.is_none() { b"/" } else { b"" };
    [entry.path.as_bytes(), end].concat()
}
