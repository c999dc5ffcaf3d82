//! Hunks of a review: places that a person keeps or takes back, and who is behind them.

use std::collections::BTreeMap;

use retake_engine::model::{
    Actor, Change, ChangeId, ChangeStatus, Confidence, HunkKind, Millis, ProjectPath, QueueState,
};
use retake_engine::{
    DiffLine, HunkHeader, Project, Review, ReviewEntry, ReviewFile, ReviewHunk, StoreError,
    WordRanges, changed_words_of_diff, iso_8601,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::diff_hunks::{DiffHunk, hunks};
use super::diff_page::{DiffLimits, LinesPage};
use super::path::{LocatePaths as _, PathName, hex_if_needed};
use super::{CandidateDocument, SideDocument, enum_schemas};
use crate::describe::{DialogNames, unescaped};
use crate::review::format_scope;
use crate::syntax::{DiffHighlighter, LineTokens};
use crate::{FileContent, Masking};

/// Maximum lines of one hunk in a document; the diff of the file has all of them.
const MAX_HUNK_LINES: usize = 2000;

/// The files of a review, without their hunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewList)]
pub struct ReviewListDocument {
    /// The scope, as it is named.
    #[schema(example = "last-turn")]
    pub scope: String,
    /// The same changes by a name that does not depend on the moment.
    #[schema(example = "dialog:d1:3")]
    pub resolved: String,
    /// The place in the project's order that this is of.
    pub seq: u64,
    /// The place up to which the person has seen everything.
    pub seen: u64,
    /// The files, in the order of their paths.
    pub files: Vec<ReviewEntryDocument>,
    /// Changes that are left out, since an agent outside of the scope may have made them.
    pub shared: Vec<String>,
    /// Rejections that wait for the end of a turn.
    pub queued: u64,
    /// Comments that are not sent yet.
    pub drafts: u64,
    /// What to send as `after` for the files that follow; null if these are the last.
    pub next: Option<String>,
}

/// A file of a review, as far as it is known without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewEntry)]
pub struct ReviewEntryDocument {
    /// Where it is, or was before it was deleted.
    #[serde(flatten)]
    pub path: PathName,
    /// Where it was before the changes, if that is elsewhere.
    pub old_path: Option<String>,
    /// The changes, oldest first.
    pub changes: Vec<String>,
    /// The dialogs of the changes.
    pub dialogs: Vec<DialogName>,
    /// Lines that the changes added, each counted by itself.
    pub added: u64,
    /// Lines that they removed.
    pub removed: u64,
    /// When the newest of them was recorded.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// The same in milliseconds since the epoch.
    pub at: Millis,
}

/// A dialog and the name by which people know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DialogName {
    /// Its id.
    pub id: String,
    /// Its short name.
    #[schema(example = "claude-2")]
    pub name: String,
}

/// The hunks of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewFile)]
pub struct ReviewFileDocument {
    /// Where it is; the old path if it is gone.
    #[serde(flatten)]
    pub path: PathName,
    /// Where it would be without the changes.
    pub old_path: String,
    /// The old path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path_hex: Option<String>,
    /// What the hunks are of: an act on one of several equal hunks needs it.
    pub digest: String,
    /// The state without the changes; null if the file would not exist.
    pub before: Option<SideDocument>,
    /// The state now; null if the file is gone.
    pub after: Option<SideDocument>,
    /// Number of hunks that the person has not seen.
    pub unreviewed: u64,
    /// Lines added, in all hunks.
    pub added: u64,
    /// Lines removed, in all hunks.
    pub removed: u64,
    /// Whether the lines have tokens.
    pub highlighted: bool,
    /// The hunks, in the order of the file's lines.
    pub hunks: Vec<ReviewHunkDocument>,
}

/// A place that a person keeps or takes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewHunk)]
pub struct ReviewHunkDocument {
    /// Its name; it stays the same while other places change.
    #[schema(example = "h3f9a2c81d0e4")]
    pub id: String,
    /// What it is.
    #[schema(schema_with = enum_schemas::hunk_kind)]
    pub kind: HunkKind,
    /// Where it is, with its lines: those that were removed, then those that were added.
    #[serde(flatten)]
    pub place: DiffHunk,
    /// Lines of it that are left out here; the diff of the file has them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// The changes behind it, oldest first.
    pub changes: Vec<HunkChange>,
    /// Why it cannot be taken out by itself; null if it can.
    pub entangled: Option<Entanglement>,
    /// Whether the person has seen all of it.
    pub reviewed: bool,
    /// The rejections whose lines it brings again.
    pub again: Vec<AddedAgainDocument>,
    /// The number of the rejection of it that waits; null if none does.
    pub queued: Option<u64>,
    /// The numbers of the comments on its lines.
    pub comments: Vec<u64>,
}

/// What stands in the way of taking a place out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Entanglement {
    /// In words.
    pub reason: String,
    /// The later changes that would have to go, too.
    pub blockers: Vec<HunkChange>,
}

/// A rejection whose lines came again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AddedAgain)]
pub struct AddedAgainDocument {
    /// The operation.
    #[schema(example = "o7")]
    pub operation: String,
    /// The reason that the person gave.
    pub reason: Option<String>,
}

/// A change behind a hunk, and who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HunkChange {
    /// The change.
    #[schema(example = "c12")]
    pub id: String,
    /// Who made it.
    #[schema(schema_with = enum_schemas::actor)]
    pub actor: Actor,
    /// The same in words: `claude-2`, `you`.
    pub maker: String,
    /// How sure that is.
    #[schema(schema_with = enum_schemas::confidence)]
    pub confidence: Confidence,
    /// The dialog.
    pub dialog: Option<String>,
    /// The message of the dialog that it is an answer to, from 1.
    pub turn: Option<u64>,
    /// The agent within the dialog.
    pub agent: Option<String>,
    /// The product of the agent.
    pub kind: Option<String>,
    /// The model that asked for the call.
    pub model: Option<String>,
    /// The tool call.
    pub call: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// Every call that can have made it.
    pub candidates: Vec<CandidateDocument>,
    /// What was decided about it; null for what no agent did.
    #[schema(schema_with = enum_schemas::review_status)]
    pub status: Option<ChangeStatus>,
    /// When it was recorded, in milliseconds since the epoch.
    pub at: Millis,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Writes the hunks of one request.
#[derive(Debug)]
pub struct HunkRenderer<'a> {
    project: &'a Project,
    names: DialogNames,
    masking: Masking,
    syntax: DiffHighlighter,
    has_tokens: bool,
}

impl<'a> HunkRenderer<'a> {
    /// For the hunks of a project.
    pub fn new(project: &'a Project, masking: Masking) -> Result<Self, StoreError> {
        let names = DialogNames::load(project, unescaped)?;
        let syntax = DiffHighlighter::default();
        Ok(Self { project, names, masking, syntax, has_tokens: true })
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

    /// The files of a review, from the one after `after` on, at most so many.
    pub fn render_list(
        &self,
        review: &Review<'_>,
        scope: String,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ReviewListDocument, StoreError> {
        let is_later = |entry: &&ReviewEntry| {
            after.is_none_or(|after| entry.path.to_string().as_str() > after)
        };
        let mut entries = review.entries().iter().filter(is_later);
        let files: Vec<_> = entries.by_ref().take(limit).map(|entry| self.entry(entry)).collect();
        let next = entries.next().and(files.last()).map(|last| last.path.path.clone());
        let waiting = self.project.queued_rejections(usize::MAX)?;
        let waiting = waiting.iter().filter(|entry| entry.state == QueueState::Waiting);
        Ok(ReviewListDocument {
            scope,
            resolved: format_scope(&review.scope),
            seq: review.seq,
            seen: self.project.review_seen()?,
            files,
            shared: review.shared.iter().map(ToString::to_string).collect(),
            queued: waiting.count() as u64,
            drafts: self.project.draft_comments()?,
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

    /// The hunks of a file of a review.
    pub fn render_file(
        &mut self,
        review: &Review<'_>,
        file: &ReviewFile,
    ) -> Result<ReviewFileDocument, StoreError> {
        let (mut lines, left_out) = shown_lines(file);
        self.mask(file, &mut lines)?;
        let mut page = LinesPage::default();
        DiffLimits::cut_long_lines(&mut lines, &mut page);
        let tokens = self.tokens(file, &lines)?;
        let highlighted = tokens.is_some();
        let tokens = tokens.unwrap_or_else(|| vec![LineTokens::new(); lines.len()]);
        let words: Vec<WordRanges> = changed_words_of_diff(&lines);
        let places = hunks(&lines, words.into_iter().zip(tokens), &page);
        let mut documents = Vec::new();
        for ((hunk, place), left_out) in file.hunks.iter().zip(places).zip(left_out) {
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
        let mut again = Vec::new();
        for operation in &hunk.again {
            let reason = self.project.rejection_reason(*operation)?;
            let reason = self.masking.mask_optional(reason.as_deref());
            again.push(AddedAgainDocument { operation: operation.to_string(), reason });
        }
        Ok(ReviewHunkDocument {
            id: hunk.id.to_string(),
            kind: hunk.kind,
            place,
            left_out,
            changes: behind.map(|change| self.change(change)).collect(),
            entangled,
            reviewed: hunk.reviewed,
            again,
            queued: hunk.queued,
            comments: hunk.comments.clone(),
        })
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
    fn mask(&self, file: &ReviewFile, lines: &mut [DiffLine]) -> Result<(), StoreError> {
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
                    let hunk = number.and_then(|number| file.hunks.get(number));
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

/// The lines of all hunks, each with its header, and how many of each are left out.
fn shown_lines(file: &ReviewFile) -> (Vec<DiffLine>, Vec<u64>) {
    let (mut lines, mut left_out) = (Vec::new(), Vec::new());
    let range = |range: &std::ops::Range<usize>| {
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        number(range.start)..number(range.end)
    };
    for hunk in &file.hunks {
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

/// A list of changes by their names.
pub(super) fn change_names(ids: &[ChangeId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}
