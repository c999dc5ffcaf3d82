//! The tree of everything that is tracked, built from the manifest.
//!
//! The id of each folder's tree is kept, and forgotten when something beneath it
//! changes, so that a checkpoint costs what changed since the last one.
//! Invariant: a kept id names a tree object that is in the store.

use retake_model::{ObjectId, ProjectPath, Side};
use rusqlite::OptionalExtension as _;

use crate::manifest::{ManifestEntry, oid_from};
use crate::trees::{TreeEntry, encode_tree};
use crate::{Batch, Store, StoreError};

/// Rows that are read at once; a folder within a folder ends a run.
const RUN: i64 = 256;

impl Store {
    /// How many files the manifest has that were not captured.
    pub fn unknown_files(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM manifest WHERE oid IS NULL";
        Ok(self.db.query_row(sql, [], |row| row.get::<_, i64>(0))? as u64)
    }

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
        if let Some(tree) = self.folder_tree(b"")? {
            return Ok(tree);
        }
        let empty = encode_tree(Vec::new())?;
        self.put(&empty)?;
        Ok(empty.oid)
    }

    /// The tree of one folder; `None` if nothing in it is captured, since git has no empty trees.
    fn folder_tree(&self, folder: &[u8]) -> Result<Option<ObjectId>, StoreError> {
        if let Some(kept) = self.kept_tree(folder)? {
            return Ok(Some(kept));
        }
        let entries = self.folder_entries(folder)?;
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

    fn folder_entries(&self, folder: &[u8]) -> Result<Vec<TreeEntry>, StoreError> {
        let prefix = if folder.is_empty() { Vec::new() } else { [folder, b"/"].concat() };
        let mut entries = Vec::new();
        let mut from = prefix.clone();
        loop {
            let run = self.manifest_run(&from, folder, RUN)?;
            let Some(last) = run.last() else { return Ok(entries) };
            from = [last.path.as_bytes(), b"\0"].concat();
            for entry in &run {
                let name = &entry.path.as_bytes()[prefix.len()..];
                match name.iter().position(|&b| b == b'/') {
                    None => entries.extend(TreeEntry::file(name, &Side::from(entry.stored))),
                    Some(slash) => {
                        let inner = &entry.path.as_bytes()[..prefix.len() + slash];
                        let tree = self.folder_tree(inner)?;
                        entries.extend(tree.map(|tree| TreeEntry::folder(&name[..slash], tree)));
                        // `0` follows `/`: the next name after everything beneath.
                        from = [inner, b"0"].concat();
                        break;
                    }
                }
            }
        }
    }

    fn manifest_run(
        &self,
        from: &[u8],
        folder: &[u8],
        limit: i64,
    ) -> Result<Vec<ManifestEntry>, StoreError> {
        let run = self.manifest_from(from, limit)?;
        let beneath = |entry: &ManifestEntry| {
            folder.is_empty()
                || entry.path.as_bytes().strip_prefix(folder).is_some_and(|rest| rest[0] == b'/')
        };
        Ok(run.into_iter().take_while(beneath).collect())
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
