//! Knowledge of one agent about one file: its reads and everyone's changes, replayed in order.
//!
//! There is no flag that could be set too late. The record decides: which lines the agent has read
//! or written, and which of them others changed since. The content that it read or wrote last is
//! remembered, so that an edit that was reverted leaves nothing stale.

use std::collections::BTreeSet;

use retake_model::{
    Change, ChangeId, ChangeMethod, ChangeType, Hunk, ObjectId, PathState, ProjectPath,
};
use retake_store::FileRead;

use super::spans::{LineInterval, LineSet};

/// Maximum changed places tracked one by one; beyond it the whole file counts as changed.
const MAX_TRACKED_PLACES: usize = 500;

/// What an agent knows of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileKnowledge {
    /// Lines that it has read or written as they are now.
    seen: LineSet,
    /// Places of those lines that others changed since, with the changes that did it.
    pub(super) differs: Vec<(LineInterval, BTreeSet<ChangeId>)>,
    /// Others took the file away.
    pub(super) gone: Option<FileRemoval>,
    /// All of it may be different, by these changes; single lines cannot be determined.
    pub(super) unclear: Option<BTreeSet<ChangeId>>,
    /// The content after the agent's last read or change and the lines that it knew of it, if none
    /// was stale then.
    last_fresh: Option<(ObjectId, LineSet)>,
    /// What the file is after the last step.
    pub(super) now: Option<PathState>,
    /// `seq` of the agent's last read or change.
    pub(super) last_acted_seq: u64,
}

/// How others took a file away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileRemoval {
    pub(super) by: ChangeId,
    pub(super) to: Option<ProjectPath>,
}

impl FileKnowledge {
    /// Returns whether the agent knows anything of the file.
    pub(super) fn is_known(&self) -> bool {
        !self.seen.is_empty() || self.is_stale()
    }

    /// Returns whether any part of its knowledge is outdated.
    pub(super) fn is_stale(&self) -> bool {
        !self.differs.is_empty() || self.gone.is_some() || self.unclear.is_some()
    }

    /// Applies a read of the file, or of lines of it.
    pub(super) fn apply_read(&mut self, read: &FileRead) {
        self.gone = None;
        self.last_acted_seq = read.seq;
        match &read.lines {
            None => self.mark_all_seen(),
            Some(lines) => {
                // If the file was replaced, only what the agent reads from now on is known.
                self.unclear = None;
                let read_lines = LineSet::from_lines(lines);
                let differs = std::mem::take(&mut self.differs);
                self.differs = differs
                    .into_iter()
                    .flat_map(|(span, by)| {
                        read_lines.missing_of(span).into_iter().map(move |left| (left, by.clone()))
                    })
                    .collect();
                self.seen.add_all(&read_lines);
            }
        }
        self.set_current(&read.side);
        // An imported entry carries only dates, no content.
        if let Some(dates) = read.dates {
            self.now = None;
            self.unclear = (dates.user > dates.read).then(BTreeSet::new);
        }
    }

    /// Applies the agent's own change of the file.
    pub(super) fn apply_own_change(&mut self, change: &Change, path: &ProjectPath) {
        self.gone = None;
        self.last_acted_seq = change.id.0;
        if change.after.is_absent() || change.path != *path {
            *self = Self {
                now: Some(PathState::Absent),
                last_acted_seq: self.last_acted_seq,
                ..Self::default()
            };
            return;
        }
        match hunks_of(change) {
            // It has written all of it, or the lines cannot be determined.
            _ if change.method == ChangeMethod::Write => self.mark_all_seen(),
            None => self.mark_all_seen(),
            Some(hunks) if hunks.len() > MAX_TRACKED_PLACES => self.mark_all_seen(),
            Some(hunks) => {
                self.shift_lines(hunks);
                for (_, new) in hunks.iter().map(LineInterval::of_hunk) {
                    self.seen.add(new);
                }
            }
        }
        self.set_current(&change.after);
    }

    /// Applies another actor's change of the file.
    pub(super) fn apply_foreign_change(&mut self, change: &Change, path: &ProjectPath) {
        let (is_known, by) = (self.is_known(), change.id);
        if change.old_path.as_ref() == Some(path) && change.path != *path {
            let to = Some(change.path.clone());
            self.gone = is_known.then_some(FileRemoval { by, to });
            self.now = Some(PathState::Absent);
            return;
        }
        if change.after.is_absent() {
            self.gone = is_known.then_some(FileRemoval { by, to: None });
            self.now = Some(PathState::Absent);
            return;
        }
        let was_gone = self.gone.take().is_some();
        match hunks_of(change) {
            _ if !is_known => {}
            // Whatever is there now is another file than the one that was known.
            _ if was_gone || change.before.is_absent() || change.old_path.is_some() => {
                self.mark_unclear(by);
            }
            None => self.mark_unclear(by),
            // Too many places to be useful, and tracking them takes time.
            Some(hunks) if hunks.len() + self.differs.len() > MAX_TRACKED_PLACES => {
                self.mark_unclear(by);
            }
            Some(hunks) => self.mark_hunks_stale(hunks, by),
        }
        self.now = Some(change.after);
        self.restore_if_unchanged(&change.after);
    }

    /// Gives up line tracking: too many changes happened, up to this one.
    pub(super) fn lose_track_at(&mut self, by: ChangeId) {
        if self.is_known() {
            self.mark_unclear(by);
        }
    }

    fn mark_all_seen(&mut self) {
        self.seen = LineSet::all();
        self.differs.clear();
        self.unclear = None;
    }

    fn mark_unclear(&mut self, by: ChangeId) {
        self.seen = LineSet::default();
        self.differs.clear();
        self.unclear.get_or_insert_default().insert(by);
    }

    fn mark_hunks_stale(&mut self, hunks: &[Hunk], by: ChangeId) {
        let mut lost = Vec::new();
        for (old, new) in hunks.iter().map(LineInterval::of_hunk) {
            let mut all: BTreeSet<ChangeId> = BTreeSet::new();
            for (span, earlier) in &self.differs {
                if span.is_hit_by(old) {
                    all.extend(earlier);
                }
            }
            if self.seen.are_hit_by(old) || !all.is_empty() {
                all.insert(by);
                lost.push((new, all));
            }
        }
        self.shift_lines(hunks);
        self.differs.extend(lost);
        self.differs.sort();
    }

    /// Shifts the lines that the hunks do not touch to their new numbers.
    fn shift_lines(&mut self, hunks: &[Hunk]) {
        self.seen = self.seen.after(hunks);
        let differs = std::mem::take(&mut self.differs).into_iter();
        let left = differs.flat_map(|(span, by)| {
            span.after(hunks).into_iter().map(move |left| (left, by.clone()))
        });
        self.differs = left.collect();
    }

    /// Sets the current content after the agent's own read or change.
    fn set_current(&mut self, now: &PathState) {
        self.now = Some(*now);
        let state = now.known().filter(|_| !self.is_stale());
        self.last_fresh = state.map(|state| (state.oid, self.seen.clone()));
    }

    /// Restores the earlier knowledge if the file has the content again that the agent knew.
    fn restore_if_unchanged(&mut self, now: &PathState) {
        let oid = now.known().map(|state| state.oid);
        if let Some((_, seen)) = self.last_fresh.as_ref().filter(|(fresh, _)| Some(*fresh) == oid) {
            self.seen = seen.clone();
            self.differs.clear();
            self.unclear = None;
        }
    }
}

/// Returns the hunks of a change; none if they cannot be determined.
fn hunks_of(change: &Change) -> Option<&[Hunk]> {
    match (&change.lines, change.change_type) {
        (_, ChangeType::Mode) => Some(&[]),
        (Some(lines), _) => Some(&lines.hunks),
        (None, _) if same_content(change) => Some(&[]),
        (None, _) => None,
    }
}

fn same_content(change: &Change) -> bool {
    match (change.before.known(), change.after.known()) {
        (Some(before), Some(after)) => before.oid == after.oid && before.kind == after.kind,
        _ => false,
    }
}
