//! The history of paths after a change: later changes, moves, and changes by git.
//!
//! Each path is read once for a plan and cached, from the plan's oldest change on and only the
//! fields that are needed, so that the cost is linear in the number of changes.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use retake_model::{Actor, Change, ChangeId, ProjectPath};
use retake_store::{PathChangeRow, Store, StoreError};

use crate::plan::net_change::NetChange;

/// A cache of the later changes of paths that are in effect.
pub(crate) struct PathHistories<'s> {
    pub(crate) store: &'s Store,
    /// Earlier changes are not loaded.
    since: ChangeId,
    paths: RefCell<HashMap<ProjectPath, Rc<PathHistory>>>,
}

/// The changes of one path, oldest first.
struct PathHistory {
    traces: Vec<PathChangeRow>,
    /// Indices of the traces after which the path names another file: the file was moved away, or
    /// a new one was created.
    identity_changes: Vec<usize>,
    last_by_git: Option<ChangeId>,
}

impl<'s> PathHistories<'s> {
    /// Creates an empty cache for the changes after `since`.
    pub(crate) fn since(store: &'s Store, since: ChangeId) -> Self {
        Self { store, since, paths: RefCell::default() }
    }

    fn path_history(&self, path: &ProjectPath) -> Result<Rc<PathHistory>, StoreError> {
        if let Some(history) = self.paths.borrow().get(path) {
            return Ok(Rc::clone(history));
        }
        let history = Rc::new(PathHistory::of(self.store.path_changes_after(path, self.since)?));
        self.paths.borrow_mut().insert(path.clone(), Rc::clone(&history));
        Ok(history)
    }

    /// Returns the changes of a path after `since`, oldest first.
    pub(crate) fn later_traces(
        &self,
        path: &ProjectPath,
        since: ChangeId,
    ) -> Result<Vec<PathChangeRow>, StoreError> {
        let history = self.path_history(path)?;
        Ok(history.traces[history.first_after(since)..].to_vec())
    }

    /// Loads these changes; missing ones are skipped.
    pub(crate) fn changes(&self, ids: &[ChangeId]) -> Result<Vec<Change>, StoreError> {
        ids.iter().filter_map(|&id| self.store.change(id).transpose()).collect()
    }

    /// Returns the current path of the file, following later moves that are not in `set`.
    pub(crate) fn current_path(
        &self,
        net: &NetChange,
        set: &BTreeSet<ChangeId>,
    ) -> Result<ProjectPath, StoreError> {
        let (mut place, mut since) = (net.path.clone(), net.newest());
        if net.after.is_absent() {
            return Ok(place);
        }
        while let Some((to, at)) = self.next_move(&place, since, set)? {
            (place, since) = (to, at);
        }
        Ok(place)
    }

    /// Returns the next move away from a path that is not in `set`: its destination and change.
    fn next_move(
        &self,
        path: &ProjectPath,
        since: ChangeId,
        set: &BTreeSet<ChangeId>,
    ) -> Result<Option<(ProjectPath, ChangeId)>, StoreError> {
        let history = self.path_history(path)?;
        let first = history.first_after(since);
        for trace in history
            .identity_changes
            .iter()
            .filter(|&&at| at >= first)
            .map(|&at| &history.traces[at])
        {
            let Some(to) = &trace.moved_to else {
                return Ok(None); // another file has this name since
            };
            if !set.contains(&trace.change) {
                return Ok(Some((to.clone(), trace.change)));
            }
        }
        Ok(None)
    }

    /// Returns whether git changed the file since, where it was or where it is.
    pub(crate) fn git_changed(
        &self,
        net: &NetChange,
        place: &ProjectPath,
    ) -> Result<bool, StoreError> {
        let since = net.newest();
        let by_git = |path| Ok::<_, StoreError>(self.path_history(path)?.last_by_git > Some(since));
        Ok(by_git(place)? || by_git(&net.path)?)
    }
}

impl PathHistory {
    fn of(traces: Vec<PathChangeRow>) -> Self {
        let is_identity_change = |trace: &PathChangeRow| trace.moved_to.is_some() || trace.is_new;
        let by_git = |trace: &&PathChangeRow| trace.actor == Actor::Git;
        Self {
            identity_changes: (0..traces.len())
                .filter(|&at| is_identity_change(&traces[at]))
                .collect(),
            last_by_git: traces.iter().rev().find(by_git).map(|trace| trace.change),
            traces,
        }
    }

    fn first_after(&self, since: ChangeId) -> usize {
        self.traces.partition_point(|trace| trace.change <= since)
    }
}
