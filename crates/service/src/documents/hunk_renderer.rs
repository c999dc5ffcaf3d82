//! Writes the hunks of a review as documents: masked, with changed words and highlighting.

use std::collections::BTreeMap;
use std::ops::Range;

use retake_engine::model::{Change, HunkKind, ProjectPath, QueueState};
use retake_engine::{
    DiffLine, HunkHeader, Project, Review, ReviewEntry, ReviewFile, ReviewHunk, StoreError,
    WordRanges, changed_words_of_diff, iso_8601,
};

use super::diff_hunks::{DiffHunk, hunks};
use super::diff_page::{DiffLimits, LinesPage};
use super::hunk::{
    AddedAgainDocument, DialogName, Entanglement, HunkChange, ReviewEntryDocument,
    ReviewFileDocument, ReviewFilesDocument, ReviewHunkDocument, ReviewListDocument,
};
use super::path::{LocatePaths as _, PathName, hex, hex_if_needed};
use super::{CandidateDocument, SideDocument};
use crate::describe::{DialogNames, unescaped};
use crate::review::format_hunk_lines;
use crate::review::{CommentReader, format_scope};
use crate::syntax::{DiffHighlighter, LineTokens};
use crate::{FileContent, Masking};

/// Maximum lines of one hunk in a document; the diff of the file has all of them.
const MAX_HUNK_LINES: usize = 2000;

/// A page of hunks, which are counted through all files of a document.
#[derive(Clone, Copy, Debug)]
pub struct HunkPage {
    /// The number of hunks before it.
    pub first: usize,
    /// Maximum number of hunks.
    pub limit: usize,
}

/// Writes the hunks of one request.
#[derive(Debug)]
pub struct HunkRenderer<'a> {
    project: &'a Project,
    names: DialogNames,
    masking: Masking,
    reader: CommentReader,
    syntax: DiffHighlighter,
    has_tokens: bool,
}

impl<'a> HunkRenderer<'a> {
    /// For the hunks of a project.
    pub fn new(project: &'a Project, masking: Masking) -> Result<Self, StoreError> {
        let names = DialogNames::load(project, unescaped)?;
        let syntax = DiffHighlighter::default();
        let reader = CommentReader::Person;
        Ok(Self { project, names, masking, reader, syntax, has_tokens: true })
    }

    /// For this reader, who is told only of comments that it sees.
    #[must_use]
    pub fn read_by(self, reader: CommentReader) -> Self {
        Self { reader, ..self }
    }

    /// For one file, of which more is highlighted.
    #[must_use]
    pub fn for_one_file(self) -> Self {
        Self { syntax: DiffHighlighter::for_one_file(), ..self }
    }

    /// Without highlighting.
    #[must_use]
    pub fn without_tokens(self) -> Self {
        Self { has_tokens: false, ..self }
    }

    /// The files of a review, from the one after `after` on, at most so many. The cursor is the path
    /// in hexadecimal digits, which are in the same order.
    pub fn render_list(
        &self,
        review: &Review<'_>,
        scope: String,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ReviewListDocument, StoreError> {
        let is_later = |entry: &&ReviewEntry| {
            after.is_none_or(|after| hex(entry.path.as_bytes()).as_str() > after)
        };
        let mut entries = review.entries().iter().filter(is_later);
        let page: Vec<_> = entries.by_ref().take(limit).collect();
        let next = entries.next().and(page.last()).map(|last| hex(last.path.as_bytes()));
        let waiting = self.project.queued_rejections(usize::MAX)?;
        let waiting = waiting.iter().filter(|entry| entry.state == QueueState::Waiting);
        Ok(ReviewListDocument {
            scope,
            resolved: format_scope(&review.scope),
            seq: review.seq,
            seen: self.project.review_seen()?,
            files: page.into_iter().map(|entry| self.entry(entry)).collect(),
            shared: review.shared.iter().map(ToString::to_string).collect(),
            queued: waiting.count() as u64,
            drafts: if self.reader.is_person() { self.project.draft_comments()? } else { 0 },
            next,
        })
    }

    fn entry(&self, entry: &ReviewEntry) -> ReviewEntryDocument {
        let dialogs = entry.dialogs.iter();
        let dialogs =
            dialogs.map(|id| DialogName { id: id.0.clone(), name: self.names.dialog(id) });
        ReviewEntryDocument {
            path: PathName::from(&entry.path).located(self.project.root()),
            old_path: entry.old_path.as_ref().map(ToString::to_string),
            changes: entry.changes.iter().map(ToString::to_string).collect(),
            dialogs: dialogs.collect(),
            added: entry.added,
            removed: entry.removed,
            timestamp: iso_8601(entry.at),
            at: entry.at,
        }
    }

    /// Files of a review that are shown together, with the hunks of one page.
    pub fn render_files(
        &mut self,
        review: &Review<'_>,
        scope: String,
        files: &[ReviewFile],
        page: HunkPage,
    ) -> Result<ReviewFilesDocument, StoreError> {
        let end = page.first.saturating_add(page.limit);
        let mut documents = Vec::new();
        let mut before = 0;
        for file in files {
            let place = |at: usize| at.saturating_sub(before).min(file.hunks.len());
            documents.push(self.render_hunks(review, file, place(page.first)..place(end))?);
            before += file.hunks.len();
        }
        Ok(ReviewFilesDocument {
            scope,
            resolved: format_scope(&review.scope),
            seq: review.seq,
            files: documents,
            next: (end < before).then_some(end as u64),
            more: 0,
        })
    }

    /// The hunks of a file of a review.
    pub fn render_file(
        &mut self,
        review: &Review<'_>,
        file: &ReviewFile,
    ) -> Result<ReviewFileDocument, StoreError> {
        self.render_hunks(review, file, 0..file.hunks.len())
    }

    /// The same with some of the hunks.
    pub fn render_hunks(
        &mut self,
        review: &Review<'_>,
        file: &ReviewFile,
        shown: Range<usize>,
    ) -> Result<ReviewFileDocument, StoreError> {
        let shown = file.hunks.get(shown).unwrap_or_default();
        let (mut lines, left_out) = shown_lines(shown);
        self.mask(file, shown, &mut lines)?;
        let mut page = LinesPage::default();
        DiffLimits::cut_long_lines(&mut lines, &mut page);
        let tokens = self.tokens(file, &lines)?;
        let highlighted = tokens.is_some();
        let tokens = tokens.unwrap_or_else(|| vec![LineTokens::new(); lines.len()]);
        let words: Vec<WordRanges> = changed_words_of_diff(&lines);
        let places = hunks(&lines, words.into_iter().zip(tokens), &page);
        let mut documents = Vec::new();
        for ((hunk, place), left_out) in shown.iter().zip(places).zip(left_out) {
            documents.push(self.hunk(review, hunk, place, left_out)?);
        }
        let count = |of: fn(&ReviewHunk) -> usize| {
            file.hunks.iter().map(|hunk| of(hunk) as u64).sum::<u64>()
        };
        Ok(ReviewFileDocument {
            path: PathName::from(&file.path).located(self.project.root()),
            old_path: file.old_path.to_string(),
            old_path_hex: hex_if_needed(&file.old_path),
            digest: file.digest.clone(),
            before: SideDocument::of(&file.base),
            after: SideDocument::of(&file.now),
            count: file.hunks.len() as u64,
            unreviewed: file.unreviewed() as u64,
            added: count(|hunk| hunk.added.len()),
            removed: count(|hunk| hunk.removed.len()),
            highlighted,
            hunks: documents,
        })
    }

    fn hunk(
        &self,
        review: &Review<'_>,
        hunk: &ReviewHunk,
        place: DiffHunk,
        left_out: u64,
    ) -> Result<ReviewHunkDocument, StoreError> {
        let behind = hunk.changes.iter().filter_map(|id| review.change(*id));
        let entangled = match &hunk.obstacle {
            Some(reason) => {
                let mut blockers = Vec::new();
                for id in &hunk.blockers {
                    blockers.extend(self.project.change(*id)?.map(|later| self.change(&later)));
                }
                Some(Entanglement { reason: reason.to_string(), blockers })
            }
            None => None,
        };
        let again = AddedAgainDocument::read(self.project, &hunk.again, self.masking)?;
        Ok(ReviewHunkDocument {
            id: hunk.id.to_string(),
            kind: hunk.kind,
            place,
            left_out,
            changes: behind.map(|change| self.change(change)).collect(),
            entangled,
            reviewed: hunk.reviewed,
            again,
            seen_lines: (!hunk.reviewed && !hunk.seen_lines.is_empty())
                .then(|| format_hunk_lines(&hunk.seen_lines)),
            queued: hunk.queued,
            queued_lines: hunk.queued_lines.as_ref().map(format_hunk_lines),
            comments: self.seen_comments(&hunk.comments)?,
        })
    }

    fn seen_comments(&self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        let mut seen = Vec::new();
        for id in ids {
            let comment = self.project.comment(*id)?;
            seen.extend(comment.filter(|it| self.reader.sees(it)).map(|it| it.id));
        }
        Ok(seen)
    }

    fn change(&self, change: &Change) -> HunkChange {
        HunkChange {
            id: change.id.to_string(),
            actor: change.actor,
            maker: self.names.maker(change),
            confidence: change.confidence,
            dialog: change.dialog.as_ref().map(|id| id.0.clone()),
            turn: change.turn,
            agent: change.agent.as_ref().map(|id| id.0.clone()),
            kind: change.kind.clone(),
            model: change.model.clone(),
            call: change.call.as_ref().map(|id| id.0.clone()),
            tool: change.tool.clone(),
            candidates: change.candidates.iter().map(CandidateDocument::from).collect(),
            status: change.review_status(),
            at: change.at,
        }
    }

    /// Takes secrets out of the lines. Those of entangled places are not where they are in the
    /// contents, so they are masked by themselves.
    fn mask(
        &self,
        file: &ReviewFile,
        shown: &[ReviewHunk],
        lines: &mut [DiffLine],
    ) -> Result<(), StoreError> {
        if self.masking == Masking::Off {
            return Ok(());
        }
        let old = self.masking.masking_path(self.project, &file.old_path, &file.base)?;
        let new = self.masking.masking_path(self.project, &file.path, &file.now)?;
        let secret = self.masking.secret_name([&old, &new]);
        let (old, new) = (secret.unwrap_or(&old), secret.unwrap_or(&new));
        let mut entangled = BTreeMap::new();
        let mut number = None;
        for (at, line) in lines.iter().enumerate() {
            match line {
                DiffLine::Header(_) => number = Some(number.map_or(0, |last: usize| last + 1)),
                DiffLine::Removed(text) | DiffLine::Added(text) => {
                    let hunk = number.and_then(|number| shown.get(number));
                    if hunk.is_some_and(|hunk| hunk.kind == HunkKind::Entangled) {
                        entangled.insert(at, text.clone());
                    }
                }
                _ => {}
            }
        }
        let bytes = |text: &Option<Vec<u8>>| text.clone().unwrap_or_default();
        let (before, after) = (bytes(&file.base_text), bytes(&file.now_text));
        let old_side = FileContent { path: old, bytes: &before };
        self.masking.mask_diff(old_side, FileContent { path: new, bytes: &after }, lines);
        self.mask_by_themselves(new, &entangled, lines);
        Ok(())
    }

    fn mask_by_themselves(
        &self,
        path: &ProjectPath,
        exact: &BTreeMap<usize, Vec<u8>>,
        lines: &mut [DiffLine],
    ) {
        let all: Vec<&[u8]> = exact.values().map(Vec::as_slice).collect();
        let masked = self.masking.mask_bytes(path, all.join(&b'\n'));
        for (at, text) in exact.keys().zip(masked.split(|byte| *byte == b'\n')) {
            if let Some(DiffLine::Removed(line) | DiffLine::Added(line)) = lines.get_mut(*at) {
                *line = text.to_vec();
            }
        }
    }

    fn tokens(
        &mut self,
        file: &ReviewFile,
        lines: &[DiffLine],
    ) -> Result<Option<Vec<LineTokens>>, StoreError> {
        let Some(now) = file.now_text.clone().filter(|_| self.has_tokens) else { return Ok(None) };
        // Lines of entangled places are not those of the file, so nothing is known of what is above.
        if file.hunks.iter().any(|hunk| hunk.kind == HunkKind::Entangled) {
            return Ok(None);
        }
        let name = self.masking.masking_path(self.project, &file.path, &file.now)?;
        let now = self.masking.mask_bytes(&name, now);
        Ok(self.syntax.tokens(file.path.as_bytes(), &now, lines))
    }
}

/// The lines of hunks, each with its header, and how many of each are left out.
fn shown_lines(shown: &[ReviewHunk]) -> (Vec<DiffLine>, Vec<u64>) {
    let (mut lines, mut left_out) = (Vec::new(), Vec::new());
    let range = |range: &Range<usize>| {
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        number(range.start)..number(range.end)
    };
    for hunk in shown {
        lines.push(DiffLine::Header(HunkHeader { old: range(&hunk.old), new: range(&hunk.new) }));
        let removed = hunk.removed.iter().map(|text| (DiffLine::Removed as LineOf, text));
        let added = hunk.added.iter().map(|text| (DiffLine::Added as LineOf, text));
        for (line, text) in removed.chain(added).take(MAX_HUNK_LINES) {
            let bare = text.strip_suffix(b"\n");
            let is_link = hunk.kind == HunkKind::Link;
            lines.push(line(bare.unwrap_or(text).to_vec()));
            lines.extend((bare.is_none() && !is_link).then_some(DiffLine::NoNewline));
        }
        let count = hunk.removed.len() + hunk.added.len();
        left_out.push(count.saturating_sub(MAX_HUNK_LINES) as u64);
    }
    (lines, left_out)
}

/// Makes a line of one side.
type LineOf = fn(Vec<u8>) -> DiffLine;
