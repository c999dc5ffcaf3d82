//! What must be so of reviews, whatever happened before.

use std::collections::{BTreeMap, BTreeSet};

use retake_engine::model::{Actor, ChangeId, ChangeStatus, DialogId, HunkId, HunkKind, PathState};
use retake_engine::{
    ChangeFilter, HunkRequest, ReviewFile, ReviewHunk, ReviewScope, ScopeChanges, Selection,
    TakeBackOptions,
};

use super::{Walk, is_persons};

/// Unchanged lines next to a hunk that are part of its name.
const NEIGHBOURS: usize = 3;

/// What is planned for files: the state of each afterwards.
pub(super) type PlannedStates = BTreeMap<String, PathState>;

impl Walk {
    /// All files of a scope, with their hunks.
    pub(super) fn files(&self, scope: &ReviewScope) -> Vec<ReviewFile> {
        let review = self.opened.review(scope).unwrap();
        let files = review.entries().iter().flat_map(|entry| review.files(entry).unwrap());
        files.collect()
    }

    /// A scope of agents, with the selection that means the same.
    pub(super) fn scope(&mut self) -> (ReviewScope, Selection) {
        let filter = ChangeFilter { actors: vec![Actor::Agent], ..ChangeFilter::default() };
        let changes = self.opened.changes(&filter).unwrap();
        let mut selection = Selection::default();
        let kind = self.rng.u8(0..6);
        if let Some(change) = self.rng.choice(&changes).filter(|_| kind > 1) {
            selection.dialog.clone_from(&change.dialog);
            match kind {
                2 | 3 => {}
                4 => selection.message = change.turn.filter(|_| change.dialog.is_some()),
                _ => selection.call.clone_from(&change.call),
            }
        }
        let changes = if kind == 0 {
            ScopeChanges::AllAgents
        } else {
            ScopeChanges::Chosen(Box::new(selection.clone()))
        };
        (ReviewScope::of(changes), selection)
    }

    pub(super) fn check_persons_lines_are_in_no_hunk(&self) {
        let mut scopes = vec![ScopeChanges::AllAgents];
        scopes.extend(super::DIALOGS.iter().map(|dialog| {
            let dialog = Some(DialogId::from(*dialog));
            ScopeChanges::Chosen(Box::new(Selection { dialog, ..Selection::default() }))
        }));
        for changes in scopes {
            for file in self.files(&ReviewScope::of(changes.clone())) {
                check_order(&file);
                for hunk in &file.hunks {
                    let shown = texts(&hunk.added);
                    // Between equal lines it is a matter of taste which of two lines has moved.
                    let may_have_moved = |line: &String| {
                        let base = file.base_text.as_deref().unwrap_or_default();
                        self.common_lines && String::from_utf8_lossy(base).contains(&**line)
                    };
                    let mut persons = shown.iter().filter(|line| is_persons(line));
                    let persons = persons.find(|line| !may_have_moved(line));
                    assert_eq!(persons, None, "{} in {changes:?}: {hunk:?}", file.path);
                }
            }
        }
    }

    pub(super) fn statuses(&self) -> Vec<(ChangeId, ChangeStatus)> {
        let filter = ChangeFilter { oldest_first: true, ..ChangeFilter::default() };
        let changes = self.opened.changes(&filter).unwrap();
        let own = changes.into_iter().filter(|change| change.actor != Actor::Retake);
        own.map(|change| (change.id, change.status)).collect()
    }

    /// The plan of a rejection of every hunk is that of a rollback; what a rollback leaves as a
    /// whole may go in part.
    pub(super) fn all_hunks_are_as_a_rollback(&mut self) {
        self.look();
        let (scope, selection) = self.scope();
        self.note(format!("all of {selection:?} as a rollback"));
        let request = HunkRequest { scope, hunks: Vec::new(), all: true };
        let options = TakeBackOptions { across_git: true, ..TakeBackOptions::default() };
        let tick = self.project.tick();
        let by_hunks = self.opened.plan_reject_places(&request, options, tick).unwrap();
        let as_whole = self.opened.plan_rollback(&selection, options, tick).unwrap();
        let left: BTreeSet<ChangeId> =
            as_whole.left().flat_map(|file| file.changes.iter().copied()).collect();
        let is_left = |changes: &[ChangeId]| changes.iter().any(|id| left.contains(id));
        let states = |plan: &retake_engine::Plan| -> PlannedStates {
            let files = plan.writes().filter(|file| !is_left(&file.changes));
            files.map(|file| (file.path.to_string(), file.then)).collect()
        };
        assert_eq!(states(&by_hunks), states(&as_whole), "{by_hunks:#?} {as_whole:#?}");
        for file in by_hunks.left() {
            assert!(is_left(&file.changes), "only a rejection leaves {file:?}: {as_whole:#?}");
        }
    }

    pub(super) fn marks_are_seen_in_all_scopes(&mut self) {
        self.look();
        let (scope, _) = self.scope();
        let request = HunkRequest { scope: scope.clone(), hunks: Vec::new(), all: true };
        let seen = self.files(&scope);
        self.note(format!("marks all of {:?}", scope.changes));
        let before = self.disk();
        self.opened.set_reviewed(&request, true, self.project.tick()).unwrap();
        assert_eq!(self.disk(), before, "marks write nothing");
        self.check_seen(&seen);
        match self.rng.u8(0..4) {
            0 => {
                self.note("opens the project again".to_owned());
                self.opened = self.project.open();
            }
            1 => self.git_commits(),
            2 => self.undo_and_redo(),
            _ => {
                self.opened.set_reviewed(&request, false, self.project.tick()).unwrap();
                let accepted = |file: &ReviewFile, hunk: &ReviewHunk| {
                    hunk.changes.iter().all(|id| {
                        let change = self.opened.change(*id).unwrap().unwrap();
                        change.status == ChangeStatus::Accepted || file.changes.is_empty()
                    })
                };
                for file in self.files(&scope) {
                    let shut = file.hunks.iter().find(|it| it.reviewed && !accepted(&file, it));
                    assert!(shut.is_none(), "{} has no mark left: {shut:?}", file.path);
                }
                return;
            }
        }
        self.check_seen(&seen);
    }

    /// Every hunk at a place of these, and of their changes alone, is seen in whichever scope.
    fn check_seen(&mut self, seen: &[ReviewFile]) {
        let changes: BTreeSet<ChangeId> =
            seen.iter().flat_map(|file| file.changes.iter().copied()).collect();
        for _ in 0..4 {
            let (other, _) = self.scope();
            for file in self.files(&other) {
                let places = seen.iter().filter(|seen| seen.path == file.path);
                let places: Vec<_> = places.flat_map(|file| &file.hunks).collect();
                // What cancelled out in the other scope was not shown there.
                let was_shown = |line: &Vec<u8>| places.iter().any(|it| it.removed.contains(line));
                let is_seen = |hunk: &&ReviewHunk| {
                    let has_place = |place: &&&ReviewHunk| {
                        place.new.start <= hunk.new.start && hunk.new.end <= place.new.end
                    };
                    let has_removed =
                        hunk.kind == HunkKind::Entangled || hunk.removed.iter().all(was_shown);
                    let has_place = places.iter().any(|it| has_place(&it));
                    has_place && has_removed && hunk.changes.is_subset(&changes)
                };
                let open = file.hunks.iter().filter(is_seen).find(|hunk| !hunk.reviewed);
                assert!(open.is_none(), "{} in {:?}: {open:#?}", file.path, other.changes);
            }
        }
    }

    pub(super) fn ids_stay_while_something_else_changes(&mut self) {
        self.look();
        let scope = ReviewScope::default();
        let before = self.files(&scope);
        let marked = HunkRequest { scope: scope.clone(), hunks: Vec::new(), all: true };
        self.opened.set_reviewed(&marked, true, self.project.tick()).unwrap();
        let name = self.name();
        let old = self.lines_of(&name);
        let dialog = self.dialog();
        self.agent_edits_file(&name, dialog);
        let new = self.lines_of(&name);
        let same =
            |a: &mut dyn Iterator<Item = (&String, &String)>| a.take_while(|(a, b)| a == b).count();
        let above = same(&mut old.iter().zip(&new));
        let below = same(&mut old.iter().rev().zip(new.iter().rev()));
        let edited = above..old.len().saturating_sub(below).max(above);
        let after = self.files(&scope);
        for file in &before {
            let is_edited = file.path.to_string() == name;
            if is_edited && self.common_lines {
                continue;
            }
            let now = after.iter().find(|now| now.path == file.path);
            for hunk in &file.hunks {
                if is_edited && !is_far(file, hunk, &edited) {
                    continue;
                }
                // Files that were moved may be one part, of which nothing can be taken out.
                let is_same_part = now.is_some_and(|now| now.changes == file.changes);
                if hunk.kind == HunkKind::Entangled && hunk.new.is_empty() && !is_same_part {
                    continue;
                }
                let found = now.and_then(|now| now.hunks.iter().find(|now| now.id == hunk.id));
                let found =
                    found.unwrap_or_else(|| panic!("{} is gone: {hunk:#?} {now:#?}", hunk.id));
                assert!(found.reviewed, "only what changed is open again: {hunk:?}");
            }
        }
    }

    fn lines_of(&self, name: &str) -> Vec<String> {
        let content = std::fs::read(self.project.root().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&content).split('\n').map(str::to_owned).collect()
    }
}

/// Ids are unique in a file, and places are in order.
fn check_order(file: &ReviewFile) {
    let ids: BTreeSet<HunkId> = file.hunks.iter().map(|hunk| hunk.id).collect();
    assert_eq!(ids.len(), file.hunks.len(), "{file:#?}");
    assert!(file.hunks.is_sorted_by_key(|hunk| hunk.new.start), "{file:#?}");
    let lines: Vec<_> = file.hunks.iter().filter(|hunk| hunk.kind == HunkKind::Lines).collect();
    for pair in lines.windows(2) {
        assert!(pair[0].new.end < pair[1].new.start, "runs do not touch: {pair:#?}");
    }
}

/// Returns whether enough unchanged lines are between a hunk and edited lines.
fn is_far(file: &ReviewFile, hunk: &ReviewHunk, edited: &std::ops::Range<usize>) -> bool {
    if hunk.kind != HunkKind::Lines {
        return false;
    }
    let between = if hunk.new.end <= edited.start {
        hunk.new.end..edited.start
    } else if edited.end <= hunk.new.start {
        edited.end..hunk.new.start
    } else {
        return false;
    };
    let is_unchanged = |at: &usize| !file.hunks.iter().any(|hunk| hunk.new.contains(at));
    // One more, since lines next to the edit may be called edited.
    between.filter(is_unchanged).count() > NEIGHBOURS + 1
}

pub(super) fn texts(lines: &[Vec<u8>]) -> Vec<String> {
    lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}
