//! Hunks: the places where a file differs from what it would be without the changes of a scope.
//!
//! Invariants: the hunks of a file are in the order of its lines, and ids are unique in a file. A
//! creation and a deletion show the file's lines, but are one hunk each.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use retake_model::{
    Change, ChangeId, FileKind, FileState, Hunk, HunkId, HunkKind, OperationId, PathState,
    ProjectPath,
};
use retake_store::{Store, StoreError};

use crate::content::comparable::comparable_content;
use crate::content::diff::{is_binary, is_too_large, line_changes, lines};
use crate::content::line_hash::hash_texts;
use crate::content::line_map::LineMap;
use crate::plan::PlanReason;
use crate::plan::draft::DraftFile;
use crate::review::file_target::HunkLines;
use crate::review::neighbours::Neighbours;
use crate::review::trace::{FileTrace, ranges_of};

/// A place that a person keeps or takes back.
#[derive(Clone, Debug)]
pub struct ReviewHunk {
    /// Its name.
    pub id: HunkId,
    /// What it is.
    pub kind: HunkKind,
    /// The lines without the changes, from 0.
    pub old: Range<usize>,
    /// The lines of the file now, from 0.
    pub new: Range<usize>,
    /// The lines that the changes took out, each with its end.
    pub removed: Vec<Vec<u8>>,
    /// The lines that they put in, each with its end.
    pub added: Vec<Vec<u8>>,
    /// The changes of the scope behind it.
    pub changes: BTreeSet<ChangeId>,
    /// Later changes that stand in the way, if it is entangled.
    pub blockers: BTreeSet<ChangeId>,
    /// Why it is entangled.
    pub obstacle: Option<PlanReason>,
    /// Whether the person has seen all of it.
    pub reviewed: bool,
    /// The rejections whose lines it brings again.
    pub again: BTreeSet<OperationId>,
    /// The lines of it that the person has seen.
    pub seen_lines: HunkLines,
    /// The queued rejection of it, or of some of its lines.
    pub queued: Option<u64>,
    /// The lines of it that wait to be rejected; none if all of it waits, or nothing.
    pub queued_lines: Option<HunkLines>,
    /// The comments on its lines.
    pub comments: Vec<u64>,
}

/// One file with and without the changes.
#[derive(Clone, Debug)]
pub(super) struct FileSides {
    /// Where it is without the changes.
    pub(super) old_path: ProjectPath,
    /// Where it is now; the old path if it is gone.
    pub(super) path: ProjectPath,
    pub(super) base: DraftFile,
    pub(super) now: PathState,
    /// The lines of the base where conflicting places stay as they are now.
    pub(super) kept_places: Vec<Range<usize>>,
    /// The contents, if they are text that is compared by lines.
    pub(super) base_text: Option<Vec<u8>>,
    pub(super) now_text: Option<Vec<u8>>,
}

/// One side of a file: where it is there, and what it holds.
pub(super) struct FileSide<S> {
    pub(super) path: ProjectPath,
    pub(super) side: S,
}

impl FileSides {
    /// Reads the contents of both sides.
    pub(super) fn read(
        store: &Store,
        base: FileSide<DraftFile>,
        now: FileSide<PathState>,
        kept_places: Vec<Range<usize>>,
    ) -> Result<Self, StoreError> {
        let FileSide { path: old_path, side: base } = base;
        let FileSide { path, side: now } = now;
        let text = |side: &PathState, content: Option<Vec<u8>>| {
            let is_file = side.known().is_some_and(|state| state.kind == FileKind::File);
            Ok::<_, StoreError>(
                match content {
                    _ if !is_file => None,
                    Some(bytes) => Some(bytes),
                    None => comparable_content(store, side)?,
                }
                .filter(|bytes| !is_binary(bytes) && !is_too_large(bytes)),
            )
        };
        let base_text = text(&base.side, base.content.clone())?;
        let now_text = text(&now, None)?;
        Ok(Self { old_path, path, base, now, kept_places, base_text, now_text })
    }

    /// The hunks by lines between both sides; none if the content is the same or no text.
    fn line_hunks(&self) -> Vec<Hunk> {
        let (Some(base), Some(now)) = (&self.base_text, &self.now_text) else { return Vec::new() };
        line_changes(base, now).map_or_else(Vec::new, |changes| changes.hunks)
    }
}

impl ReviewHunk {
    /// Returns the lines that the person has not seen; `None` if that is all of the hunk, or if it has
    /// no lines that can be chosen.
    pub fn unseen_lines(&self) -> Option<HunkLines> {
        let has_lines = matches!(self.kind, HunkKind::Lines | HunkKind::Create);
        if !has_lines || self.seen_lines.is_empty() {
            return None;
        }
        let rest = |count: usize, seen: &BTreeSet<u32>| -> BTreeSet<u32> {
            let all = 1..=u32::try_from(count).unwrap_or(u32::MAX);
            all.filter(|number| !seen.contains(number)).collect()
        };
        Some(HunkLines {
            removed: rest(self.removed.len(), &self.seen_lines.removed),
            added: rest(self.added.len(), &self.seen_lines.added),
        })
    }
}

/// What hunks are built from.
pub(super) struct HunkSource<'a> {
    pub(super) store: &'a Store,
    pub(super) sides: &'a FileSides,
    pub(super) trace: &'a FileTrace,
    /// The changes of the scope in this file.
    pub(super) changes: &'a BTreeMap<ChangeId, Change>,
}

impl HunkSource<'_> {
    /// Builds all hunks of the file.
    pub(super) fn hunks(&self) -> Result<Vec<ReviewHunk>, StoreError> {
        let set: BTreeSet<ChangeId> = self.changes.keys().copied().collect();
        let own: BTreeSet<ChangeId> = self.trace.changes.intersection(&set).copied().collect();
        let mut hunks = self.whole_file_hunks(if own.is_empty() { &set } else { &own });
        let (base, now) =
            (split(self.sides.base_text.as_deref()), split(self.sides.now_text.as_deref()));
        let places = match (self.sides.base.side.known(), self.sides.now.known()) {
            (Some(_), Some(_)) => self.sides.line_hunks(),
            _ => Vec::new(),
        };
        for place in &places {
            let (old, new) = ranges_of(place);
            let changes = self.trace.changes_at(&new, &set);
            let removed = owned(base.get(old.clone()));
            let texts = HunkTexts { removed, added: owned(now.get(new.clone())) };
            let mut hunk = new_hunk(HunkKind::Lines, texts, changes);
            let around = Some(Neighbours::of(&base, &old));
            let context = HunkContext { around, about: Vec::new() };
            hunk.id = hunk_id(&self.sides.path, &hunk, &context);
            hunks.push(ReviewHunk { old, new, ..hunk });
        }
        let map = LineMap::of_hunks(&places);
        for kept in &self.sides.kept_places {
            let place = map.follow(kept);
            // A rejection of it with what stands in the way means the lines that are there now.
            let about = owned(now.get(place.clone()));
            let mut hunk = self.entangled_place(&place, &about, &set)?;
            let context = HunkContext { around: Some(Neighbours::of(&base, kept)), about };
            hunk.id = hunk_id(&self.sides.path, &hunk, &context);
            hunks.push(hunk);
        }
        hunks.sort_by_key(|hunk| (hunk.new.start, hunk.new.end, hunk.kind == HunkKind::Lines));
        number_equal_hunks(&mut hunks);
        Ok(hunks)
    }

    /// The hunks that are about the file as a whole.
    fn whole_file_hunks(&self, set: &BTreeSet<ChangeId>) -> Vec<ReviewHunk> {
        let FileSides { old_path, path, base, now, base_text, now_text, .. } = self.sides;
        let made = |is_it: &dyn Fn(&Change) -> bool| -> BTreeSet<ChangeId> {
            let found: BTreeSet<_> = self
                .changes
                .values()
                .filter(|change| set.contains(&change.id) && is_it(change))
                .map(|change| change.id)
                .collect();
            if found.is_empty() { set.clone() } else { found }
        };
        let whole = |kind, texts, changes| {
            let mut hunk = new_hunk(kind, texts, changes);
            (hunk.old, hunk.new) = (0..hunk.removed.len(), 0..hunk.added.len());
            let context = HunkContext { around: None, about: self.about_whole(kind) };
            hunk.id = hunk_id(path, &hunk, &context);
            hunk
        };
        let (before, after) = match (base.side.known(), now.known()) {
            (None, Some(_)) => {
                let added = all_lines(now_text.as_deref());
                let texts = HunkTexts { removed: Vec::new(), added };
                return vec![whole(HunkKind::Create, texts, set.clone())];
            }
            (Some(_), None) => {
                let removed = all_lines(base_text.as_deref());
                let texts = HunkTexts { removed, added: Vec::new() };
                return vec![whole(HunkKind::Delete, texts, set.clone())];
            }
            (None, None) => return Vec::new(),
            (Some(before), Some(after)) => (before, after),
        };
        let mut hunks = Vec::new();
        if old_path != path {
            let moved = made(&|change| change.old_path.is_some());
            hunks.push(whole(HunkKind::Rename, HunkTexts::default(), moved));
        }
        if before.mode != after.mode && before.kind == after.kind {
            let mode_of = |side: &PathState| side.known().map(|state| state.mode);
            let changed = made(&|change| mode_of(&change.before) != mode_of(&change.after));
            hunks.push(whole(HunkKind::Mode, HunkTexts::default(), changed));
        }
        if let Some(kind) = self.opaque_kind(before, after) {
            let target = |state: &FileState| self.link_target(state).into_iter().collect();
            let texts = HunkTexts { removed: target(before), added: target(after) };
            hunks.push(whole(kind, texts, set.clone()));
        }
        hunks
    }

    /// What a hunk without lines is about.
    fn about_whole(&self, kind: HunkKind) -> Vec<Vec<u8>> {
        let FileSides { old_path, base, now, .. } = self.sides;
        let mode = |side: &PathState| side.known().map_or(0, |state| state.mode).to_string();
        let content = |side: &PathState| side.known().map_or_else(String::new, content_key);
        let about = match kind {
            HunkKind::Rename => vec![old_path.to_string()],
            HunkKind::Mode => vec![mode(&base.side), mode(now)],
            HunkKind::Create | HunkKind::Delete => vec![state_key(&base.side), state_key(now)],
            _ => vec![content(&base.side), content(now)],
        };
        about.into_iter().map(String::into_bytes).collect()
    }

    /// Where a symbolic link points.
    fn link_target(&self, state: &FileState) -> Option<Vec<u8>> {
        let is_link = state.kind == FileKind::Link;
        is_link.then(|| self.store.read_if_intact(&state.oid).ok().flatten()).flatten()
    }

    /// The kind of a difference in content that has no lines.
    fn opaque_kind(&self, before: &FileState, after: &FileState) -> Option<HunkKind> {
        if (before.kind, before.oid) == (after.kind, after.oid) {
            return None;
        }
        if [before.kind, after.kind] != [FileKind::File; 2] {
            return Some(HunkKind::Link);
        }
        let sides = self.sides;
        if sides.base_text.is_some() && sides.now_text.is_some() {
            return None;
        }
        let is_large = |state: &FileState| state.size > crate::content::diff::MAX_DIFF_BYTES;
        let is_large = is_large(before) || is_large(after);
        Some(if is_large { HunkKind::TooLarge } else { HunkKind::Binary })
    }

    /// A place where later changes stand in the way, with the lines as they are on record.
    fn entangled_place(
        &self,
        place: &Range<usize>,
        now: &[Vec<u8>],
        set: &BTreeSet<ChangeId>,
    ) -> Result<ReviewHunk, StoreError> {
        let changes = self.trace.changes_at(place, set);
        let first = changes.first().copied().unwrap_or(ChangeId(0));
        let blockers = self.trace.later_changes_at(place, first, set);
        let texts = self.recorded_lines(place, now, &changes)?;
        let hunk = new_hunk(HunkKind::Entangled, texts, changes);
        let obstacle = Some(PlanReason::Conflict(1, Vec::new()));
        Ok(ReviewHunk { old: 0..0, new: place.clone(), blockers, obstacle, ..hunk })
    }

    /// What the first of these changes removed at a place, and what the last of them added; also
    /// lines of the others that are still there.
    fn recorded_lines(
        &self,
        place: &Range<usize>,
        now: &[Vec<u8>],
        changes: &BTreeSet<ChangeId>,
    ) -> Result<HunkTexts, StoreError> {
        let at: Vec<_> = self.trace.at(place, |id| changes.contains(&id)).collect();
        let first = at.iter().map(|hunk| hunk.change).min();
        let last = at.iter().map(|hunk| hunk.change).max();
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for hunk in at {
            let Some(change) = self.changes.get(&hunk.change) else { continue };
            if Some(hunk.change) == first {
                removed.extend(slice(self.store, &change.before, &hunk.old)?);
            }
            let lines = slice(self.store, &change.after, &hunk.new)?;
            let is_last = Some(hunk.change) == last;
            added.extend(lines.into_iter().filter(|line| is_last || now.contains(line)));
        }
        Ok(HunkTexts { removed, added })
    }
}

/// The lines of a hunk, each with its end.
#[derive(Default)]
pub(super) struct HunkTexts {
    pub(super) removed: Vec<Vec<u8>>,
    pub(super) added: Vec<Vec<u8>>,
}

/// A hunk of which nothing is known but what it is.
pub(super) fn new_hunk(
    kind: HunkKind,
    texts: HunkTexts,
    changes: BTreeSet<ChangeId>,
) -> ReviewHunk {
    let HunkTexts { removed, added } = texts;
    ReviewHunk {
        id: HunkId::new(0),
        kind,
        old: 0..0,
        new: 0..0,
        removed,
        added,
        changes,
        blockers: BTreeSet::new(),
        obstacle: None,
        reviewed: false,
        again: BTreeSet::new(),
        seen_lines: HunkLines::default(),
        queued: None,
        queued_lines: None,
        comments: Vec::new(),
    }
}

/// What belongs to the id of a hunk besides its own lines.
#[derive(Default)]
pub(super) struct HunkContext<'a> {
    /// The lines around it.
    pub(super) around: Option<Neighbours<'a>>,
    /// What it is about, where its lines do not say it.
    pub(super) about: Vec<Vec<u8>>,
}

/// Returns the id of a hunk: its path, kind, lines and context.
pub(super) fn hunk_id(path: &ProjectPath, hunk: &ReviewHunk, context: &HunkContext<'_>) -> HunkId {
    let around = context.around.as_ref();
    let counts = [hunk.removed.len(), hunk.added.len()].map(|count| (count as u64).to_le_bytes());
    let (above, below) = around.map_or((&[][..], &[][..]), |lines| (lines.above, lines.below));
    let above_count = (above.len() as u64).to_le_bytes();
    let head =
        [path.as_bytes(), hunk.kind.as_str().as_bytes(), &counts[0], &counts[1], &above_count];
    let own = hunk.removed.iter().chain(&hunk.added).map(Vec::as_slice);
    let around = above.iter().chain(below).copied();
    let about = context.about.iter().map(Vec::as_slice);
    HunkId::new(hash_texts(head.into_iter().chain(own).chain(around).chain(about)))
}

/// Returns what identifies one side of a file.
pub(super) fn state_key(side: &PathState) -> String {
    match side {
        PathState::Known(state) => format!("{} {:o}", content_key(state), state.mode),
        PathState::Absent => "absent".to_owned(),
        PathState::Unknown => "unknown".to_owned(),
    }
}

fn content_key(state: &FileState) -> String {
    let kind = if state.kind == FileKind::Link { "link" } else { "file" };
    format!("{kind} {}", state.oid)
}

/// Gives hunks that are equal in everything numbers in their order.
pub(super) fn number_equal_hunks(hunks: &mut [ReviewHunk]) {
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    for hunk in hunks.iter() {
        *counts.entry(hunk.id.hash).or_default() += 1;
    }
    let mut given: BTreeMap<u64, u32> = BTreeMap::new();
    for hunk in hunks.iter_mut().filter(|hunk| counts[&hunk.id.hash] > 1) {
        let number = given.entry(hunk.id.hash).or_default();
        *number += 1;
        hunk.id.ordinal = *number;
    }
}

/// Lines of a recorded content; none if it cannot be read by lines.
fn slice(
    store: &Store,
    side: &PathState,
    range: &Range<usize>,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let content = comparable_content(store, side)?.unwrap_or_default();
    let found = lines(&content).skip(range.start).take(range.len());
    Ok(found.map(<[u8]>::to_vec).collect())
}

fn split(text: Option<&[u8]>) -> Vec<&[u8]> {
    text.map_or_else(Vec::new, |text| lines(text).collect())
}

fn all_lines(text: Option<&[u8]>) -> Vec<Vec<u8>> {
    split(text).into_iter().map(<[u8]>::to_vec).collect()
}

fn owned(texts: Option<&[&[u8]]>) -> Vec<Vec<u8>> {
    texts.unwrap_or_default().iter().map(|line| line.to_vec()).collect()
}
