//! Reviewed marks: which lines the person has seen.
//!
//! A line that was added is known by its text and its neighbours in the file now, which are the same
//! in every scope; a line that was removed by the change that removed it and its number there; what
//! has no lines by its kind and each change behind it. So marks that were set in one scope are seen
//! in every other, whatever the borders of its hunks are. A change of which all was seen in one scope
//! is seen in every other, too, where it is shown as a whole.
//!
//! A mark is older than what an agent or the person writes afterwards: a line that was rejected and
//! comes again is open. What git, an undo or a restore brings back is the line that was seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use retake_model::{Change, ChangeId, ChangeStatus, HunkKind};

use crate::content::diff::lines;
use crate::content::line_hash::hash_texts;
use crate::content::line_map::LineMap;
use crate::review::file_target::HunkLines;
use crate::review::hunk::ReviewHunk;
use crate::review::trace::FileTrace;

/// What the keys of a hunk follow from.
pub(super) struct MarkSource<'a> {
    /// The lines of the file now.
    pub(super) now: &'a [&'a [u8]],
    pub(super) trace: &'a FileTrace,
    /// The changes of the scope in this file.
    pub(super) changes: &'a BTreeMap<ChangeId, Change>,
}

/// The marks of a file: each key with the place in the order at which it was set.
pub(super) type LineMarks = HashMap<u64, u64>;

/// Something in a hunk that a person sees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SeenItem {
    key: u64,
    /// The change that alone made it: a person who has seen all of that has seen the item.
    change: Option<ChangeId>,
    /// The change that wrote it last: a mark of before is of another line.
    writer: Option<ChangeId>,
}

impl SeenItem {
    fn of_kind(kind: HunkKind, change: ChangeId) -> Self {
        Self { key: whole_key(kind, change), change: Some(change), writer: None }
    }

    fn is_marked(&self, marked: &LineMarks) -> bool {
        let is_later = |seq: &u64| self.writer.is_none_or(|writer| *seq >= writer.0);
        let is_change_seen = |id| marked.contains_key(&seen_change_key(id));
        marked.get(&self.key).is_some_and(is_later) || self.change.is_some_and(is_change_seen)
    }
}

impl MarkSource<'_> {
    /// Returns whether all of a hunk was seen: it was marked, or all changes behind it were accepted
    /// as wholes.
    pub(super) fn is_reviewed(&self, hunk: &ReviewHunk, marked: &LineMarks) -> bool {
        let is_accepted = |id: &ChangeId| {
            let is_whole = || !marked.contains_key(&accepted_by_hunks_key(*id));
            self.changes.get(id).is_some_and(|change| {
                change.approved.is_some() || (change.status == ChangeStatus::Accepted && is_whole())
            })
        };
        let accepted = !hunk.changes.is_empty() && hunk.changes.iter().all(is_accepted);
        accepted || self.items(hunk).iter().all(|item| item.is_marked(marked))
    }

    /// Returns the lines of a hunk that were seen.
    pub(super) fn seen_lines(&self, hunk: &ReviewHunk, marked: &LineMarks) -> HunkLines {
        let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let seen = |items: Vec<SeenItem>, count: usize| -> BTreeSet<u32> {
            // Of lines that several changes removed, it is not known which is which.
            let fits = items.len() == count;
            let items = items.iter().enumerate();
            items.filter(|(_, it)| fits && it.is_marked(marked)).map(|(at, _)| number(at)).collect()
        };
        if marked.is_empty() {
            return HunkLines::default();
        }
        let added = hunk.new.clone().filter_map(|at| self.added_item(at)).collect();
        let removed = self.removed_items(hunk).map(|item| SeenItem { change: None, ..item });
        HunkLines {
            removed: seen(removed.collect(), hunk.removed.len()),
            added: seen(added, hunk.added.len()),
        }
    }

    /// Returns the keys that a mark on a hunk sets, or on some lines of it: also those under which
    /// another scope shows the place, where later changes stand in the way or no longer do.
    pub(super) fn keys_to_mark(&self, hunk: &ReviewHunk, chosen: Option<&HunkLines>) -> Vec<u64> {
        if let Some(chosen) = chosen {
            return self.keys_of_lines(hunk, chosen);
        }
        let mut keys: Vec<u64> = self.items(hunk).iter().map(|item| item.key).collect();
        match hunk.kind {
            HunkKind::Lines => keys.extend(self.recorded_items(hunk).map(|item| item.key)),
            HunkKind::Entangled => {
                let lines = hunk.new.clone().filter_map(|at| Some((at, self.now.get(at)?)));
                let shown = lines.filter(|(_, line)| hunk.added.iter().any(|own| own == *line));
                keys.extend(shown.filter_map(|(at, _)| self.added_key(at)));
            }
            _ => {}
        }
        keys
    }

    /// Returns the keys that lines of these hunks which were seen have in a text without other hunks:
    /// a line next to one that the person rejects is not another one.
    pub(super) fn keys_in(
        &self,
        hunks: &[ReviewHunk],
        marked: &LineMarks,
        target: &[u8],
    ) -> Vec<u64> {
        let map = LineMap::between(&self.now.concat(), target);
        let target: Vec<_> = lines(target).collect();
        let places = hunks.iter().flat_map(|hunk| hunk.new.clone());
        let seen = places.filter(|at| self.added_item(*at).is_some_and(|it| it.is_marked(marked)));
        let stays = seen.filter_map(|at| {
            let now = map.follow(&(at..at + 1));
            (target.get(now.start) == self.now.get(at) && now.len() == 1).then_some(now.start)
        });
        stays.filter_map(|at| key_of_line(&target, at)).collect()
    }

    /// Returns everything in a hunk that a person sees; at least one item.
    fn items(&self, hunk: &ReviewHunk) -> Vec<SeenItem> {
        let added = || hunk.new.clone().filter_map(|at| self.added_item(at));
        let mut items: Vec<SeenItem> = match hunk.kind {
            HunkKind::Lines => {
                // Another change may have hidden a removal when the rest of its change was seen.
                let removed = self.removed_items(hunk);
                added().chain(removed.map(|item| SeenItem { change: None, ..item })).collect()
            }
            HunkKind::Create if !hunk.new.is_empty() => {
                let creation = hunk.changes.first().map(|id| SeenItem::of_kind(hunk.kind, *id));
                added().chain(creation).collect()
            }
            HunkKind::Entangled => {
                self.removed_items(hunk).chain(self.recorded_items(hunk)).collect()
            }
            _ => Vec::new(),
        };
        if items.is_empty() {
            items.extend(hunk.changes.iter().map(|id| SeenItem::of_kind(hunk.kind, *id)));
        }
        items.sort_unstable();
        items.dedup();
        items
    }

    /// Returns the keys of some lines of a hunk.
    fn keys_of_lines(&self, hunk: &ReviewHunk, chosen: &HunkLines) -> Vec<u64> {
        let pick = |keys: Vec<u64>, count: usize, numbers: &BTreeSet<u32>| -> Vec<u64> {
            // Of lines that several changes removed, it is not known which is which.
            let fits = keys.len() == count;
            let is_chosen = |at: usize| numbers.contains(&(at as u32 + 1));
            let chosen = keys.into_iter().enumerate().filter(|(at, _)| fits && is_chosen(*at));
            chosen.map(|(_, key)| key).collect()
        };
        let added: Vec<u64> = hunk.new.clone().filter_map(|at| self.added_key(at)).collect();
        let removed: Vec<u64> = self.removed_items(hunk).map(|item| item.key).collect();
        let mut keys = pick(added, hunk.added.len(), &chosen.added);
        keys.extend(pick(removed, hunk.removed.len(), &chosen.removed));
        if hunk.kind == HunkKind::Create {
            keys.extend(hunk.changes.first().map(|id| whole_key(hunk.kind, *id)));
        }
        keys
    }

    /// A line of the file now.
    fn added_item(&self, at: usize) -> Option<SeenItem> {
        let (key, writer) = (self.added_key(at)?, self.trace.writer_of(at));
        Some(SeenItem { key, change: None, writer })
    }

    fn added_key(&self, at: usize) -> Option<u64> {
        key_of_line(self.now, at)
    }

    fn removed_items<'s>(
        &'s self,
        hunk: &'s ReviewHunk,
    ) -> impl Iterator<Item = SeenItem> + use<'s> {
        let at = self.trace.at(&hunk.new, |id| self.changes.contains_key(&id));
        at.flat_map(|traced| {
            traced.old.clone().map(|line| numbered_item(b"-", traced.change, line))
        })
    }

    /// What is shown of a place that cannot be taken out: what the changes wrote, as recorded.
    fn recorded_items<'s>(
        &'s self,
        hunk: &'s ReviewHunk,
    ) -> impl Iterator<Item = SeenItem> + use<'s> {
        let at = self.trace.at(&hunk.new, |id| hunk.changes.contains(&id));
        at.map(|traced| numbered_item(b"entangled", traced.change, traced.new.start))
    }
}

/// The key of a line with its neighbours.
fn key_of_line(all: &[&[u8]], at: usize) -> Option<u64> {
    let line = |at: Option<usize>| at.and_then(|at| all.get(at)).copied();
    let text = line(Some(at))?;
    // An empty text is no line.
    let (above, below) = (line(at.checked_sub(1)), line(Some(at + 1)));
    let (above, below) = (above.unwrap_or_default(), below.unwrap_or_default());
    Some(hash_texts([b"+".as_slice(), above, text, below]))
}

/// The key of all that a change did.
pub(super) fn seen_change_key(change: ChangeId) -> u64 {
    hash_texts([b"change".as_slice(), &change.0.to_le_bytes()])
}

/// The key of a change that is accepted since all hunks of it were kept. It may have written lines that
/// were in none of them, so that it vouches for no line.
pub(crate) fn accepted_by_hunks_key(change: ChangeId) -> u64 {
    hash_texts([b"accepted by hunks".as_slice(), &change.0.to_le_bytes()])
}

fn whole_key(kind: HunkKind, change: ChangeId) -> u64 {
    hash_texts([kind.as_str().as_bytes(), &change.0.to_le_bytes()])
}

fn numbered_item(what: &[u8], change: ChangeId, number: usize) -> SeenItem {
    let key = hash_texts([what, &change.0.to_le_bytes(), &(number as u64).to_le_bytes()]);
    SeenItem { key, change: Some(change), writer: None }
}
