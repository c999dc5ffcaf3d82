//! The tree of everything that is tracked, built from the manifest.
//!
//! The id of each folder's tree is kept, and forgotten when something beneath it
//! changes, so that a checkpoint costs what changed since the last one.
//! Invariant: a kept id names a tree object that is in the store.

use std::collections::VecDeque;

use retake_model::{ObjectId, ProjectPath, Side};
use rusqlite::OptionalExtension as _;

use crate::manifest::{ManifestEntry, oid_from};
use crate::trees::{TreeEntry, encode_tree};
use crate::{Batch, Store, StoreError};

/// Rows that are read at once after a leap: often the next leap comes soon.
const SHORT_RUN: usize = 4;
/// Each run without a leap is twice as long as the one before, up to this.
const LONG_RUN: usize = 512;

/// The manifest in order, from some place on.
struct Cursor<'b> {
    store: &'b Store,
    ahead: VecDeque<ManifestEntry>,
    /// Where the rows begin that were not read yet.
    from: Vec<u8>,
    run: usize,
}

impl<'b> Cursor<'b> {
    fn new(store: &'b Store) -> Self {
        Self { store, ahead: VecDeque::new(), from: Vec::new(), run: SHORT_RUN }
    }

    fn peek(&mut self) -> Result<Option<&ManifestEntry>, StoreError> {
        if self.ahead.is_empty() {
            self.ahead = self.store.manifest_from(&self.from, self.run)?.into();
            if let Some(last) = self.ahead.back() {
                self.from = [last.path.as_bytes(), b"\0"].concat();
            }
            self.run = LONG_RUN.min(self.run * 2);
        }
        Ok(self.ahead.front())
    }

    fn pass(&mut self) {
        self.ahead.pop_front();
    }

    /// Leaps over everything beneath a folder.
    fn pass_folder(&mut self, folder: &[u8]) {
        // `0` follows `/`: the next name after everything beneath.
        let after = [folder, b"0"].concat();
        while self.ahead.front().is_some_and(|entry| entry.path.as_bytes() < after.as_slice()) {
            self.ahead.pop_front();
        }
        if self.ahead.is_empty() && self.from < after {
            (self.from, self.run) = (after, SHORT_RUN);
        }
    }
}

impl Store {
    fn kept_tree(&self, folder: &[u8]) -> Result<Option<ObjectId>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT oid FROM folder_tree WHERE path = ?1")?;
        let oid: Option<Vec<u8>> = query.query_row([folder], |row| row.get(0)).optional()?;
        // It is derived: one that cannot be understood is built anew.
        Ok(oid.and_then(|oid| oid_from(&oid).ok()))
    }
}

impl Batch<'_> {
    /// The id of the tree of everything that is tracked; its objects are in the store then.
    pub fn project_tree(&self) -> Result<ObjectId, StoreError> {
        // What changes from here on makes the trees that are kept now wrong again.
        self.forgotten.borrow_mut().clear();
        if let Some(kept) = self.kept_tree(b"")? {
            return Ok(kept);
        }
        if let Some(tree) = self.folder_tree(b"", &mut Cursor::new(self))? {
            return Ok(tree);
        }
        let empty = encode_tree(Vec::new())?;
        self.put(&empty)?;
        Ok(empty.oid)
    }

    /// The tree of the folder that the cursor has come to; `None` if nothing in it is captured,
    /// since git has no empty trees.
    fn folder_tree(
        &self,
        folder: &[u8],
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<ObjectId>, StoreError> {
        let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let mut entries = Vec::new();
        while let Some(entry) = cursor.peek()?.filter(|entry| is_beneath(entry, folder)) {
            let name = &entry.path.as_bytes()[prefix..];
            let Some(slash) = name.iter().position(|&b| b == b'/') else {
                entries.extend(TreeEntry::file(name, &Side::from(entry.stored)));
                cursor.pass();
                continue;
            };
            let inner = entry.path.as_bytes()[..prefix + slash].to_vec();
            let tree = match self.kept_tree(&inner)? {
                Some(kept) => Some(kept),
                None => self.folder_tree(&inner, cursor)?,
            };
            cursor.pass_folder(&inner);
            entries.extend(tree.map(|tree| TreeEntry::folder(&inner[prefix..], tree)));
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let tree = encode_tree(entries)?;
        self.put(&tree)?;
        self.execute(
            "keep folder tree",
            "INSERT OR REPLACE INTO folder_tree(path, oid) VALUES(?1, ?2)",
            (folder, tree.oid.as_bytes().as_slice()),
        )?;
        Ok(Some(tree.oid))
    }

    /// Forgets the kept trees of the folders above a path: something in them changes.
    pub(crate) fn forget_trees(&self, path: &ProjectPath) -> Result<(), StoreError> {
        let mut at = path.parent();
        loop {
            let folder = at.as_ref().map_or(&b""[..], ProjectPath::as_bytes);
            if !self.forgotten.borrow_mut().insert(folder.to_vec()) {
                return Ok(());
            }
            let sql = "DELETE FROM folder_tree WHERE path = ?1";
            self.execute("forget folder tree", sql, [folder])?;
            match at {
                Some(folder) => at = folder.parent(),
                None => return Ok(()),
            }
        }
    }
}

fn is_beneath(entry: &ManifestEntry, folder: &[u8]) -> bool {
    let path = entry.path.as_bytes();
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}
