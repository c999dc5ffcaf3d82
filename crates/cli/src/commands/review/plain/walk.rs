//! The way through the hunks of a scope.
//!
//! Invariants: a file is read when it is reached, and again after each answer. A hunk that changed, or
//! came while others were decided on, is asked about before the walk ends.

use std::collections::HashSet;

use anyhow::Result;
use retake_engine::model::{HunkId, ProjectPath};
use retake_engine::{HunkChoice, HunkLines, Project, Review, ReviewFile, ReviewHunk, ReviewScope};
use retake_service::request::RefreshProject;

use crate::context::CommandContext;
use crate::output::warn;

/// Where a hunk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HunkPlace {
    pub(super) path: ProjectPath,
    pub(super) id: HunkId,
}

/// A hunk that is shown, with its file.
pub(super) struct ShownHunk<'p> {
    pub(super) review: Review<'p>,
    pub(super) file: ReviewFile,
    /// Its index in the file.
    pub(super) at: usize,
    /// The number of its file in the scope, from 1, and the number of files.
    pub(super) file_number: (usize, usize),
}

impl ShownHunk<'_> {
    pub(super) fn hunk(&self) -> &ReviewHunk {
        &self.file.hunks[self.at]
    }

    pub(super) fn place(&self) -> HunkPlace {
        HunkPlace { path: self.file.path.clone(), id: self.hunk().id }
    }

    /// The hunk, or some of its lines, as an act names it.
    pub(super) fn choice(&self, lines: Option<HunkLines>) -> HunkChoice {
        HunkChoice { lines, ..self.choice_of(self.hunk()) }
    }

    /// Returns true if later changes build on a hunk of the file.
    pub(super) fn is_entangled(&self, choice: &HunkChoice) -> bool {
        self.file.hunk(choice.id).is_some_and(|hunk| hunk.obstacle.is_some())
    }

    fn choice_of(&self, hunk: &ReviewHunk) -> HunkChoice {
        HunkChoice {
            id: hunk.id,
            path: Some(self.file.path.clone()),
            lines: None,
            digest: Some(self.file.digest.clone()),
        }
    }

    /// What tells the hunk from others: where equal ones are only numbered, the file, too.
    fn key(&self) -> HunkKey {
        hunk_key(&self.file, self.hunk())
    }
}

type HunkKey = (HunkId, Option<String>);

fn hunk_key(file: &ReviewFile, hunk: &ReviewHunk) -> HunkKey {
    (hunk.id, (hunk.id.ordinal > 0).then(|| file.digest.clone()))
}

/// The files of a scope, and what of them the person was asked about.
pub(super) struct HunkWalk<'p> {
    context: &'p CommandContext,
    project: &'p Project,
    scope: ReviewScope,
    /// The place in the order at the beginning.
    began_at: u64,
    paths: Vec<ProjectPath>,
    at: usize,
    /// Whether this round has found an open hunk.
    has_found: bool,
    /// Open hunks that this round has passed, since the person left them.
    left_open: usize,
    skipped: HashSet<HunkKey>,
    /// Hunks of which only some lines wait in the queue.
    partly_queued: HashSet<HunkKey>,
}

impl<'p> HunkWalk<'p> {
    /// A walk through the scope as it is now: what it is named after does not move on meanwhile.
    pub(super) fn new(
        context: &'p CommandContext,
        project: &'p Project,
        scope: &ReviewScope,
    ) -> Result<Self> {
        let review = project.review(scope)?;
        Ok(Self {
            context,
            project,
            scope: review.scope.clone(),
            began_at: review.seq,
            paths: paths_of(&review),
            at: 0,
            has_found: false,
            left_open: 0,
            skipped: HashSet::new(),
            partly_queued: HashSet::new(),
        })
    }

    pub(super) fn scope(&self) -> &ReviewScope {
        &self.scope
    }

    pub(super) fn began_at(&self) -> u64 {
        self.began_at
    }

    /// Returns true if no file is in the scope.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Open hunks that the person left, once [`Self::next_open`] has found no more.
    pub(super) fn left_open(&self) -> usize {
        self.left_open
    }

    /// The next hunk to ask about. After the last file all of them are gone through once more, for what
    /// changed meanwhile.
    pub(super) fn next_open(&mut self) -> Result<Option<ShownHunk<'p>>> {
        loop {
            while let Some(path) = self.paths.get(self.at).cloned() {
                if let Some(found) = self.open_hunk_in(&path)? {
                    self.has_found = true;
                    return Ok(Some(found));
                }
                self.at += 1;
            }
            if !self.has_found {
                return Ok(None);
            }
            self.begin_round()?;
        }
    }

    /// A hunk that was shown, if it is still there.
    pub(super) fn find(&self, place: &HunkPlace) -> Result<Option<ShownHunk<'p>>> {
        self.find_in(&place.path, |_, hunk| hunk.id == place.id)
    }

    /// Leaves a hunk open, as it is now.
    pub(super) fn skip(&mut self, shown: &ShownHunk<'_>) {
        self.skipped.insert(shown.key());
    }

    /// Leaves chosen hunks of a file open.
    pub(super) fn skip_all(&mut self, file: &ReviewFile, chosen: &[HunkChoice]) {
        let is_chosen = |hunk: &&ReviewHunk| chosen.iter().any(|choice| choice.id == hunk.id);
        let keys = file.hunks.iter().filter(is_chosen).map(|hunk| hunk_key(file, hunk));
        self.skipped.extend(keys);
    }

    /// The hunk and the open ones of its file after it, as an act names them.
    pub(super) fn rest_of(&self, shown: &ShownHunk<'_>) -> Vec<HunkChoice> {
        let after = shown.file.hunks[shown.at + 1..].iter();
        let open = after.filter(|hunk| self.is_open(&shown.file, hunk));
        let rest = std::iter::once(shown.hunk()).chain(open);
        rest.map(|hunk| shown.choice_of(hunk)).collect()
    }

    /// Hunks of a file wait in the queue. If only lines of one do, the others are still to be decided
    /// on.
    pub(super) fn note_queued(&mut self, file: &ReviewFile, chosen: &[HunkChoice]) {
        for choice in chosen {
            let Some(hunk) = file.hunk(choice.id) else { continue };
            let key = hunk_key(file, hunk);
            match choice.lines {
                Some(_) => self.partly_queued.insert(key),
                None => self.partly_queued.remove(&key),
            };
        }
    }

    /// The rejection that waits and takes all of the hunk along.
    pub(super) fn waiting_rejection(&self, shown: &ShownHunk<'_>) -> Option<u64> {
        shown.hunk().queued.filter(|_| !self.partly_queued.contains(&shown.key()))
    }

    /// Hunks of a file are to be decided on again.
    pub(super) fn reopen(&mut self, place: &HunkPlace, hunks: &[HunkId]) {
        let is_other = |key: &HunkKey| key.0 != place.id && !hunks.contains(&key.0);
        self.skipped.retain(is_other);
        self.partly_queued.retain(is_other);
        self.return_to(&place.path);
    }

    /// Goes on with a file that is already passed.
    pub(super) fn return_to(&mut self, path: &ProjectPath) {
        self.at = self.paths.iter().position(|one| one == path).unwrap_or(self.at);
    }

    /// Returns true if something of the scope is open, skipped or not.
    pub(super) fn has_open(&self) -> Result<bool> {
        for path in &self.paths {
            if self.find_in(path, |file, hunk| self.is_open(file, hunk))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn begin_round(&mut self) -> Result<()> {
        if !self.context.no_look
            && let Err(error) = self.context.run_request(self.project, RefreshProject {})
        {
            warn(&format!("the files could not be scanned again: {error}"));
        }
        self.paths = paths_of(&self.project.review(&self.scope)?);
        (self.at, self.has_found, self.left_open) = (0, false, 0);
        Ok(())
    }

    fn is_open(&self, file: &ReviewFile, hunk: &ReviewHunk) -> bool {
        let waits = hunk.queued.is_some() && !self.partly_queued.contains(&hunk_key(file, hunk));
        !hunk.reviewed && !waits
    }

    fn open_hunk_in(&mut self, path: &ProjectPath) -> Result<Option<ShownHunk<'p>>> {
        let mut left_open = 0;
        let mut is_next = |file: &ReviewFile, hunk: &ReviewHunk| {
            let is_open = self.is_open(file, hunk);
            let is_skipped = self.skipped.contains(&hunk_key(file, hunk));
            left_open += usize::from(is_open && is_skipped);
            is_open && !is_skipped
        };
        let found = self.find_in(path, &mut is_next)?;
        if found.is_none() {
            self.left_open += left_open;
        }
        Ok(found)
    }

    /// The first such hunk of a file, and of the files that are taken back with it.
    fn find_in(
        &self,
        path: &ProjectPath,
        mut is_it: impl FnMut(&ReviewFile, &ReviewHunk) -> bool,
    ) -> Result<Option<ShownHunk<'p>>> {
        let review = self.project.review(&self.scope.in_file(path))?;
        let mut files = Vec::new();
        for entry in review.entries() {
            files.extend(review.files(entry)?);
        }
        for file in files {
            if let Some(at) = file.hunks.iter().position(|hunk| is_it(&file, hunk)) {
                let number = self.paths.iter().position(|one| one == path).unwrap_or(self.at);
                let file_number = (number + 1, self.paths.len().max(number + 1));
                return Ok(Some(ShownHunk { review, file, at, file_number }));
            }
        }
        Ok(None)
    }
}

fn paths_of(review: &Review<'_>) -> Vec<ProjectPath> {
    let mut paths: Vec<_> = review.entries().iter().map(|entry| entry.path.clone()).collect();
    paths.dedup();
    paths
}
