//! Merges adjacent edits of both sides that do not overlap, where one of them only removes lines.
//!
//! git reports adjacent edits as a conflict: it cannot know in which order the texts of both
//! belong. If one of them adds nothing, there is no order to know. So lines that an agent added
//! can be taken back while lines that a person wrote right above or below them stay.
//!
//! Invariant: the result has every line that a side added and every line of the base that no side
//! removed, each once and in order. Where equal lines leave it open which of them are removed, and
//! that makes a difference, there is no result.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::content::diff::{LineEdit, edits_between, lines};

/// Lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictLines {
    /// The first line, counted from 1.
    pub first: u32,
    /// Number of lines; 0 means the place before the first.
    pub count: u32,
}

/// Applies the edits of `ours` and `theirs` to `base`; `None` if that is ambiguous.
pub(crate) fn merge_adjacent(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let base: Vec<_> = lines(base).collect();
    let ours = SideEdits::new(&base, ours);
    let theirs = SideEdits::new(&base, theirs);
    for edit in &ours.edits {
        for other in theirs.edits_around(&edit.old) {
            if !can_stand_together(&base, &ours, edit, &theirs, other) {
                return None;
            }
        }
    }
    Some(apply_both(&base, &ours, &theirs))
}

/// A merge without the edits of `theirs` that conflict with `ours`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartialMerge {
    /// The content: `ours`, with the edits of `theirs` that do not conflict.
    pub(crate) merged: Vec<u8>,
    /// The lines of it where edits of `theirs` are left out, from 0; an empty range is the place
    /// before a line.
    pub(crate) conflicts: Vec<Range<usize>>,
}

/// Merges what does not conflict, and keeps `ours` where it does.
pub(crate) fn merge_keeping_ours(base: &[u8], ours: &[u8], theirs: &[u8]) -> PartialMerge {
    let base: Vec<_> = lines(base).collect();
    let ours = SideEdits::new(&base, ours);
    let theirs = SideEdits::new(&base, theirs);
    let mut result: Vec<&[u8]> = Vec::with_capacity(base.len());
    let (mut conflicts, mut at) = (Vec::new(), 0);
    for cluster in edit_clusters(&ours.edits, &theirs.edits) {
        result.extend(&base[at..cluster.old.start]);
        let begin = result.len();
        let mut applied: Vec<(&LineEdit, &SideEdits<'_>)> =
            cluster.ours.iter().map(|edit| (edit, &ours)).collect();
        let is_same = cluster.ours.len() == cluster.theirs.len()
            && cluster.ours.iter().zip(cluster.theirs).all(|(edit, other)| {
                edit.old == other.old
                    && ours.lines[edit.new.clone()] == theirs.lines[other.new.clone()]
            });
        let fits = cluster.ours.iter().all(|edit| {
            let mut around = theirs.edits_around(&edit.old).iter();
            around.all(|other| can_stand_together(&base, &ours, edit, &theirs, other))
        });
        if fits && !is_same {
            applied.extend(cluster.theirs.iter().map(|edit| (edit, &theirs)));
            applied.sort_by_key(|(edit, _)| (edit.old.start, edit.old.end));
        }
        at = cluster.old.start;
        for (edit, side) in applied {
            result.extend(&base[at..edit.old.start]);
            result.extend(&side.lines[edit.new.clone()]);
            at = edit.old.end;
        }
        result.extend(&base[at..cluster.old.end]);
        at = cluster.old.end;
        if !fits && !is_same {
            conflicts.push(begin..result.len());
        }
    }
    result.extend(&base[at..]);
    PartialMerge { merged: result.concat(), conflicts }
}

/// Edits of both sides that overlap or touch, directly or through others.
struct EditCluster<'e> {
    /// The lines of the base that they span.
    old: Range<usize>,
    ours: &'e [LineEdit],
    theirs: &'e [LineEdit],
}

/// Groups the edits of both sides; the clusters are in order and do not touch.
fn edit_clusters<'e>(ours: &'e [LineEdit], theirs: &'e [LineEdit]) -> Vec<EditCluster<'e>> {
    let (mut clusters, mut next_ours, mut next_theirs) = (Vec::new(), 0, 0);
    let start = |edits: &[LineEdit], at: usize| edits.get(at).map(|edit| edit.old.start);
    loop {
        let first = [start(ours, next_ours), start(theirs, next_theirs)];
        let Some(first) = first.into_iter().flatten().min() else { return clusters };
        let (from_ours, from_theirs) = (next_ours, next_theirs);
        let mut old = first..first;
        loop {
            if let Some(edit) = ours.get(next_ours).filter(|edit| edit.old.start <= old.end) {
                old.end = old.end.max(edit.old.end);
                next_ours += 1;
            } else if let Some(edit) =
                theirs.get(next_theirs).filter(|edit| edit.old.start <= old.end)
            {
                old.end = old.end.max(edit.old.end);
                next_theirs += 1;
            } else {
                break;
            }
        }
        let (ours, theirs) = (&ours[from_ours..next_ours], &theirs[from_theirs..next_theirs]);
        clusters.push(EditCluster { old, ours, theirs });
    }
}

/// Returns whether two edits that overlap or touch can both be applied without an order between
/// their texts.
fn can_stand_together(
    base: &[&[u8]],
    ours: &SideEdits<'_>,
    edit: &LineEdit,
    theirs: &SideEdits<'_>,
    other: &LineEdit,
) -> bool {
    !overlap(&edit.old, &other.old)
        && (edit.new.is_empty() || other.new.is_empty())
        && (!edit.new.is_empty() || is_unambiguous(base, &edit.old, theirs))
        && (!other.new.is_empty() || is_unambiguous(base, &other.old, ours))
}

/// The lines of a side, and what it did to the base: in order, none touching the next.
struct SideEdits<'t> {
    lines: Vec<&'t [u8]>,
    edits: Vec<LineEdit>,
}

impl<'t> SideEdits<'t> {
    fn new(base: &[&[u8]], text: &'t [u8]) -> Self {
        let lines: Vec<_> = lines(text).collect();
        let edits = edits_between(base, &lines);
        Self { lines, edits }
    }

    /// The edits that overlap with lines of the base, or touch them.
    fn edits_around(&self, old: &Range<usize>) -> &[LineEdit] {
        let first = self.edits.partition_point(|edit| edit.old.end < old.start);
        let last = self.edits.partition_point(|edit| edit.old.start <= old.end);
        &self.edits[first..last.max(first)]
    }

    /// Returns the index in this side of a line of the base that it kept.
    fn line_of(&self, at: usize) -> usize {
        match self.edits.partition_point(|edit| edit.old.end <= at).checked_sub(1) {
            Some(last) => self.edits[last].new.end + (at - self.edits[last].old.end),
            None => at,
        }
    }

    /// Returns whether removing `count` lines at `a` or at `b` gives the same text.
    fn is_same_without(&self, count: usize, a: usize, b: usize) -> bool {
        let (a, b) = (a.min(b), a.max(b));
        self.lines.get(a..b) == self.lines.get(a + count..b + count)
    }
}

/// Returns whether both change the same lines, or one inserts lines between those of the other.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    let meet = a.start.max(b.start) < a.end.min(b.end);
    let inside = |a: &Range<usize>, b: &Range<usize>| {
        a.is_empty() && ((b.start < a.start && a.start < b.end) || a == b)
    };
    meet || inside(a, b) || inside(b, a)
}

/// Returns whether it is unambiguous which lines of the other side the removal from the base means.
fn is_unambiguous(base: &[&[u8]], removed: &Range<usize>, other: &SideEdits<'_>) -> bool {
    let (count, block) = (removed.len(), &base[removed.clone()]);
    let place = other.line_of(removed.start);
    if other.lines.get(place..place + count) != Some(block) {
        return false;
    }
    // Equal lines of the base next to them may be meant.
    let is_as_good = |start: usize| {
        let taken = start..start + count;
        let mut around = other.edits_around(&taken).iter();
        !around.any(|edit| overlap(&edit.old, &taken))
            && other.is_same_without(count, place, other.line_of(start))
    };
    let mut up = (0..removed.start).rev().take_while(|&at| base[at] == base[at + count]);
    let mut down = (removed.start..base.len() - count)
        .take_while(|&at| base[at] == base[at + count])
        .map(|at| at + 1);
    if !up.all(is_as_good) || !down.all(is_as_good) {
        return false;
    }
    // And so may equal lines that the other side added beside them.
    let added: usize = other.edits_around(removed).iter().map(|edit| edit.new.len()).sum();
    let nearby = place.saturating_sub(count + added)..=place + count + added;
    let is_equal = |at: &usize| other.lines.get(*at..at + count) == Some(block);
    nearby.filter(is_equal).all(|at| other.is_same_without(count, place, at))
}

/// Returns the base with the edits of both sides applied.
fn apply_both(base: &[&[u8]], ours: &SideEdits<'_>, theirs: &SideEdits<'_>) -> Vec<u8> {
    let of = |side: &SideEdits<'_>| -> Vec<(Range<usize>, Vec<u8>)> {
        let edit = |edit: &LineEdit| (edit.old.clone(), side.lines[edit.new.clone()].concat());
        side.edits.iter().map(edit).collect()
    };
    let mut edits = [of(ours), of(theirs)].concat();
    // Lines inserted before a line come before edits of that line.
    edits.sort_by_key(|(old, _)| (old.start, old.end));
    let (mut result, mut at) = (Vec::new(), 0);
    for (old, new) in edits {
        result.extend(base[at..old.start].concat());
        result.extend(new);
        at = old.end;
    }
    result.extend(base[at..].concat());
    result
}

/// The lines of `ours` where the edits of both sides overlap or touch, and are not the same.
pub(crate) fn contested_lines(base: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<ConflictLines> {
    let base: Vec<_> = lines(base).collect();
    let ours = SideEdits::new(&base, ours);
    let theirs = SideEdits::new(&base, theirs);
    let mut places: Vec<Range<usize>> = Vec::new();
    for edit in &ours.edits {
        let is_same = |other: &&LineEdit| {
            other.old == edit.old && theirs.lines[other.new.clone()] == ours.lines[edit.new.clone()]
        };
        let around = theirs.edits_around(&edit.old);
        if around.is_empty() || around.iter().all(|other| is_same(&other)) {
            continue;
        }
        // As far as theirs reach into lines that ours left alone.
        let (first, last) = (&around[0].old, &around[around.len() - 1].old);
        let above = edit.old.start.saturating_sub(first.start);
        let below = last.end.saturating_sub(edit.old.end);
        let place =
            edit.new.start.saturating_sub(above)..(edit.new.end + below).min(ours.lines.len());
        match places.last_mut() {
            Some(before) if before.end >= place.start => before.end = before.end.max(place.end),
            _ => places.push(place),
        }
    }
    let place = |lines: Range<usize>| ConflictLines {
        first: lines.start as u32 + 1,
        count: lines.len() as u32,
    };
    places.into_iter().map(place).collect()
}

#[cfg(test)]
#[path = "adjacent_tests.rs"]
mod tests;
