//! The stat cache: every path of the manifest, with the stat under which it was last read.
//!
//! A stored table, and a patch of what has changed since. Keyed by folder, because the
//! walk queries folder by folder: one search per folder, then one per name, without building whole
//! paths.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use retake_model::ProjectPath;

use crate::FileStat;
use crate::safe_open::split_parent;
use crate::stat_table::{StatTable, StatTableRow};

/// Path → the stat under which its content was last hashed.
///
/// `None` as stat means that the content must be read again in any case
/// (the entry is new, or racy).
#[derive(Clone, Debug)]
pub struct StatCache {
    table: Arc<StatTable>,
    /// Entries that override the table: by folder, then by name.
    patch: BTreeMap<Box<[u8]>, FolderPatch>,
}

/// Overrides of one folder; `None` is a name that was removed.
type FolderPatch = HashMap<Box<[u8]>, Option<CachedStat>>;

/// A path in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CachedStat {
    /// The stat under which it was read, if that can be relied on.
    pub(crate) stat: Option<FileStat>,
}

impl Default for StatCache {
    fn default() -> Self {
        Self { table: Arc::new(StatTable::build(&[])), patch: BTreeMap::new() }
    }
}

impl StatCache {
    /// Builds the cache from the manifest's entries; the last one of a path wins.
    pub fn new(entries: impl IntoIterator<Item = (ProjectPath, Option<FileStat>)>) -> Self {
        let mut known = Self::default();
        for (path, stat) in entries {
            known.insert(&path, stat);
        }
        known
    }

    /// Decodes a table that [`StatCache::to_bytes`] made; `None` if the bytes are not one.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        Some(Self { table: Arc::new(StatTable::from_bytes(bytes)?), patch: BTreeMap::new() })
    }

    /// Encodes the whole cache as a table to be stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.patch.is_empty() {
            return self.table.bytes().to_vec();
        }
        let mut rows: Vec<StatTableRow<'_>> = self.rows().collect();
        rows.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        StatTable::build(&rows).bytes().to_vec()
    }

    /// Adds a path, or replaces its stat.
    pub fn insert(&mut self, path: &ProjectPath, stat: Option<FileStat>) {
        self.set(path, Some(CachedStat { stat }));
    }

    /// Forgets a path.
    pub fn remove(&mut self, path: &ProjectPath) {
        self.set(path, None);
    }

    fn set(&mut self, path: &ProjectPath, entry: Option<CachedStat>) {
        let (folder, name) = split_parent(path.as_bytes());
        match self.patch.get_mut(folder) {
            Some(names) => names.insert(name.into(), entry),
            None => self.patch.entry(folder.into()).or_default().insert(name.into(), entry),
        };
    }

    /// Returns `true` if the path is in the cache.
    pub fn contains(&self, path: &ProjectPath) -> bool {
        self.entry(path.as_bytes()).is_some()
    }

    /// Returns the cached stat of a path; `None` if it is unknown or must be read again.
    pub fn stat(&self, path: &ProjectPath) -> Option<FileStat> {
        self.entry(path.as_bytes()).and_then(|entry| entry.stat)
    }

    /// Iterates over all paths, in no order.
    pub fn paths(&self) -> impl Iterator<Item = ProjectPath> {
        self.rows().map(|(folder, name, _)| join_path(folder, name))
    }

    pub(crate) fn entry(&self, path: &[u8]) -> Option<CachedStat> {
        let (folder, name) = split_parent(path);
        self.names(folder)?.get(name)
    }

    /// The cached names of `folder` (empty: the root), if there ever were some.
    pub(crate) fn names(&self, folder: &[u8]) -> Option<CachedNames<'_>> {
        if let Some(at) = self.table.find_folder(folder) {
            return Some(self.table_names(at));
        }
        let (folder, patch) = self.patch.get_key_value(folder)?;
        Some(self.patch_names(folder, patch))
    }

    /// The names of each folder.
    pub(crate) fn folders(&self) -> impl Iterator<Item = CachedNames<'_>> {
        let new = self.patch.iter().filter(|(folder, _)| self.table.find_folder(folder).is_none());
        let kept = self.table.folders().map(|at| self.table_names(at));
        kept.chain(new.map(|(folder, patch)| self.patch_names(folder, patch)))
    }

    fn table_names(&self, at: usize) -> CachedNames<'_> {
        let (flat, folder, range) = (&*self.table, self.table.folder(at), self.table.names(at));
        let patch = if self.patch.is_empty() { None } else { self.patch.get(folder) };
        CachedNames { folder, table: flat, range, patch }
    }

    fn patch_names<'k>(&'k self, folder: &'k [u8], patch: &'k FolderPatch) -> CachedNames<'k> {
        CachedNames { folder, table: &self.table, range: 0..0, patch: Some(patch) }
    }

    fn rows(&self) -> impl Iterator<Item = StatTableRow<'_>> {
        self.folders().flat_map(|names| {
            let folder = names.folder;
            names.rows().map(move |(name, stat)| (folder, name, stat))
        })
    }
}

/// The cached names of one folder.
pub(crate) struct CachedNames<'k> {
    pub(crate) folder: &'k [u8],
    table: &'k StatTable,
    range: Range<usize>,
    patch: Option<&'k FolderPatch>,
}

impl<'k> CachedNames<'k> {
    /// Returns the entry of a name.
    pub(crate) fn get(&self, name: &[u8]) -> Option<CachedStat> {
        if let Some(entry) = self.patch.and_then(|patch| patch.get(name)) {
            return *entry;
        }
        self.table.find_name(&self.range, name).map(|at| CachedStat { stat: self.table.stat(at) })
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        match self.patch {
            None => self.range.len(),
            Some(_) => self.rows().count(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'k [u8]> + use<'k> {
        self.rows().map(|(name, _)| name)
    }

    fn rows(&self) -> impl Iterator<Item = (&'k [u8], Option<FileStat>)> + use<'k> {
        let (flat, patch) = (self.table, self.patch);
        let patched = move |name: &[u8]| patch.is_some_and(|patch| patch.contains_key(name));
        let kept = self.range.clone().map(|at| (flat.name(at), flat.stat(at)));
        let new = patch.into_iter().flatten();
        kept.filter(move |(name, _)| !patched(name))
            .chain(new.filter_map(|(name, entry)| Some((&**name, (*entry)?.stat))))
    }
}

/// The path of `name` in `folder` (empty: the root).
pub(crate) fn join_path(folder: &[u8], name: &[u8]) -> ProjectPath {
    let bytes =
        if folder.is_empty() { name.to_vec() } else { [folder, b"/".as_slice(), name].concat() };
    ProjectPath::new(bytes).expect("names come from folders or from other paths")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StatKind;

    fn path(text: &str) -> ProjectPath {
        text.parse().unwrap()
    }

    fn all(known: &StatCache) -> Vec<(String, Option<u64>)> {
        let size = |path: &ProjectPath| known.stat(path).map(|stat| stat.size);
        let mut all: Vec<_> = known.paths().map(|path| (path.to_string(), size(&path))).collect();
        all.sort();
        all
    }

    #[test]
    fn paths_come_and_go_on_top_of_a_table() {
        let stat = |size| {
            let (mtime_ns, ctime_ns, inode) = (1, 2, 3);
            Some(FileStat { kind: StatKind::File, mode: 0o644, size, mtime_ns, ctime_ns, inode })
        };
        let names = ["a", "d/a", "d/b", "d/e/a", "d-x", "z/a"];
        let known = StatCache::new(names.map(|name| (path(name), stat(1))));
        let mut known = StatCache::from_bytes(known.to_bytes()).unwrap();
        known.insert(&path("a"), stat(2));
        known.insert(&path("d/b"), None);
        known.insert(&path("d/c"), stat(3));
        known.insert(&path("new/a"), stat(4));
        for gone in ["d/a", "z/a", "none", "d/none"] {
            known.remove(&path(gone));
            assert!(!known.contains(&path(gone)));
        }
        let expected = [
            ("a", Some(2)),
            ("d-x", Some(1)),
            ("d/b", None),
            ("d/c", Some(3)),
            ("d/e/a", Some(1)),
            ("new/a", Some(4)),
        ];
        let expected = expected.map(|(name, size)| (name.to_owned(), size));
        assert_eq!(all(&known), expected);
        assert_eq!(known.names(b"d").unwrap().len(), 2);
        assert_eq!(known.names(b"z").unwrap().len(), 0);
        assert!(known.names(b"none/at/all").is_none() && !known.contains(&path("d")));
        let kept = StatCache::from_bytes(known.to_bytes()).unwrap();
        assert_eq!(all(&kept), expected);
        assert!(kept.names(b"z").is_none(), "what is empty is not kept");
    }
}
