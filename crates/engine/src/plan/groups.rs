//! Union-find over paths that are written together or not at all.

use std::collections::HashMap;

use retake_model::ProjectPath;

/// Disjoint groups of paths.
#[derive(Debug, Default)]
pub(crate) struct PathGroups<'p>(HashMap<&'p ProjectPath, &'p ProjectPath>);

impl<'p> PathGroups<'p> {
    /// Joins the groups of two paths.
    pub(crate) fn join(&mut self, a: &'p ProjectPath, b: &'p ProjectPath) {
        let (a, b) = (self.leader(a), self.leader(b));
        if a != b {
            self.0.insert(b, a);
        }
    }

    /// Returns the representative path of a path's group.
    pub(crate) fn leader(&mut self, path: &'p ProjectPath) -> &'p ProjectPath {
        let mut leader = path;
        while let Some(above) = self.0.get(leader) {
            leader = above;
        }
        // Path compression: no chain grows long.
        let mut at = path;
        while at != leader {
            at = self.0.insert(at, leader).unwrap_or(leader);
        }
        leader
    }
}
