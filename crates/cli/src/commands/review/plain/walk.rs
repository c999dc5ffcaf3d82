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

    /// The hunk and the open ones of its file after it.
    pub(super) fn rest(&self) -> impl Iterator<Item = &ReviewHunk> {
        let after = self.file.hunks[self.at + 1..].iter();
        std::iter::once(self.hunk()).chain(after.filter(|hunk| is_open(hunk)))
    }

    /// A hunk as it is rejected: without lines that are kept, or wait already. What is all decided on is
    /// decided on otherwise.
    pub(super) fn choice_to_reject(&self, hunk: &ReviewHunk) -> HunkChoice {
        let lines = match open_part(hunk) {
            OpenPart::Lines(lines) => Some(lines),
            OpenPart::All | OpenPart::Nothing => None,
        };
        HunkChoice { lines, ..self.choice_of(hunk) }
    }

    /// A hunk as it is kept: without lines that wait to be rejected.
    pub(super) fn choice_to_keep(&self, hunk: &ReviewHunk) -> HunkChoice {
        match hunk.queued_lines {
            Some(_) => self.choice_to_reject(hunk),
            None => self.choice_of(hunk),
        }
    }

    /// The rejection that waits, where nothing of the hunk is open beside it.
    pub(super) fn waiting_rejection(&self) -> Option<u64> {
        self.hunk().queued.filter(|_| !is_open(self.hunk()))
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

/// What of a hunk is still to be decided on.
enum OpenPart {
    Nothing,
    All,
    Lines(HunkLines),
}

/// Leaves out the lines that are kept, and those that wait to be rejected.
fn open_part(hunk: &ReviewHunk) -> OpenPart {
    let all_waits = hunk.queued.is_some() && hunk.queued_lines.is_none();
    if hunk.reviewed || all_waits {
        return OpenPart::Nothing;
    }
    let unseen = hunk.unseen_lines();
    if unseen.is_none() && hunk.queued.is_none() {
        return OpenPart::All;
    }
    let numbers = |count: usize| (1..=u32::try_from(count).unwrap_or(u32::MAX)).collect();
    let mut open = unseen.unwrap_or_else(|| HunkLines {
        removed: numbers(hunk.removed.len()),
        added: numbers(hunk.added.len()),
    });
    if let Some(waiting) = &hunk.queued_lines {
        open.removed.retain(|number| !waiting.removed.contains(number));
        open.added.retain(|number| !waiting.added.contains(number));
    }
    match (open.is_empty(), hunk.queued) {
        (true, Some(_)) => OpenPart::Nothing,
        // Its lines are kept, but not that it is there.
        (true, None) => OpenPart::All,
        (false, _) => OpenPart::Lines(open),
    }
}

fn is_open(hunk: &ReviewHunk) -> bool {
    !matches!(open_part(hunk), OpenPart::Nothing)
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

    /// Hunks of a file are to be decided on again.
    pub(super) fn reopen(&mut self, place: &HunkPlace, hunks: &[HunkId]) {
        self.skipped.retain(|key| key.0 != place.id && !hunks.contains(&key.0));
        self.return_to(&place.path);
    }

    /// Goes on with a file that is already passed.
    pub(super) fn return_to(&mut self, path: &ProjectPath) {
        self.at = self.paths.iter().position(|one| one == path).unwrap_or(self.at);
    }

    /// Returns true if something of the scope is open, skipped or not.
    pub(super) fn has_open(&self) -> Result<bool> {
        for path in &self.paths {
            if self.find_in(path, |_, hunk| is_open(hunk))?.is_some() {
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

    fn open_hunk_in(&mut self, path: &ProjectPath) -> Result<Option<ShownHunk<'p>>> {
        let mut left_open = 0;
        let mut is_next = |file: &ReviewFile, hunk: &ReviewHunk| {
            let is_open = is_open(hunk);
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
