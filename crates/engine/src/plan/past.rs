//! What became of a path after a change: later changes, moves, and what git did.
//!
//! Each path's history is read once for a plan, so that thousands of changes of one
//! file cost what they are.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use retake_model::{Actor, Change, ChangeId, ProjectPath};
use retake_store::{ChangeFilter, Store, StoreError};

use crate::plan::draft::Net;

/// The histories of paths, as far as they are in effect.
pub(crate) struct Past<'s> {
    pub(crate) store: &'s Store,
    paths: RefCell<HashMap<ProjectPath, Rc<PathPast>>>,
}

/// One path's changes that are in effect, oldest first.
struct PathPast {
    changes: Vec<Change>,
    /// The changes after which the name stands for another file, as indices: it was moved away,
    /// or made anew.
    turns: Vec<usize>,
    last_by_git: Option<ChangeId>,
}

impl<'s> Past<'s> {
    pub(crate) fn new(store: &'s Store) -> Self {
        Self { store, paths: RefCell::default() }
    }

    fn of(&self, path: &ProjectPath) -> Result<Rc<PathPast>, StoreError> {
        if let Some(past) = self.paths.borrow().get(path) {
            return Ok(Rc::clone(past));
        }
        let past = Rc::new(PathPast::read(self.store, path)?);
        self.paths.borrow_mut().insert(path.clone(), Rc::clone(&past));
        Ok(past)
    }

    /// The changes of a path after another one, oldest first.
    pub(crate) fn later(
        &self,
        path: &ProjectPath,
        since: ChangeId,
    ) -> Result<Vec<Change>, StoreError> {
        let past = self.of(path)?;
        Ok(past.changes[past.first_after(since)..].to_vec())
    }

    /// Where the file is now: moves that came later and stay are followed.
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

    /// The next move away from a path that stays: where to, and which change it is.
    fn next_move(
        &self,
        path: &ProjectPath,
        since: ChangeId,
        set: &BTreeSet<ChangeId>,
    ) -> Result<Option<(ProjectPath, ChangeId)>, StoreError> {
        let past = self.of(path)?;
        let first = past.first_after(since);
        for change in past.turns.iter().filter(|&&at| at >= first).map(|&at| &past.changes[at]) {
            if change.path == *path {
                return Ok(None); // another file has this name since
            }
            if !set.contains(&change.id) {
                return Ok(Some((change.path.clone(), change.id)));
            }
        }
        Ok(None)
    }

    /// Whether git changed the file since, where it was or where it is.
    pub(crate) fn git_changed(&self, net: &Net, place: &ProjectPath) -> Result<bool, StoreError> {
        let since = net.newest();
        let by_git = |path| Ok::<_, StoreError>(self.of(path)?.last_by_git > Some(since));
        Ok(by_git(place)? || by_git(&net.path)?)
    }
}

impl PathPast {
    fn read(store: &Store, path: &ProjectPath) -> Result<Self, StoreError> {
        let filter = ChangeFilter {
            path: Some(path.clone()),
            oldest_first: true,
            ..ChangeFilter::default()
        };
        let mut changes = store.changes(&filter)?;
        let is_it = |other: &ProjectPath| other == path;
        changes.retain(|change| {
            (is_it(&change.path) || change.old_path.as_ref().is_some_and(is_it))
                && change.is_effective()
        });
        let turns = |change: &Change| {
            let is_new = change.old_path.is_none() && change.before.is_absent();
            !is_it(&change.path) || is_new
        };
        let by_git = |change: &&Change| change.actor == Actor::Git;
        Ok(Self {
            turns: (0..changes.len()).filter(|&at| turns(&changes[at])).collect(),
            last_by_git: changes.iter().rev().find(by_git).map(|change| change.id),
            changes,
        })
    }

    fn first_after(&self, since: ChangeId) -> usize {
        self.changes.partition_point(|change| change.id <= since)
    }
}
