//! What the manifest knows of the project.
//!
//! Kept by folder, because the walk asks folder by folder: one lookup per
//! folder, then one per name, without building whole paths.

use std::collections::HashMap;

use retake_model::ProjectPath;

use crate::Stat;
use crate::beneath::split;

/// Path → the stat under which its content was last hashed.
///
/// `None` as stat means that the content must be read again whatever the
/// system says (the entry is new, or racy).
#[derive(Clone, Debug, Default)]
pub struct Known {
    folders: HashMap<Box<[u8]>, Names>,
    len: usize,
}

/// The known names of one folder.
pub(crate) type Names = HashMap<Box<[u8]>, Option<Stat>>;

impl Known {
    /// Takes what the manifest holds.
    pub fn new(entries: impl IntoIterator<Item = (ProjectPath, Option<Stat>)>) -> Self {
        let mut known = Self::default();
        for (path, stat) in entries {
            known.insert(path, stat);
        }
        known
    }

    /// Adds a path, or replaces its stat.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand over a path they are done with"
    )]
    pub fn insert(&mut self, path: ProjectPath, stat: Option<Stat>) {
        let (folder, name) = split(path.as_bytes());
        let names = match self.folders.get_mut(folder) {
            Some(names) => names,
            None => self.folders.entry(folder.into()).or_default(),
        };
        if names.insert(name.into(), stat).is_none() {
            self.len += 1;
        }
    }

    /// Forgets a path.
    pub fn remove(&mut self, path: &ProjectPath) {
        let (folder, name) = split(path.as_bytes());
        let Some(names) = self.folders.get_mut(folder) else {
            return;
        };
        if names.remove(name).is_some() {
            self.len -= 1;
        }
        if names.is_empty() {
            self.folders.remove(folder);
        }
    }

    /// Whether the path is known.
    pub fn contains(&self, path: &ProjectPath) -> bool {
        self.entry(path.as_bytes()).is_some()
    }

    /// The stat that a path is known with; `None` if it is unknown or must be read again.
    pub fn stat(&self, path: &ProjectPath) -> Option<Stat> {
        self.entry(path.as_bytes()).copied().flatten()
    }

    /// How many paths are known.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn entry(&self, path: &[u8]) -> Option<&Option<Stat>> {
        let (folder, name) = split(path);
        self.folders.get(folder)?.get(name)
    }

    /// The known names of `folder` (empty: the root).
    pub(crate) fn names(&self, folder: &[u8]) -> Option<(&[u8], &Names)> {
        self.folders.get_key_value(folder).map(|(folder, names)| (&**folder, names))
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = (&[u8], &Names)> {
        self.folders.iter().map(|(folder, names)| (&**folder, names))
    }
}

/// The path of `name` in `folder` (empty: the root).
pub(crate) fn join(folder: &[u8], name: &[u8]) -> ProjectPath {
    let bytes =
        if folder.is_empty() { name.to_vec() } else { [folder, b"/".as_slice(), name].concat() };
    ProjectPath::new(bytes).expect("names come from folders or from other paths")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ProjectPath {
        text.parse().unwrap()
    }

    #[test]
    fn paths_come_and_go() {
        let mut known = Known::new([(path("a"), None), (path("d/a"), None), (path("a"), None)]);
        assert_eq!(known.len(), 2);
        assert!(known.contains(&path("d/a")) && !known.contains(&path("d")));
        known.remove(&path("d/a"));
        known.remove(&path("d/none"));
        assert_eq!(known.len(), 1);
        assert!(known.names(b"d").is_none(), "an empty folder is forgotten");
        known.remove(&path("a"));
        assert!(known.is_empty());
    }
}
