//! The scope of a review: which changes it is about.

use std::collections::BTreeSet;

use retake_model::{Actor, Change, ChangeId, DialogId, ProjectPath};
use retake_store::{ChangeFilter, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::error::OperationError;
use crate::plan::selection::Selection;
use crate::project::Project;

/// A place in the order after every change.
const NO_SEQ: u64 = i64::MAX as u64;

/// Which changes a review is about.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReviewScope {
    /// The changes.
    pub changes: ScopeChanges,
    /// Only files at or beneath these paths; empty for all.
    pub paths: Vec<ProjectPath>,
    /// Also what was approved, which is settled otherwise.
    pub approved: bool,
}

/// The changes of a scope.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum ScopeChanges {
    /// All changes of agents.
    #[default]
    AllAgents,
    /// The changes of the newest turn of which changes are in the files.
    LastTurn,
    /// The changes of agents since the person has seen everything.
    SinceSeen,
    /// The changes of agents after a place in the order.
    After(u64),
    /// Chosen changes of agents: of a message, call, dialog or agent.
    Chosen(Box<Selection>),
    /// The changes of agents and of the person.
    Everything,
}

impl ReviewScope {
    /// A scope of these changes, in all files.
    pub fn of(changes: ScopeChanges) -> Self {
        Self { changes, ..Self::default() }
    }

    /// The same scope in one file.
    #[must_use]
    pub fn in_file(&self, path: &ProjectPath) -> Self {
        Self { paths: vec![path.clone()], ..self.clone() }
    }

    /// Returns whether a path is one of the scope.
    pub(super) fn covers(&self, path: &ProjectPath) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|scope| path.is_beneath(scope))
    }
}

/// The changes of a scope that are in the files.
#[derive(Debug, Default)]
pub(super) struct FoundChanges {
    /// Oldest first, without their hunks.
    pub(super) changes: Vec<Change>,
    /// Changes that an agent outside of the scope may have made, and that are left out.
    pub(super) shared: Vec<ChangeId>,
}

impl Project {
    /// Replaces what depends on the moment (the last turn, since seen) by what it means now.
    pub fn resolve_scope(&self, scope: &ReviewScope) -> Result<ReviewScope, StoreError> {
        let changes = match &scope.changes {
            ScopeChanges::LastTurn => match self.store().turns_in_effect(1, true)?.pop() {
                Some((dialog, turn, _)) => turn_scope(dialog, turn),
                // No agent has changed anything that is in the files.
                None => ScopeChanges::After(NO_SEQ),
            },
            ScopeChanges::SinceSeen => ScopeChanges::After(self.review_seen()?),
            other => other.clone(),
        };
        Ok(ReviewScope { changes, ..scope.clone() })
    }

    /// Returns the place in the order up to which the person has seen everything.
    pub fn review_seen(&self) -> Result<u64, StoreError> {
        self.store().review_seen()
    }

    /// Finds the changes of a resolved scope that are in the files.
    pub(super) fn changes_in_scope(
        &self,
        scope: &ReviewScope,
    ) -> Result<FoundChanges, OperationError> {
        let store = self.store();
        let mut found = FoundChanges::default();
        let names = names_of_files(store, &scope.paths)?;
        match &scope.changes {
            ScopeChanges::Chosen(selection) => {
                let selected = selection.find(store)?;
                found.changes = selected.effective;
                found.shared = selected.shared.iter().map(|change| change.id).collect();
            }
            ScopeChanges::After(seq) => {
                let filter = ChangeFilter { after: Some(*seq), ..agents_filter() };
                found.changes = effective_changes(store, &filter, names.as_ref())?;
            }
            ScopeChanges::Everything => {
                let actors = vec![Actor::Agent, Actor::User, Actor::Unknown];
                let filter = ChangeFilter { actors, ..agents_filter() };
                found.changes = effective_changes(store, &filter, names.as_ref())?;
            }
            ScopeChanges::AllAgents | ScopeChanges::LastTurn | ScopeChanges::SinceSeen => {
                found.changes = effective_changes(store, &agents_filter(), names.as_ref())?;
            }
        }
        if let Some(names) = &names {
            found.changes.retain(|change| {
                names.contains(&change.path) || names.contains(change.from_path())
            });
        }
        if !scope.approved {
            found.changes.retain(|change| change.approved.is_none());
        }
        found.changes.sort_by_key(|change| change.id);
        let by_git = self.taken_back_by_git(&found.changes)?;
        found.changes.retain(|change| !by_git.contains(&change.id));
        Ok(found)
    }
}

/// The changes of one turn.
fn turn_scope(dialog: DialogId, turn: u64) -> ScopeChanges {
    let selection = Selection { dialog: Some(dialog), message: Some(turn), ..Selection::default() };
    ScopeChanges::Chosen(Box::new(selection))
}

fn agents_filter() -> ChangeFilter {
    ChangeFilter { actors: vec![Actor::Agent], oldest_first: true, ..ChangeFilter::default() }
}

/// Loads the effective changes of a filter, without their hunks: those of a long record would take
/// more memory than the rest. With names, only the changes of files with these names.
fn effective_changes(
    store: &Store,
    filter: &ChangeFilter,
    names: Option<&BTreeSet<ProjectPath>>,
) -> Result<Vec<Change>, StoreError> {
    let mut changes = Vec::new();
    let mut take = |mut change: Change| {
        if change.is_effective() {
            if let Some(lines) = &mut change.lines {
                lines.hunks = Vec::new();
            }
            changes.push(change);
        }
    };
    match names {
        None => store.for_each_change(filter, &mut take)?,
        Some(names) => {
            for name in names {
                let filter = ChangeFilter { path: Some(name.clone()), ..filter.clone() };
                store.for_each_change(&filter, &mut take)?;
            }
        }
    }
    changes.sort_by_key(|change| change.id);
    changes.dedup_by_key(|change| change.id);
    Ok(changes)
}

/// Returns the names that the files had or have, through all moves; `None` if a path may be a
/// folder, or if there are none: then all changes are looked through.
fn names_of_files(
    store: &Store,
    paths: &[ProjectPath],
) -> Result<Option<BTreeSet<ProjectPath>>, StoreError> {
    let mut names = BTreeSet::new();
    if paths.is_empty() {
        return Ok(None);
    }
    for path in paths {
        let is_file =
            store.manifest_entry(path)?.is_some() || store.last_change_of(path)?.is_some();
        if !is_file || !store.tracked_beneath(path)?.is_empty() {
            return Ok(None);
        }
        names.insert(path.clone());
    }
    let mut open: Vec<ProjectPath> = names.iter().cloned().collect();
    while let Some(name) = open.pop() {
        let filter = ChangeFilter { path: Some(name.clone()), ..ChangeFilter::default() };
        let mut linked = Vec::new();
        store.for_each_change(&filter, &mut |change| {
            if let Some(old) = change.old_path
                && (change.path == name || old == name)
            {
                linked.extend([change.path, old]);
            }
        })?;
        open.extend(linked.into_iter().filter(|other| names.insert(other.clone())));
    }
    Ok(Some(names))
}
