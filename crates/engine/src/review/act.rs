//! Acts on hunks: finding those that a person names, marking them as seen, keeping them.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{ChangeId, HunkId, HunkKind, JournalKind, Millis, ProjectPath};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::OperationError;
use crate::journal::record_entry;
use crate::project::Project;
use crate::review::file::{FileReader, Review, ReviewFile, ReviewedPart};
use crate::review::file_target::HunkLines;
use crate::review::marking::{HunkMarking, MarkedPart};
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
        self.decide_hunks(request, at, |marking| {
            if !reviewed {
                marking.open_again()?;
            }
            let MarkedPart { hunks, .. } = marking.mark(reviewed)?;
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
        self.decide_hunks(request, at, |marking| {
            let MarkedPart { hunks, open } = marking.mark(true)?;
            let accepted = marking.accept_seen(&open)?;
            marking.settle_kept()?;
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
        decide: impl Fn(&HunkMarking<'_>) -> Result<ReviewedHunks, OperationError>,
    ) -> Result<ReviewedHunks, OperationError> {
        let _lock = self.lock_and_refresh(at)?;
        let (review, parts) = self.find_hunks(request)?;
        let mut all = ReviewedHunks::default();
        let (batch, seq) = (self.store().batch()?, self.store().last_seq()?);
        for part in &parts {
            let marking = HunkMarking { batch: &batch, review: &review, part, at, seq };
            let done = decide(&marking)?;
            all.hunks.extend(done.hunks);
            all.accepted.extend(done.accepted);
        }
        batch.commit()?;
        Ok(all)
    }

    /// A request for all hunks of a scope, without those that the person keeps and lines of them: a
    /// rejection of the rest does not mean these.
    pub fn without_kept(&self, request: &HunkRequest) -> Result<HunkRequest, OperationError> {
        if !request.all {
            return Ok(request.clone());
        }
        let review = self.review(&request.scope)?;
        let (mut open, mut has_kept) = (Vec::new(), false);
        for entry in review.entries() {
            for file in review.files(entry)? {
                for hunk in &file.hunks {
                    let lines = hunk.unseen_lines();
                    has_kept |= hunk.reviewed || lines.is_some();
                    if hunk.reviewed || lines.as_ref().is_some_and(HunkLines::is_empty) {
                        continue;
                    }
                    let (path, digest) = (Some(file.path.clone()), Some(file.digest.clone()));
                    open.push(HunkChoice { id: hunk.id, path, lines, digest });
                }
            }
        }
        if !has_kept {
            return Ok(request.clone());
        }
        Ok(HunkRequest { scope: request.scope.clone(), hunks: open, all: false })
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
                    chosen.push(choose_hunks(file, request, &mut missing)?);
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

/// The choices by their hunk; several of one hunk are all of their lines.
fn join_choices(choices: &[HunkChoice]) -> BTreeMap<HunkId, HunkChoice> {
    let mut joined: BTreeMap<HunkId, HunkChoice> = BTreeMap::new();
    for choice in choices {
        let Some(same) = joined.get_mut(&choice.id) else {
            joined.insert(choice.id, choice.clone());
            continue;
        };
        same.lines = same.lines.take().zip(choice.lines.as_ref()).map(|(mut lines, more)| {
            lines.extend(more);
            lines
        });
    }
    joined
}

/// Takes the named hunks of a file out of `missing`.
fn choose_hunks(
    file: &ReviewFile,
    request: &HunkRequest,
    missing: &mut BTreeMap<HunkId, HunkChoice>,
) -> Result<ChosenLines, OperationError> {
    let mut chosen = BTreeMap::new();
    for (at, hunk) in file.hunks.iter().enumerate() {
        let is_covered = request.scope.covers(&file.path) || request.scope.covers(&file.old_path);
        let is_here = |choice: &&HunkChoice| {
            let path = choice.path.as_ref();
            is_covered && path.is_none_or(|path| *path == file.path || *path == file.old_path)
        };
        let Some(choice) = missing.get(&hunk.id).filter(is_here) else {
            if request.all {
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
    let is_empty = chosen.is_empty();
    if !has_lines || is_empty || !fits(&chosen.removed, removed) || !fits(&chosen.added, added) {
        return Err(OperationError::UnknownHunkLines { hunk: id, removed, added });
    }
    let is_all = chosen.removed.len() == removed && chosen.added.len() == added;
    Ok((!is_all).then_some(chosen))
}
