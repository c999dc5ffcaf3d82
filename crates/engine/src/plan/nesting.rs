//! Nested paths: a file in the place of a folder, or the other way round.

use std::collections::{HashMap, HashSet};

use retake_model::ProjectPath;

/// The paths of a set that cannot all exist as files at once, as one lies beneath another.
#[derive(Debug, Default)]
pub(crate) struct PathNesting<'p> {
    /// A path that lies beneath another one, and the outermost of those.
    above: HashMap<&'p ProjectPath, &'p ProjectPath>,
    tops: HashSet<&'p ProjectPath>,
}

impl<'p> PathNesting<'p> {
    pub(crate) fn of(paths: impl IntoIterator<Item = &'p ProjectPath>) -> Self {
        let paths: HashSet<&ProjectPath> = paths.into_iter().collect();
        let mut nesting = Self::default();
        for &path in &paths {
            let mut above = path.parent();
            while let Some(folder) = above {
                if let Some(&top) = paths.get(&folder) {
                    nesting.above.insert(path, top);
                }
                above = folder.parent();
            }
        }
        nesting.tops = nesting.above.values().copied().collect();
        nesting
    }

    /// Returns the outermost path of the set above a path.
    pub(crate) fn top(&self, path: &ProjectPath) -> Option<&'p ProjectPath> {
        self.above.get(path).copied()
    }

    /// Returns whether a path lies beneath another one, or another one beneath it.
    pub(crate) fn has(&self, path: &ProjectPath) -> bool {
        self.above.contains_key(path) || self.tops.contains(path)
    }

    /// Iterates over each path that lies beneath another one, with the outermost of those.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&'p ProjectPath, &'p ProjectPath)> {
        self.above.iter().map(|(path, top)| (*path, *top))
    }
}
