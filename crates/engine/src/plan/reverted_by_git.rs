//! Agents' changes that git reverted: `git checkout -- .`, a stash, a reset, another branch.
//!
//! Such a change is not reviewed, and its status stays: with its branch it comes back, and then it
//! counts again. So this is never recorded; it follows from the files and the changes on record, by
//! the same plan that would take the changes back.

use std::collections::{BTreeSet, HashMap, HashSet};

use retake_model::{Actor, Change, ChangeId, ChangeStatus, OperationKind, ProjectPath};
use retake_store::{ChangeFilter, PendingPath, StoreError};

use crate::plan::Plan;
use crate::plan::take_back::{TakeBackOptions, TakeBackRequest, take_back};
use crate::project::Project;

impl Project {
    /// Those of these changes that are no longer in any file, since git reverted them.
    pub fn taken_back_by_git(&self, changes: &[Change]) -> Result<BTreeSet<ChangeId>, StoreError> {
        let is_agents_in_effect =
            |change: &&Change| change.actor == Actor::Agent && change.is_effective();
        let effective: Vec<&Change> = changes.iter().filter(is_agents_in_effect).collect();
        let mut oldest: HashMap<&ProjectPath, ChangeId> = HashMap::new();
        for change in &effective {
            for path in [&change.path, change.from_path()] {
                let first = oldest.entry(path).or_insert(change.id);
                *first = change.id.min(*first);
            }
        }
        let mut by_git = HashSet::new();
        for (path, first) in oldest {
            if self.store().git_changed(path, first)? {
                by_git.insert(path);
            }
        }
        let concerned =
            |change: &&Change| by_git.contains(&change.path) || by_git.contains(change.from_path());
        let concerned: Vec<Change> = effective.into_iter().filter(concerned).cloned().collect();
        if concerned.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut plan = Plan::new(OperationKind::Undo, "");
        let options = TakeBackOptions::default();
        let request = TakeBackRequest::new(&concerned, ChangeStatus::Reverted, options);
        take_back(self.store(), &mut plan, request)?;
        Ok(plan.taken_back_by_git.into_iter().collect())
    }

    /// The rows of pending changes in the files, and of those that git reverted.
    pub(crate) fn pending_rows(&self) -> Result<(Vec<PendingPath>, Vec<PendingPath>), StoreError> {
        let (mut in_files, mut taken_back) = (Vec::new(), Vec::new());
        let rows = self.store().pending_paths()?;
        let mut paths = BTreeSet::new();
        for row in &rows {
            for path in [Some(&row.path), row.old_path.as_ref()].into_iter().flatten() {
                if self.store().git_changed(path, row.first)? {
                    paths.insert(&row.path);
                }
            }
        }
        let mut changes = Vec::new();
        for path in paths {
            let of_path = ChangeFilter {
                path: Some(path.clone()),
                actors: vec![Actor::Agent],
                statuses: vec![ChangeStatus::Pending],
                oldest_first: true,
                ..ChangeFilter::default()
            };
            let found = self.store().changes(&of_path)?;
            changes.extend(found.into_iter().filter(|change| change.path == *path));
        }
        let by_git = self.taken_back_by_git(&changes)?;
        for row in rows {
            let is_of = |change: &&Change| {
                (&change.path, &change.dialog, &change.agent)
                    == (&row.path, &row.dialog, &row.agent)
            };
            let of_row = changes.iter().filter(is_of);
            let (gone, stays): (Vec<&Change>, Vec<&Change>) =
                of_row.partition(|change| by_git.contains(&change.id));
            if gone.is_empty() {
                in_files.push(row);
                continue;
            }
            in_files.extend(status_row(&stays));
            taken_back.extend(status_row(&gone));
        }
        Ok((in_files, taken_back))
    }
}

/// One status row for changes of one agent to one path, oldest first.
fn status_row(changes: &[&Change]) -> Option<PendingPath> {
    let (first, last) = (changes.first()?, changes.last()?);
    let sum = |lines: fn(&retake_model::LineChanges) -> u32| {
        let counts = changes.iter().filter_map(|change| change.lines.as_ref()).map(lines);
        counts.fold(None, |sum: Option<u64>, lines| Some(sum.unwrap_or(0) + u64::from(lines)))
    };
    Some(PendingPath {
        dialog: first.dialog.clone(),
        agent: first.agent.clone(),
        path: first.path.clone(),
        old_path: first.old_path.clone(),
        existed: !first.before.is_absent(),
        exists: !last.after.is_absent(),
        changes: changes.len() as u64,
        first: first.id,
        last: last.id,
        added: sum(|lines| lines.added),
        removed: sum(|lines| lines.removed),
        line: last.first_changed_line(),
    })
}
