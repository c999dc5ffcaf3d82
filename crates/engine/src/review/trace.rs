//! Follows what each change wrote to where it is in the file now.
//!
//! The recorded hunks of all changes of a file, one after the other, say where lines went. No
//! content is read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use retake_model::{Actor, Change, ChangeId, Hunk, PathState, ProjectPath};
use retake_store::{ChangeFilter, Store, StoreError};

use crate::content::line_map::LineMap;

/// A recorded hunk of a change, and where it is in the file now.
#[derive(Clone, Debug)]
pub(super) struct TracedHunk {
    pub(super) change: ChangeId,
    /// The lines before the change, from 0.
    pub(super) old: Range<usize>,
    /// The lines after the change, from 0.
    pub(super) new: Range<usize>,
    /// Where those are now, from 0; an empty range is a place between lines.
    pub(super) now: Range<usize>,
}

impl TracedHunk {
    /// Returns whether it is at these lines of the file now, or, if one of both is only a place
    /// between lines, whether it touches them.
    fn is_at(&self, lines: &Range<usize>) -> bool {
        if self.now.is_empty() || lines.is_empty() {
            self.now.start <= lines.end && lines.start <= self.now.end
        } else {
            self.now.start < lines.end && lines.start < self.now.end
        }
    }
}

/// What one change wrote, in the order of the lines.
#[derive(Clone, Debug)]
struct ChangeTrace {
    change: ChangeId,
    actor: Actor,
    hunks: Vec<TracedHunk>,
}

impl ChangeTrace {
    /// The hunks at these lines of the file now.
    fn at<'t>(&'t self, lines: &'t Range<usize>) -> impl Iterator<Item = &'t TracedHunk> {
        let first = self.hunks.partition_point(|hunk| hunk.now.end < lines.start);
        let near = self.hunks[first..].iter().take_while(|hunk| hunk.now.start <= lines.end);
        near.filter(|hunk| hunk.is_at(lines))
    }
}

/// What the changes of one file wrote, as far as it can be followed.
#[derive(Clone, Debug, Default)]
pub(super) struct FileTrace {
    /// The changes that made the file what it is, since it came to be.
    pub(super) changes: BTreeSet<ChangeId>,
    /// Those with recorded hunks, oldest first.
    written: Vec<ChangeTrace>,
    /// Changes of the file without recorded hunks, which may be at any place.
    unplaced: BTreeSet<ChangeId>,
}

/// Traces the file that is at `path` now, from a change on, through the names that it had.
pub(super) fn trace_file(
    store: &Store,
    path: &ProjectPath,
    names: &BTreeSet<ProjectPath>,
    since: ChangeId,
) -> Result<FileTrace, StoreError> {
    let changes = changes_of_names(store, names, since)?;
    let mut files: BTreeMap<ProjectPath, FileTrace> = BTreeMap::new();
    let mut gone: BTreeMap<ProjectPath, (PathState, FileTrace)> = BTreeMap::new();
    for change in changes.into_values() {
        let mut trace = files.remove(change.from_path()).unwrap_or_default();
        if change.before.is_absent() {
            let was = gone.remove(&change.path).filter(|(state, _)| *state == change.after);
            if let Some((_, mut was)) = was {
                // What comes back as it was when it went away, as an undo brings it, is the same file.
                was.changes.insert(change.id);
                files.insert(change.path, was);
                continue;
            }
            trace = FileTrace::default();
        }
        if change.after.is_absent() {
            gone.insert(change.path.clone(), (change.before, trace.clone()));
        }
        trace.follow(&change);
        files.insert(change.path, trace);
    }
    Ok(files.remove(path).unwrap_or_default())
}

/// The changes of files with these names, from a change on.
pub(super) fn changes_of_names(
    store: &Store,
    names: &BTreeSet<ProjectPath>,
    since: ChangeId,
) -> Result<BTreeMap<ChangeId, Change>, StoreError> {
    let mut changes: BTreeMap<ChangeId, Change> = BTreeMap::new();
    for name in names {
        let filter = ChangeFilter {
            path: Some(name.clone()),
            after: since.0.checked_sub(1),
            ..ChangeFilter::default()
        };
        store.for_each_change(&filter, &mut |change| {
            if change.path == *name || change.from_path() == name {
                changes.insert(change.id, change);
            }
        })?;
    }
    Ok(changes)
}

impl FileTrace {
    fn follow(&mut self, change: &Change) {
        self.changes.insert(change.id);
        let Some(lines) = &change.lines else {
            if change.before != change.after {
                self.unplaced.insert(change.id);
            }
            return;
        };
        let map = LineMap::of_hunks(&lines.hunks);
        for hunk in self.written.iter_mut().flat_map(|written| &mut written.hunks) {
            hunk.now = map.follow(&hunk.now);
        }
        let traced = |hunk: &Hunk| {
            let (old, new) = ranges_of(hunk);
            TracedHunk { change: change.id, old, now: new.clone(), new }
        };
        let hunks = lines.hunks.iter().map(traced).collect();
        self.written.push(ChangeTrace { change: change.id, actor: change.actor, hunks });
    }

    /// The recorded hunks of some changes at these lines of the file now.
    pub(super) fn at<'t>(
        &'t self,
        lines: &'t Range<usize>,
        is_one: impl Fn(ChangeId) -> bool + 't,
    ) -> impl Iterator<Item = &'t TracedHunk> {
        let written = self.written.iter().filter(move |written| is_one(written.change));
        written.flat_map(|written| written.at(lines))
    }

    /// The changes of a set at these lines; all of them if none can be placed there.
    pub(super) fn changes_at(
        &self,
        lines: &Range<usize>,
        set: &BTreeSet<ChangeId>,
    ) -> BTreeSet<ChangeId> {
        let unplaced = self.unplaced.intersection(set).copied();
        let at = self.at(lines, |id| set.contains(&id));
        let found: BTreeSet<ChangeId> = at.map(|hunk| hunk.change).chain(unplaced).collect();
        if found.is_empty() { set.clone() } else { found }
    }

    /// The changes after `first`, outside of a set, at these lines: what stands in the way. That is
    /// never Retake itself.
    pub(super) fn later_changes_at(
        &self,
        lines: &Range<usize>,
        first: ChangeId,
        set: &BTreeSet<ChangeId>,
    ) -> BTreeSet<ChangeId> {
        let is_later = |written: &&ChangeTrace| {
            let id = written.change;
            id > first && written.actor != Actor::Retake && !set.contains(&id)
        };
        let later = self.written.iter().filter(is_later);
        later.filter(|it| it.at(lines).next().is_some()).map(|written| written.change).collect()
    }

    /// The newest change by an agent or the person that wrote a line of the file now. What git and
    /// Retake brought back was there before.
    pub(super) fn writer_of(&self, line: usize) -> Option<ChangeId> {
        let place = line..line + 1;
        let mut newest_first = self.written.iter().rev();
        let is_writer = |written: &&ChangeTrace| {
            !matches!(written.actor, Actor::Git | Actor::Retake)
                && written.at(&place).any(|hunk| !hunk.now.is_empty())
        };
        newest_first.find(is_writer).map(|written| written.change)
    }
}

/// The lines of a recorded hunk, from 0.
pub(super) fn ranges_of(hunk: &Hunk) -> (Range<usize>, Range<usize>) {
    let range = |start: u32, count: u32| {
        let start = start.saturating_sub(1) as usize;
        start..start + count as usize
    };
    (range(hunk.old_start, hunk.old_lines), range(hunk.new_start, hunk.new_lines))
}
