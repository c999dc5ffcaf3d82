//! A review: the files of a scope, and the hunks of each that is asked for.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{
    Change, ChangeId, DialogId, HunkId, HunkKind, Millis, PathState, ProjectPath, QueuedRejection,
};
use retake_store::StoreError;

use crate::content::diff::lines;
use crate::content::line_hash::hash_texts;
use crate::error::OperationError;
use crate::feedback::rejected_lines::earlier_names;
use crate::plan::draft::DraftFile;
use crate::plan::without::{ChangePart, DraftObstacle, DraftedPart, draft_without, split_changes};
use crate::project::Project;
use crate::review::file_target::HunkLines;
use crate::review::hunk::{
    FileSide, FileSides, HunkContext, HunkSource, HunkTexts, ReviewHunk, hunk_id, new_hunk,
    number_equal_hunks, state_key,
};
use crate::review::line_marks::{LineMarks, MarkSource};
use crate::review::pairing::pair_files;
use crate::review::queue::queued_lines;
use crate::review::scope::ReviewScope;
use crate::review::trace::{FileTrace, trace_file};

/// The files of a scope.
pub struct Review<'p> {
    project: &'p Project,
    /// The scope, resolved.
    pub scope: ReviewScope,
    /// The place in the order that it is of.
    pub seq: u64,
    /// Changes that are left out, since an agent outside of the scope may have made them.
    pub shared: Vec<ChangeId>,
    entries: Vec<ReviewEntry>,
    changes: BTreeMap<ChangeId, Change>,
}

/// A file of a review, as far as it is known without its content.
#[derive(Clone, Debug)]
pub struct ReviewEntry {
    /// Where it is now, or was before it was deleted.
    pub path: ProjectPath,
    /// Where it was before the changes, if that is elsewhere.
    pub old_path: Option<ProjectPath>,
    /// The changes, oldest first.
    pub changes: Vec<ChangeId>,
    /// The dialogs of the changes.
    pub dialogs: BTreeSet<DialogId>,
    /// Lines that the changes added, each counted by itself.
    pub added: u64,
    /// Lines that they removed.
    pub removed: u64,
    /// When the newest of them was recorded.
    pub at: Millis,
}

/// The hunks of one file.
#[derive(Clone, Debug)]
pub struct ReviewFile {
    /// Where it is now; the old path if it is gone.
    pub path: ProjectPath,
    /// Where it would be without the changes.
    pub old_path: ProjectPath,
    /// What the hunks are of; an act on hunks that are equal in everything needs it.
    pub digest: String,
    /// The hunks, in the order of the file's lines.
    pub hunks: Vec<ReviewHunk>,
    /// The changes of the scope in it, oldest first.
    pub changes: Vec<ChangeId>,
    /// The state without the changes.
    pub base: PathState,
    /// The state now.
    pub now: PathState,
    /// The content without the changes, if it is text.
    pub base_text: Option<Vec<u8>>,
    /// The content now, if it is text.
    pub now_text: Option<Vec<u8>>,
    pub(super) base_file: DraftFile,
    pub(super) trace: FileTrace,
    /// The names that the file had.
    pub(super) names: BTreeSet<ProjectPath>,
}

impl ReviewFile {
    /// Returns a hunk by its id.
    pub fn hunk(&self, id: HunkId) -> Option<&ReviewHunk> {
        self.hunks.iter().find(|hunk| hunk.id == id)
    }

    /// Returns how many hunks the person has not seen.
    pub fn unreviewed(&self) -> usize {
        self.hunks.iter().filter(|hunk| !hunk.reviewed).count()
    }
}

impl Project {
    /// Finds the files of a scope, from the record; call [`Project::refresh`] before.
    pub fn review(&self, scope: &ReviewScope) -> Result<Review<'_>, OperationError> {
        let _snapshot = self.store().snapshot()?;
        let scope = self.resolve_scope(scope)?;
        let found = self.changes_in_scope(&scope)?;
        let parts = split_changes(self.store(), &found.changes)?;
        let changes: BTreeMap<_, _> =
            found.changes.into_iter().map(|change| (change.id, change)).collect();
        let is_covered = |part: &ChangePart| part.names.iter().any(|name| scope.covers(name));
        let entries = parts
            .into_iter()
            .filter(is_covered)
            .map(|part| ReviewEntry::new(part, &changes))
            .collect();
        let seq = self.store().last_seq()?;
        Ok(Review { project: self, scope, seq, shared: found.shared, entries, changes })
    }
}

impl ReviewEntry {
    fn new(part: ChangePart, changes: &BTreeMap<ChangeId, Change>) -> Self {
        let ChangePart { changes: ids, path, old_path, .. } = part;
        let mut entry = Self {
            path,
            old_path,
            changes: ids,
            dialogs: BTreeSet::new(),
            added: 0,
            removed: 0,
            at: 0,
        };
        for change in entry.changes.iter().filter_map(|id| changes.get(id)) {
            entry.dialogs.extend(change.dialog.clone());
            entry.dialogs.extend(change.candidates.iter().map(|by| by.dialog.clone()));
            entry.at = entry.at.max(change.at);
            if let Some(lines) = &change.lines {
                entry.added += u64::from(lines.added);
                entry.removed += u64::from(lines.removed);
            }
        }
        entry
    }
}

impl Review<'_> {
    /// The files, in the order of their paths.
    pub fn entries(&self) -> &[ReviewEntry] {
        &self.entries
    }

    /// A change of the scope.
    pub fn change(&self, id: ChangeId) -> Option<&Change> {
        self.changes.get(&id)
    }

    pub(super) fn changes(&self) -> &BTreeMap<ChangeId, Change> {
        &self.changes
    }

    /// Works out the hunks of a file of [`Review::entries`]. Several files are given where they are
    /// taken back together; none if the changes cancel out.
    pub fn files(&self, entry: &ReviewEntry) -> Result<Vec<ReviewFile>, StoreError> {
        let _snapshot = self.project.store().snapshot()?;
        let ids: BTreeSet<_> = entry.changes.iter().copied().collect();
        let extra = BTreeMap::new();
        let reader = FileReader { project: self.project, changes: &self.changes, extra: &extra };
        Ok(reader.files_without(&ids)?.into_iter().flat_map(|part| part.files).collect())
    }
}

/// Files that are taken back together, without some changes.
pub(super) struct ReviewedPart {
    pub(super) files: Vec<ReviewFile>,
    /// Why nothing of it can be taken out.
    pub(super) obstacle: Option<DraftObstacle>,
}

/// Reads files with and without changes.
pub(super) struct FileReader<'a> {
    pub(super) project: &'a Project,
    pub(super) changes: &'a BTreeMap<ChangeId, Change>,
    /// Further changes, which a rejection takes along.
    pub(super) extra: &'a BTreeMap<ChangeId, Change>,
}

impl FileReader<'_> {
    pub(super) fn files_without(
        &self,
        ids: &BTreeSet<ChangeId>,
    ) -> Result<Vec<ReviewedPart>, StoreError> {
        let get = |id: &ChangeId| self.changes.get(id).or_else(|| self.extra.get(id)).cloned();
        let changes: Vec<Change> = ids.iter().filter_map(get).collect();
        let in_scope: BTreeMap<_, _> =
            changes.iter().map(|change| (change.id, change.clone())).collect();
        let parts = draft_without(self.project.store(), &changes)?;
        parts.into_iter().map(|part| self.reviewed_part(part, &in_scope)).collect()
    }

    fn reviewed_part(
        &self,
        part: DraftedPart,
        in_scope: &BTreeMap<ChangeId, Change>,
    ) -> Result<ReviewedPart, StoreError> {
        let changes: BTreeMap<_, _> =
            part.changes.iter().filter_map(|id| Some((*id, in_scope.get(id)?.clone()))).collect();
        match part.files {
            Ok(drafted) => {
                let mut files = Vec::new();
                for sides in pair_files(self.project.store(), drafted)? {
                    let file = self.review_file(sides, &changes)?;
                    files.extend(Some(file).filter(|file| !file.hunks.is_empty()));
                }
                Ok(ReviewedPart { files, obstacle: None })
            }
            Err(obstacle) => {
                let file = self.entangled_file(&obstacle, &changes)?;
                Ok(ReviewedPart { files: vec![file], obstacle: Some(obstacle) })
            }
        }
    }

    fn review_file(
        &self,
        sides: FileSides,
        changes: &BTreeMap<ChangeId, Change>,
    ) -> Result<ReviewFile, StoreError> {
        let store = self.project.store();
        let oldest = changes.keys().next().copied().unwrap_or(ChangeId(0));
        let names = self.names_of(&sides, changes)?;
        let trace = trace_file(store, &sides.path, &names, oldest)?;
        let hunks = HunkSource { store, sides: &sides, trace: &trace, changes }.hunks()?;
        let mut file = ReviewFile {
            digest: digest(&sides.base.side, &sides.now, &sides.old_path, &sides.path),
            path: sides.path,
            old_path: sides.old_path,
            hunks,
            changes: changes.keys().copied().collect(),
            base: sides.base.side,
            now: sides.now,
            base_text: sides.base_text,
            now_text: sides.now_text,
            base_file: sides.base,
            trace,
            names,
        };
        self.add_decisions(&mut file, changes)?;
        Ok(file)
    }

    /// The names of the file: those of its changes, and those that others gave it.
    fn names_of(
        &self,
        sides: &FileSides,
        changes: &BTreeMap<ChangeId, Change>,
    ) -> Result<BTreeSet<ProjectPath>, StoreError> {
        let own = changes.values().flat_map(|change| [&change.path, change.from_path()]);
        let mut names: BTreeSet<ProjectPath> =
            own.chain([&sides.path, &sides.old_path]).cloned().collect();
        names.extend(earlier_names(self.project.store(), &sides.path, None)?);
        Ok(names)
    }

    /// A file of which nothing can be taken out: one hunk, with the lines as they are on record.
    fn entangled_file(
        &self,
        obstacle: &DraftObstacle,
        changes: &BTreeMap<ChangeId, Change>,
    ) -> Result<ReviewFile, StoreError> {
        let store = self.project.store();
        let newest = changes.keys().next_back().copied();
        let newest = newest.map(|id| store.change(id)).transpose()?.flatten();
        let mut texts = HunkTexts::default();
        if let Some(change) = &newest {
            let base = FileSide { path: change.from_path().clone(), side: change.before.into() };
            let now = FileSide { path: change.path.clone(), side: change.after };
            let sides = FileSides::read(store, base, now, Vec::new())?;
            let source = HunkSource { store, sides: &sides, trace: &FileTrace::default(), changes };
            for hunk in source.hunks()? {
                texts.removed.extend(hunk.removed);
                texts.added.extend(hunk.added);
            }
        }
        let set = changes.keys().copied().collect();
        let mut hunk = new_hunk(HunkKind::Entangled, texts, set);
        hunk.blockers = obstacle.blockers.iter().copied().collect();
        hunk.obstacle = Some(obstacle.reason.clone());
        // A rejection of it with what stands in the way means the file as it is.
        let now = state_key(&obstacle.now);
        let recorded = newest.iter().flat_map(|it| [state_key(&it.before), state_key(&it.after)]);
        let about: Vec<_> = recorded.chain([now]).map(String::into_bytes).collect();
        hunk.id = hunk_id(&obstacle.path, &hunk, &HunkContext { around: None, about });
        let own = changes.values().map(|change| &change.path);
        let names = own.chain([&obstacle.path]).cloned().collect();
        let mut file = ReviewFile {
            path: obstacle.path.clone(),
            old_path: obstacle.path.clone(),
            digest: digest(&obstacle.now, &obstacle.now, &obstacle.path, &obstacle.path),
            hunks: vec![hunk],
            changes: changes.keys().copied().collect(),
            base: obstacle.now,
            now: obstacle.now,
            base_text: None,
            now_text: None,
            base_file: obstacle.now.into(),
            trace: FileTrace::default(),
            names,
        };
        number_equal_hunks(&mut file.hunks);
        self.add_decisions(&mut file, changes)?;
        Ok(file)
    }

    /// Adds what the person decided: marks, queued rejections, comments; and what came again.
    fn add_decisions(
        &self,
        file: &mut ReviewFile,
        changes: &BTreeMap<ChangeId, Change>,
    ) -> Result<(), StoreError> {
        let store = self.project.store();
        let mut marked = LineMarks::new();
        for name in &file.names {
            marked.extend(store.reviewed_lines(name)?);
        }
        let mut again = BTreeMap::new();
        for id in changes.keys() {
            let repeated = store.rejections_repeated_by(*id)?;
            if !repeated.is_empty() {
                again.insert(*id, repeated);
            }
        }
        let queued: Vec<QueuedRejection> = store.waiting_rejections_of(&file.path)?;
        let comments = self.project.comments_in(&file.names, file.now_text.as_deref())?;
        let now: Vec<&[u8]> = lines(file.now_text.as_deref().unwrap_or_default()).collect();
        let source = MarkSource { now: &now, trace: &file.trace, changes };
        for hunk in &mut file.hunks {
            hunk.reviewed = source.is_reviewed(hunk, &marked);
            let behind = hunk.changes.iter().filter_map(|id| again.get(id));
            hunk.again = behind.flatten().copied().collect();
            hunk.seen_lines = source.seen_lines(hunk, &marked);
            let waiting = queued.iter().filter(|row| row.hunk == hunk.id);
            (hunk.queued, hunk.queued_lines) = join_waiting(waiting);
            let on_it = comments.iter().filter(|comment| comment.is_in(hunk));
            hunk.comments = on_it.map(|comment| comment.id).collect();
        }
        Ok(())
    }
}

/// Returns what identifies both sides of a file.
fn digest(base: &PathState, now: &PathState, old_path: &ProjectPath, path: &ProjectPath) -> String {
    let (base, now) = (state_key(base), state_key(now));
    let texts = [old_path.as_bytes(), path.as_bytes(), base.as_bytes(), now.as_bytes()];
    format!("{:016x}", hash_texts(texts))
}

/// The first of the rejections of a hunk that wait, and the lines that they are about; none if that is
/// all of it.
fn join_waiting<'q>(
    waiting: impl Iterator<Item = &'q QueuedRejection>,
) -> (Option<u64>, Option<HunkLines>) {
    let (mut first, mut lines) = (None, Some(HunkLines::default()));
    for row in waiting {
        first = first.or(Some(row.id));
        // What cannot be read is about all of it.
        let more = queued_lines(row).ok().flatten();
        lines = lines.zip(more).map(|(mut lines, more)| {
            lines.extend(&more);
            lines
        });
    }
    (first, lines.filter(|lines| !lines.is_empty()))
}
