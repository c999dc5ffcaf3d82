//! Cache of git trees: builds the project's tree incrementally from the manifest.
//!
//! The id of each folder's tree is cached. When an entry of the manifest changes, its name is
//! recorded in its folder, and the folder in its parent: the next tree is the cached one with
//! these names looked up again. So a checkpoint costs what changed, not the size of the folder.
//! Invariants: a cached id names a tree object that is in the store. A cached tree agrees with the
//! manifest but for the recorded names; a folder with such names is recorded in its parent.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use retake_model::{ObjectId, PathState, ProjectPath};
use rusqlite::OptionalExtension as _;

use crate::manifest::{ManifestEntry, oid_from};
use crate::trees::{TreeEntry, decode_tree, encode_tree};
use crate::{Batch, Store, StoreError};

/// Rows read at once after a skip: often the next skip comes soon.
const MIN_RUN_ROWS: usize = 4;
/// Maximum rows of a run; each run without a skip is twice as long as the one before.
const MAX_RUN_ROWS: usize = 512;

/// Maximum changed names of a folder; beyond it the tree is built from the manifest.
const MAX_MOVED_NAMES: usize = 256;

/// Names that a batch has recorded as changed in a folder.
#[derive(Debug)]
pub(crate) enum MovedNames {
    /// None: its tree is not cached.
    NotCached,
    /// These names, and earlier ones may have noted more.
    Names(HashSet<Vec<u8>>),
}

/// Reads the manifest in order of path, in runs of growing length.
struct ManifestCursor<'b> {
    store: &'b Store,
    ahead: VecDeque<ManifestEntry>,
    /// Where the rows begin that were not read yet.
    from: Vec<u8>,
    run_rows: usize,
}

impl<'b> ManifestCursor<'b> {
    /// At the first entry of a folder.
    fn at(store: &'b Store, folder: &[u8]) -> Self {
        let from = if folder.is_empty() { Vec::new() } else { [folder, b"/"].concat() };
        Self { store, ahead: VecDeque::new(), from, run_rows: MIN_RUN_ROWS }
    }

    fn peek(&mut self) -> Result<Option<&ManifestEntry>, StoreError> {
        if self.ahead.is_empty() {
            self.ahead = self.store.manifest_from(&self.from, self.run_rows)?.into();
            if let Some(last) = self.ahead.back() {
                self.from = [last.path.as_bytes(), b"\0"].concat();
            }
            self.run_rows = MAX_RUN_ROWS.min(self.run_rows * 2);
        }
        Ok(self.ahead.front())
    }

    fn advance(&mut self) {
        self.ahead.pop_front();
    }

    /// Skips everything beneath a folder.
    fn skip_folder(&mut self, folder: &[u8]) {
        // `0` follows `/`: the next name after everything beneath.
        let after = [folder, b"0"].concat();
        while self.ahead.front().is_some_and(|entry| entry.path.as_bytes() < after.as_slice()) {
            self.ahead.pop_front();
        }
        if self.ahead.is_empty() && self.from < after {
            (self.from, self.run_rows) = (after, MIN_RUN_ROWS);
        }
    }
}

impl Store {
    fn cached_tree(&self, folder: &[u8]) -> Result<Option<ObjectId>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT oid FROM folder_tree WHERE path = ?1")?;
        let oid: Option<Vec<u8>> = query.query_row([folder], |row| row.get(0)).optional()?;
        // It is derived: a damaged one is rebuilt.
        Ok(oid.and_then(|oid| oid_from(&oid).ok()))
    }
}

impl Store {
    fn moved_names(&self) -> Result<HashMap<Vec<u8>, HashSet<Vec<u8>>>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT folder, name FROM moved")?;
        let mut rows = query.query([])?;
        let mut moved: HashMap<_, HashSet<_>> = HashMap::new();
        while let Some(row) = rows.next()? {
            moved.entry(row.get(0)?).or_default().insert(row.get(1)?);
        }
        Ok(moved)
    }
}

impl Batch<'_> {
    /// The id of the tree of everything that is tracked; its objects are in the store then.
    pub fn project_tree(&self) -> Result<ObjectId, StoreError> {
        // Changes from here on invalidate the trees that are cached now.
        self.moved_in_folders.borrow_mut().clear();
        let mut builder = TreeBuilder { batch: self, moved: self.moved_names()? };
        if let (true, Some(cached)) = (builder.moved.is_empty(), self.cached_tree(b"")?) {
            return Ok(cached);
        }
        let tree = builder.tree(b"", &mut ManifestCursor::at(self, b""))?;
        // Folders that were not visited no longer exist.
        for folder in builder.moved.keys() {
            self.evict_tree(folder)?;
        }
        self.execute("forget moved names", "DELETE FROM moved", [])?;
        if let Some(tree) = tree {
            return Ok(tree);
        }
        let empty = encode_tree(Vec::new())?;
        self.put_object(&empty)?;
        Ok(empty.oid)
    }

    /// Records that the manifest's entry of a path changes.
    pub(crate) fn record_moved(&self, path: &ProjectPath) -> Result<(), StoreError> {
        let mut path = path.as_bytes();
        loop {
            let (folder, name) = match path.iter().rposition(|&b| b == b'/') {
                Some(slash) => (&path[..slash], &path[slash + 1..]),
                None => (&b""[..], path),
            };
            if !self.record_moved_name(folder, name)? || folder.is_empty() {
                return Ok(());
            }
            path = folder;
        }
    }

    /// Records a name in a folder; `false` if the folder is already recorded in its parent.
    fn record_moved_name(&self, folder: &[u8], name: &[u8]) -> Result<bool, StoreError> {
        let mut moved = self.moved_in_folders.borrow_mut();
        let (is_new, here) = match moved.entry(folder.to_vec()) {
            Entry::Occupied(entry) => (false, entry.into_mut()),
            Entry::Vacant(entry) => {
                let is_kept = self.cached_tree(folder)?.is_some();
                let needed = is_kept.then(|| MovedNames::Names(HashSet::new()));
                (true, entry.insert(needed.unwrap_or(MovedNames::NotCached)))
            }
        };
        if let MovedNames::Names(names) = here
            && names.insert(name.to_vec())
        {
            if names.len() > MAX_MOVED_NAMES {
                *here = MovedNames::NotCached;
                self.evict_tree(folder)?;
            } else {
                let sql = "INSERT OR IGNORE INTO moved(folder, name) VALUES(?1, ?2)";
                self.execute("note moved name", sql, (folder, name))?;
            }
        }
        Ok(is_new)
    }

    fn cache_tree(&self, folder: &[u8], tree: ObjectId) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO folder_tree(path, oid) VALUES(?1, ?2)";
        self.execute("keep folder tree", sql, (folder, tree.as_bytes().as_slice()))?;
        Ok(())
    }

    fn evict_tree(&self, folder: &[u8]) -> Result<(), StoreError> {
        let sql = "DELETE FROM folder_tree WHERE path = ?1";
        self.execute("forget folder tree", sql, [folder])?;
        Ok(())
    }
}

/// Brings the cached trees of a project up to date.
struct TreeBuilder<'b> {
    batch: &'b Batch<'b>,
    /// Changed names in the folders that were not visited yet.
    moved: HashMap<Vec<u8>, HashSet<Vec<u8>>>,
}

impl<'b> TreeBuilder<'b> {
    /// The tree of a folder, at whose first entry the cursor is; `None` if nothing in it is
    /// captured, since git has no empty trees.
    fn tree(
        &mut self,
        folder: &[u8],
        cursor: &mut ManifestCursor<'b>,
    ) -> Result<Option<ObjectId>, StoreError> {
        let entries = match (self.batch.cached_tree(folder)?, self.moved.remove(folder)) {
            (Some(cached), None) => return Ok(Some(cached)),
            (Some(cached), Some(names)) => match self.patch_entries(folder, &cached, &names)? {
                Some(entries) => entries,
                None => self.build_entries(folder, cursor)?,
            },
            (None, _) => self.build_entries(folder, cursor)?,
        };
        if entries.is_empty() {
            self.batch.evict_tree(folder)?;
            return Ok(None);
        }
        let tree = encode_tree(entries)?;
        self.batch.put_object(&tree)?;
        self.batch.cache_tree(folder, tree.oid)?;
        Ok(Some(tree.oid))
    }

    /// Entries of a cached tree with some names looked up again; `None` if it cannot be read.
    fn patch_entries(
        &mut self,
        folder: &[u8],
        cached: &ObjectId,
        names: &HashSet<Vec<u8>>,
    ) -> Result<Option<Vec<TreeEntry>>, StoreError> {
        let Some(bytes) = self.batch.read_if_intact(cached)? else { return Ok(None) };
        let Some(mut entries) = decode_tree(&bytes) else { return Ok(None) };
        entries.retain(|entry| !names.contains(entry.name()));
        for name in names {
            let path = if folder.is_empty() { name.clone() } else { [folder, b"/", name].concat() };
            entries.extend(self.entry(name, &path)?);
        }
        Ok(Some(entries))
    }

    /// The current tree entry of a path.
    fn entry(&mut self, name: &[u8], path: &[u8]) -> Result<Option<TreeEntry>, StoreError> {
        let first = self.batch.manifest_from(path, 1)?;
        if let Some(file) = first.first().filter(|entry| entry.path.as_bytes() == path) {
            return Ok(TreeEntry::file(name, &PathState::from(file.state)));
        }
        let mut cursor = ManifestCursor::at(self.batch, path);
        if !cursor.peek()?.is_some_and(|entry| is_beneath(entry, path)) {
            return Ok(None);
        }
        Ok(self.tree(path, &mut cursor)?.map(|tree| TreeEntry::folder(name, tree)))
    }

    /// Builds a folder's entries from the manifest.
    fn build_entries(
        &mut self,
        folder: &[u8],
        cursor: &mut ManifestCursor<'b>,
    ) -> Result<Vec<TreeEntry>, StoreError> {
        let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let mut entries = Vec::new();
        while let Some(entry) = cursor.peek()?.filter(|entry| is_beneath(entry, folder)) {
            let name = &entry.path.as_bytes()[prefix..];
            let Some(slash) = name.iter().position(|&b| b == b'/') else {
                entries.extend(TreeEntry::file(name, &PathState::from(entry.state)));
                cursor.advance();
                continue;
            };
            let inner = entry.path.as_bytes()[..prefix + slash].to_vec();
            let tree = self.tree(&inner, cursor)?;
            cursor.skip_folder(&inner);
            entries.extend(tree.map(|tree| TreeEntry::folder(&inner[prefix..], tree)));
        }
        Ok(entries)
    }
}

fn is_beneath(entry: &ManifestEntry, folder: &[u8]) -> bool {
    let path = entry.path.as_bytes();
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}
