//! Net changes: what several changes in a row made of a file in all.
//!
//! Invariants: where something else changed a file in between, its changes before and after that
//! are apart, so that no actor's lines appear as another's. A file that ends as it began is left
//! out; one that was created and then renamed was created there. The list is in the order of paths.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use retake_model::{Change, ChangeId, ChangeType, PathState, ProjectPath};
use retake_store::{ChangeFilter, StoreError};

use crate::content::line_rules::DiffOptions;
use crate::project::Project;
use crate::query::status::FileDiff;

/// What one or several changes in a row made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetFileChange {
    /// The path before.
    pub old_path: ProjectPath,
    /// The path after.
    pub path: ProjectPath,
    /// The state before.
    pub before: PathState,
    /// The state after.
    pub after: PathState,
    /// The first of the changes.
    pub first: ChangeId,
    /// The last of them.
    pub last: ChangeId,
    /// How many they are.
    pub changes: u64,
    /// Lines added and removed, where the record knows them: of a single change.
    pub lines: Option<LineCounts>,
}

/// Lines added and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

impl From<&Change> for NetFileChange {
    fn from(change: &Change) -> Self {
        let counts = |lines: &retake_model::LineChanges| LineCounts {
            added: u64::from(lines.added),
            removed: u64::from(lines.removed),
        };
        Self {
            old_path: change.from_path().clone(),
            path: change.path.clone(),
            before: change.before,
            after: change.after,
            first: change.id,
            last: change.id,
            changes: 1,
            lines: change.lines.as_ref().map(counts),
        }
    }
}

impl NetFileChange {
    /// Returns what happened to the path in all.
    pub fn change_type(&self) -> ChangeType {
        let oid = |side: &PathState| side.known().map(|state| (state.kind, state.oid));
        match (&self.before, &self.after) {
            (PathState::Absent, _) => ChangeType::Create,
            (_, PathState::Absent) => ChangeType::Delete,
            _ if self.old_path != self.path => ChangeType::Rename,
            (before, after) if before.known().is_some() && oid(before) == oid(after) => {
                ChangeType::Mode
            }
            _ => ChangeType::Modify,
        }
    }

    fn extend(&mut self, change: &Change) {
        self.path = change.path.clone();
        self.after = change.after;
        self.last = change.id;
        self.changes += 1;
        self.lines = None;
    }

    fn normalised(mut self) -> Option<Self> {
        match (self.before.is_absent(), self.after.is_absent()) {
            (true, true) => return None,
            (true, false) => self.old_path = self.path.clone(),
            (false, true) => self.path = self.old_path.clone(),
            (false, false) => {}
        }
        (self.before != self.after || self.old_path != self.path).then_some(self)
    }
}

impl Project {
    /// Returns the net changes of the effective changes that a filter lets through; what git took
    /// back is left out.
    pub fn net_changes(&self, filter: &ChangeFilter) -> Result<Vec<NetFileChange>, StoreError> {
        Ok(net_file_changes(&self.effective_changes(filter)?))
    }

    /// Returns those of them that end, or began, at this file, through its renames: the same as in
    /// the list of all, without reading all.
    pub fn net_changes_of_file(
        &self,
        filter: &ChangeFilter,
        path: &ProjectPath,
    ) -> Result<Vec<NetFileChange>, StoreError> {
        let mut found: BTreeMap<ChangeId, Change> = BTreeMap::new();
        let mut seen: BTreeSet<ProjectPath> = BTreeSet::from([path.clone()]);
        let mut open = vec![path.clone()];
        while let Some(next) = open.pop() {
            let filter = ChangeFilter { path: Some(next.clone()), ..filter.clone() };
            for change in self.effective_changes(&filter)? {
                if change.path != next && *change.from_path() != next {
                    // The filter lets through what is beneath a folder of this name, too.
                    continue;
                }
                for name in [change.from_path(), &change.path] {
                    if seen.insert(name.clone()) {
                        open.push(name.clone());
                    }
                }
                found.insert(change.id, change);
            }
        }
        let changes: Vec<Change> = found.into_values().collect();
        let mut nets = net_file_changes(&changes);
        if nets.iter().any(|net| net.path == *path) {
            nets.retain(|net| net.path == *path);
        } else {
            nets.retain(|net| net.old_path == *path);
        }
        Ok(nets)
    }

    /// The difference that several changes made, file by file; they are oldest first.
    pub fn net_diff(&self, changes: &[Change]) -> Result<Vec<FileDiff>, StoreError> {
        let options = DiffOptions::default();
        net_file_changes(changes).iter().map(|net| self.net_file_diff(net, &options)).collect()
    }

    /// The difference that a net change made.
    pub fn net_file_diff(
        &self,
        net: &NetFileChange,
        options: &DiffOptions,
    ) -> Result<FileDiff, StoreError> {
        Ok(FileDiff {
            old_path: net.old_path.clone(),
            path: net.path.clone(),
            before: net.before,
            after: net.after,
            body: self.diff_contents(&net.before, &net.after)?.compare(options),
        })
    }

    /// The effective changes, oldest first, without their hunks: a long list of them would hold
    /// more than memory should.
    fn effective_changes(&self, filter: &ChangeFilter) -> Result<Vec<Change>, StoreError> {
        let filter = ChangeFilter { oldest_first: true, ..filter.clone() };
        let mut changes = Vec::new();
        self.store().for_each_change(&filter, &mut |mut change| {
            if change.is_effective() {
                if let Some(lines) = &mut change.lines {
                    lines.hunks = Vec::new();
                }
                changes.push(change);
            }
        })?;
        let by_git = self.taken_back_by_git(&changes)?;
        changes.retain(|change| !by_git.contains(&change.id));
        Ok(changes)
    }
}

/// Joins changes of one file in a row; `changes` are oldest first.
fn net_file_changes(changes: &[Change]) -> Vec<NetFileChange> {
    let mut nets: Vec<NetFileChange> = Vec::new();
    let mut newest: HashMap<&ProjectPath, usize> = HashMap::new();
    for change in changes {
        let continued = newest.remove(change.from_path());
        let at = if let Some(at) = continued.filter(|&at| nets[at].after == change.before) {
            nets[at].extend(change);
            at
        } else {
            nets.push(change.into());
            nets.len() - 1
        };
        newest.insert(&change.path, at);
    }
    let mut nets: Vec<_> = nets.into_iter().filter_map(NetFileChange::normalised).collect();
    nets.sort_by(|a, b| (&a.path, a.first).cmp(&(&b.path, b.first)));
    nets
}
