//! The history of paths after a change: later changes, moves, and changes by git.
//!
//! Each path is read once for a plan and cached, from the plan's oldest change on and only the
//! fields that are needed, so that the cost is linear in the number of changes.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use retake_model::{Actor, Change, ChangeId, ProjectPath};
use retake_store::{Store, StoreError, Trace};

use crate::plan::draft::Net;

/// A cache of the later changes of paths that are in effect.
pub(crate) struct Past<'s> {
    pub(crate) store: &'s Store,
    /// Earlier changes are not loaded.
    since: ChangeId,
    paths: RefCell<HashMap<ProjectPath, Rc<PathPast>>>,
}

/// The changes of one path, oldest first.
struct PathPast {
    traces: Vec<Trace>,
    /// Indices of the traces after which the path names another file: the file was moved away, or
    /// a new one was created.
    turns: Vec<usize>,
    last_by_git: Option<ChangeId>,
}

impl<'s> Past<'s> {
    /// Creates an empty cache for the changes after `since`.
    pub(crate) fn since(store: &'s Store, since: ChangeId) -> Self {
        Self { store, since, paths: RefCell::default() }
    }

    fn of(&self, path: &ProjectPath) -> Result<Rc<PathPast>, StoreError> {
        if let Some(past) = self.paths.borrow().get(path) {
            return Ok(Rc::clone(past));
        }
        let past = Rc::new(PathPast::of(self.store.traces(path, self.since)?));
        self.paths.borrow_mut().insert(path.clone(), Rc::clone(&past));
        Ok(past)
    }

    /// Returns the changes of a path after `since`, oldest first.
    pub(crate) fn later(
        &self,
        path: &ProjectPath,
        since: ChangeId,
    ) -> Result<Vec<Trace>, StoreError> {
        let past = self.of(path)?;
        Ok(past.traces[past.first_after(since)..].to_vec())
    }

    /// Loads these changes; missing ones are skipped.
    pub(crate) fn changes(&self, ids: &[ChangeId]) -> Result<Vec<Change>, StoreError> {
        ids.iter().filter_map(|&id| self.store.change(id).transpose()).collect()
    }

    /// Returns the current path of the file, following later moves that are not in `set`.
    pub(crate) fn whereabouts(
        &self,
        net: &Net,
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
        let past = self.of(path)?;
        let first = past.first_after(since);
        for trace in past.turns.iter().filter(|&&at| at >= first).map(|&at| &past.traces[at]) {
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
    pub(crate) fn git_changed(&self, net: &Net, place: &ProjectPath) -> Result<bool, StoreError> {
        let since = net.newest();
        let by_git = |path| Ok::<_, StoreError>(self.of(path)?.last_by_git > Some(since));
        Ok(by_git(place)? || by_git(&net.path)?)
    }
}

impl PathPast {
    fn of(traces: Vec<Trace>) -> Self {
        let turns = |trace: &Trace| trace.moved_to.is_some() || trace.is_new;
        let by_git = |trace: &&Trace| trace.actor == Actor::Git;
        Self {
            turns: (0..traces.len()).filter(|&at| turns(&traces[at])).collect(),
            last_by_git: traces.iter().rev().find(by_git).map(|trace| trace.change),
            traces,
        }
    }

    fn first_after(&self, since: ChangeId) -> usize {
        self.traces.partition_point(|trace| trace.change <= since)
    }
}
