//! Acts on hunks: finding those that a person names, marking them as seen, keeping them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use retake_model::{
    Actor, ChangeId, ChangeStatus, HunkId, HunkKind, JournalKind, Millis, ProjectPath,
};
use retake_store::{Batch, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::content::diff::lines;
use crate::error::OperationError;
use crate::journal::record_entry;
use crate::project::Project;
use crate::review::file::{FileReader, Review, ReviewFile, ReviewedPart};
use crate::review::file_target::HunkLines;
use crate::review::hunk::ReviewHunk;
use crate::review::line_marks::{MarkSource, seen_change_key};
use crate::review::scope::ReviewScope;

/// A hunk that a person names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkChoice {
    /// Its id.
    pub id: HunkId,
    /// Its file, if that is known: then no other file is read.
    #[serde(default)]
    pub path: Option<ProjectPath>,
    /// Only these lines of it.
    #[serde(default)]
    pub lines: Option<HunkLines>,
    /// The digest of its file, needed if it is one of several equal hunks.
    #[serde(default)]
    pub digest: Option<String>,
}

impl HunkChoice {
    /// A whole hunk, in whichever file it is.
    pub fn whole(id: HunkId) -> Self {
        Self { id, path: None, lines: None, digest: None }
    }
}

/// The hunks that an act is about.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HunkRequest {
    /// The scope in which they are hunks.
    pub scope: ReviewScope,
    /// These hunks.
    pub hunks: Vec<HunkChoice>,
    /// All hunks of the scope.
    pub all: bool,
}

/// The result of keeping hunks, or of marking them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedHunks {
    /// The hunks.
    pub hunks: Vec<HunkId>,
    /// The changes that are accepted with it, since all that they did is seen.
    pub accepted: Vec<ChangeId>,
}

/// Files that are taken back together, with the hunks that were named.
pub(super) struct ChosenPart {
    pub(super) part: ReviewedPart,
    /// For each file the hunks by their index, and of some only these lines.
    pub(super) chosen: Vec<ChosenLines>,
}

/// Hunks of a file by their index; of some only these lines.
pub(super) type ChosenLines = BTreeMap<usize, Option<HunkLines>>;

impl ChosenPart {
    /// The changes behind the chosen hunks.
    pub(super) fn chosen_changes(&self) -> BTreeSet<ChangeId> {
        let files = self.part.files.iter().zip(&self.chosen);
        let hunks = files.flat_map(|(file, chosen)| chosen.keys().map(|at| &file.hunks[*at]));
        hunks.flat_map(|hunk| hunk.changes.iter().copied()).collect()
    }
}

impl HunkRequest {
    /// Returns the scope, in the files of the named hunks if all of them are known.
    pub fn narrowed_scope(&self) -> ReviewScope {
        let paths: Option<Vec<_>> = self.hunks.iter().map(|hunk| hunk.path.clone()).collect();
        match paths {
            Some(mut paths) if !self.all && !paths.is_empty() => {
                paths.sort();
                paths.dedup();
                ReviewScope { paths, ..self.scope.clone() }
            }
            _ => self.scope.clone(),
        }
    }
}

impl Project {
    /// Marks hunks as seen, or as not seen. A change that was accepted and of which something is not
    /// seen is pending again; one that was approved is settled.
    pub fn set_reviewed(
        &self,
        request: &HunkRequest,
        reviewed: bool,
        at: Millis,
    ) -> Result<ReviewedHunks, OperationError> {
        self.decide_hunks(request, at, |batch, part, review| {
            if !reviewed {
                open_again(self, batch, part, review, at)?;
            }
            let MarkedPart { hunks, .. } = mark_part(self, batch, part, HunkMark { reviewed, at })?;
            Ok(ReviewedHunks { hunks, accepted: Vec::new() })
        })
    }

    /// Keeps hunks: they are seen, and a change all of whose hunks in the scope are seen is accepted.
    /// Where all hunks of a file are, that are also changes of which nothing is left in it. Writes no
    /// file.
    pub fn keep_hunks(
        &self,
        request: &HunkRequest,
        at: Millis,
    ) -> Result<ReviewedHunks, OperationError> {
        self.decide_hunks(request, at, |batch, part, review| {
            let mark = HunkMark { reviewed: true, at };
            let MarkedPart { hunks, open } = mark_part(self, batch, part, mark)?;
            let files = &part.part.files;
            let seen = if open.is_empty() {
                files.iter().flat_map(|file| file.changes.iter().copied()).collect()
            } else {
                part.chosen_changes()
            };
            let mut accepted = Vec::new();
            for id in seen.difference(&open) {
                let Some(change) = review.change(*id) else { continue };
                if change.actor == Actor::Agent && change.status == ChangeStatus::Pending {
                    batch.set_status(*id, ChangeStatus::Accepted, at)?;
                    accepted.push(*id);
                }
            }
            Ok(ReviewedHunks { hunks, accepted })
        })
    }

    /// Remembers that the person has seen everything up to a place in the order.
    pub fn set_review_seen(&self, seq: u64, at: Millis) -> Result<u64, OperationError> {
        let _lock = self.acquire_lock()?;
        let seen = seq.min(self.store().last_seq()?).max(self.review_seen()?);
        let batch = self.store().batch()?;
        batch.set_review_seen(seen)?;
        let body = json!({ "seen": seen });
        record_entry(&batch, batch.next_stamp(at), JournalKind::ReviewSeen, None, body)?;
        batch.commit()?;
        Ok(seen)
    }

    fn decide_hunks(
        &self,
        request: &HunkRequest,
        at: Millis,
        decide: impl Fn(&Batch<'_>, &ChosenPart, &Review<'_>) -> Result<ReviewedHunks, OperationError>,
    ) -> Result<ReviewedHunks, OperationError> {
        let _lock = self.lock_and_refresh(at)?;
        let (review, parts) = self.find_hunks(request)?;
        let mut all = ReviewedHunks::default();
        let batch = self.store().batch()?;
        for part in &parts {
            let done = decide(&batch, part, &review)?;
            all.hunks.extend(done.hunks);
            all.accepted.extend(done.accepted);
        }
        batch.commit()?;
        Ok(all)
    }

    /// Finds the hunks of a request; an error if one of them is no hunk of the scope now.
    pub(super) fn find_hunks(
        &self,
        request: &HunkRequest,
    ) -> Result<(Review<'_>, Vec<ChosenPart>), OperationError> {
        let review = self.review(&request.narrowed_scope())?;
        let mut missing = join_choices(&request.hunks);
        let mut parts = Vec::new();
        let extra = BTreeMap::new();
        for entry in review.entries() {
            if missing.is_empty() && !request.all {
                break;
            }
            let reader = FileReader { project: self, changes: review.changes(), extra: &extra };
            let ids = entry.changes.iter().copied().collect();
            for part in reader.files_without(&ids)? {
                let mut chosen = Vec::new();
                for file in &part.files {
                    chosen.push(choose_hunks(file, request.all, &mut missing)?);
                }
                if chosen.iter().any(|chosen| !chosen.is_empty()) {
                    parts.push(ChosenPart { part, chosen });
                }
            }
        }
        if missing.is_empty() {
            return Ok((review, parts));
        }
        Err(OperationError::StaleHunks(missing.into_keys().collect()))
    }
}

/// Opens the changes behind the chosen hunks again, accepted ones, too. Their places that were seen
/// keep marks of their own.
fn open_again(
    project: &Project,
    batch: &Batch<'_>,
    part: &ChosenPart,
    review: &Review<'_>,
    at: Millis,
) -> Result<(), OperationError> {
    let changes = part.chosen_changes();
    for file in &part.part.files {
        let concerns = |hunk: &&ReviewHunk| hunk.reviewed && !hunk.changes.is_disjoint(&changes);
        let seen = file.hunks.iter().filter(concerns);
        let keys: Vec<u64> = with_marks(project, file, |source| {
            seen.flat_map(|hunk| source.keys_to_mark(hunk, None)).collect()
        })?;
        for key in keys {
            batch.set_reviewed_line(&file.path, key, true)?;
        }
    }
    for change in changes.iter().filter_map(|id| review.change(*id)) {
        if change.approved.is_some() {
            return Err(OperationError::Approved(change.id));
        }
        if change.status == ChangeStatus::Accepted {
            batch.set_status(change.id, ChangeStatus::Pending, at)?;
        }
        batch.set_reviewed_line(&change.path, seen_change_key(change.id), false)?;
    }
    Ok(())
}

/// The changes behind hunks of a part of which something was not seen.
fn unreviewed_changes(
    project: &Project,
    batch: &Batch<'_>,
    part: &ChosenPart,
) -> Result<BTreeSet<ChangeId>, StoreError> {
    let mut open = BTreeSet::new();
    for file in &part.part.files {
        let mut marked = HashSet::new();
        for name in &file.names {
            marked.extend(batch.reviewed_lines(name)?);
        }
        with_marks(project, file, |source| {
            let unseen = file.hunks.iter().filter(|hunk| !source.is_reviewed(hunk, &marked));
            open.extend(unseen.flat_map(|hunk| hunk.changes.iter().copied()));
        })?;
    }
    Ok(open)
}

/// The choices by their hunk; several of one hunk are all of their lines.
fn join_choices(choices: &[HunkChoice]) -> BTreeMap<HunkId, HunkChoice> {
    let mut joined: BTreeMap<HunkId, HunkChoice> = BTreeMap::new();
    for choice in choices {
        let Some(same) = joined.get_mut(&choice.id) else {
            joined.insert(choice.id, choice.clone());
            continue;
        };
        same.lines = same.lines.take().zip(choice.lines.as_ref()).map(|(mut lines, more)| {
            lines.removed.extend(&more.removed);
            lines.added.extend(&more.added);
            lines
        });
    }
    joined
}

/// Takes the named hunks of a file out of `missing`.
fn choose_hunks(
    file: &ReviewFile,
    all: bool,
    missing: &mut BTreeMap<HunkId, HunkChoice>,
) -> Result<ChosenLines, OperationError> {
    let mut chosen = BTreeMap::new();
    for (at, hunk) in file.hunks.iter().enumerate() {
        let is_here = |choice: &&HunkChoice| {
            let path = choice.path.as_ref();
            path.is_none_or(|path| *path == file.path || *path == file.old_path)
        };
        let Some(choice) = missing.get(&hunk.id).filter(is_here) else {
            if all {
                chosen.insert(at, None);
            }
            continue;
        };
        if hunk.id.ordinal > 0 && choice.digest.as_ref() != Some(&file.digest) {
            return Err(OperationError::NeedsDigest(hunk.id));
        }
        chosen.insert(at, checked_lines(hunk.id, file, at, choice)?);
        missing.remove(&hunk.id);
    }
    Ok(chosen)
}

/// The lines of a choice; none if they are all lines of the hunk.
fn checked_lines(
    id: HunkId,
    file: &ReviewFile,
    at: usize,
    choice: &HunkChoice,
) -> Result<Option<HunkLines>, OperationError> {
    let Some(chosen) = choice.lines.clone() else { return Ok(None) };
    let hunk = &file.hunks[at];
    let (removed, added) = (hunk.removed.len(), hunk.added.len());
    let fits = |numbers: &BTreeSet<u32>, count: usize| {
        numbers.iter().all(|number| (1..=count).contains(&(*number as usize)))
    };
    let has_lines = matches!(hunk.kind, HunkKind::Lines | HunkKind::Create);
    let is_empty = chosen.removed.is_empty() && chosen.added.is_empty();
    if !has_lines || is_empty || !fits(&chosen.removed, removed) || !fits(&chosen.added, added) {
        return Err(OperationError::UnknownHunkLines { hunk: id, removed, added });
    }
    let is_all = chosen.removed.len() == removed && chosen.added.len() == added;
    Ok((!is_all).then_some(chosen))
}

/// A mark that is set on hunks, or taken away.
#[derive(Clone, Copy)]
struct HunkMark {
    reviewed: bool,
    at: Millis,
}

/// A part whose hunks were marked.
struct MarkedPart {
    /// The hunks that were marked.
    hunks: Vec<HunkId>,
    /// The changes of which something was not seen.
    open: BTreeSet<ChangeId>,
}

/// Marks the chosen hunks of a part, and with them the changes of which all is seen.
fn mark_part(
    project: &Project,
    batch: &Batch<'_>,
    part: &ChosenPart,
    mark: HunkMark,
) -> Result<MarkedPart, OperationError> {
    let mut ids = Vec::new();
    for (file, chosen) in part.part.files.iter().zip(&part.chosen) {
        if chosen.is_empty() {
            continue;
        }
        let hunks = mark_hunks(project, batch, file, chosen, mark)?;
        let body = json!({ "path": file.path, "hunks": hunks, "reviewed": mark.reviewed });
        let stamp = batch.next_stamp(mark.at);
        record_entry(batch, stamp, JournalKind::HunksReviewed, None, body)?;
        ids.extend(hunks);
    }
    let open = unreviewed_changes(project, batch, part)?;
    let of_part = part.part.files.iter().flat_map(|file| &file.changes);
    for id in of_part.filter(|id| !open.contains(id)) {
        if let Some(change) = batch.change(*id)? {
            batch.set_reviewed_line(&change.path, seen_change_key(*id), true)?;
        }
    }
    Ok(MarkedPart { hunks: ids, open })
}

fn mark_hunks(
    project: &Project,
    batch: &Batch<'_>,
    file: &ReviewFile,
    chosen: &ChosenLines,
    mark: HunkMark,
) -> Result<Vec<HunkId>, OperationError> {
    let keys: Vec<u64> = with_marks(project, file, |source| {
        let keys = |(at, lines): (&usize, &Option<HunkLines>)| {
            source.keys_to_mark(&file.hunks[*at], lines.as_ref())
        };
        chosen.iter().flat_map(keys).collect()
    })?;
    // Under its earlier names it has the marks that were set before it was moved.
    let names = || file.names.iter().filter(|path| !mark.reviewed || **path == file.path);
    for key in keys {
        for path in names() {
            batch.set_reviewed_line(path, key, mark.reviewed)?;
        }
    }
    Ok(chosen.keys().map(|at| file.hunks[*at].id).collect())
}

/// Reads what the keys of a file's hunks follow from.
fn with_marks<T>(
    project: &Project,
    file: &ReviewFile,
    read: impl FnOnce(&MarkSource<'_>) -> T,
) -> Result<T, StoreError> {
    let now: Vec<&[u8]> = lines(file.now_text.as_deref().unwrap_or_default()).collect();
    let mut changes = BTreeMap::new();
    for id in &file.changes {
        changes.extend(project.store().change(*id)?.map(|change| (*id, change)));
    }
    Ok(read(&MarkSource { now: &now, trace: &file.trace, changes: &changes }))
}
