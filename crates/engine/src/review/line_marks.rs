//! Reviewed marks: which lines the person has seen.
//!
//! A line that was added is known by its text and its neighbours in the file now, which are the same
//! in every scope; a line that was removed by the change that removed it and its number there; what
//! has no lines by its kind and each change behind it. So marks that were set in one scope are seen
//! in every other, whatever the borders of its hunks are. A change of which all was seen in one scope
//! is seen in every other, too, however it is shown there.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use retake_model::{Change, ChangeId, ChangeStatus, HunkKind};

use crate::content::line_hash::hash_texts;
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

/// Something in a hunk that a person sees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SeenItem {
    key: u64,
    /// The change that alone made it: whoever has seen all of that has seen the item.
    change: Option<ChangeId>,
}

impl SeenItem {
    fn of_kind(kind: HunkKind, change: ChangeId) -> Self {
        Self { key: whole_key(kind, change), change: Some(change) }
    }

    fn is_marked(&self, marked: &HashSet<u64>) -> bool {
        let is_change_seen = |id| marked.contains(&seen_change_key(id));
        marked.contains(&self.key) || self.change.is_some_and(is_change_seen)
    }
}

impl MarkSource<'_> {
    /// Returns whether all of a hunk was seen: it was marked, or all changes behind it are accepted.
    pub(super) fn is_reviewed(&self, hunk: &ReviewHunk, marked: &HashSet<u64>) -> bool {
        let is_accepted = |id: &ChangeId| {
            let change = self.changes.get(id);
            change.is_some_and(|change| {
                change.status == ChangeStatus::Accepted || change.approved.is_some()
            })
        };
        let accepted = !hunk.changes.is_empty() && hunk.changes.iter().all(is_accepted);
        accepted || self.items(hunk).iter().all(|item| item.is_marked(marked))
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

    /// Returns everything in a hunk that a person sees; at least one item.
    fn items(&self, hunk: &ReviewHunk) -> Vec<SeenItem> {
        let added = || self.added_keys(hunk).map(|key| SeenItem { key, change: None });
        let mut items: Vec<SeenItem> = match hunk.kind {
            HunkKind::Lines => added().chain(self.removed_items(hunk)).collect(),
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
        let added: Vec<u64> = self.added_keys(hunk).collect();
        let removed: Vec<u64> = self.removed_items(hunk).map(|item| item.key).collect();
        let mut keys = pick(added, hunk.added.len(), &chosen.added);
        keys.extend(pick(removed, hunk.removed.len(), &chosen.removed));
        keys
    }

    fn added_keys(&self, hunk: &ReviewHunk) -> impl Iterator<Item = u64> {
        hunk.new.clone().filter_map(|at| self.added_key(at))
    }

    /// The key of a line of the file now.
    fn added_key(&self, at: usize) -> Option<u64> {
        let line = |at: Option<usize>| at.and_then(|at| self.now.get(at)).copied();
        let text = line(Some(at))?;
        // An empty text is no line.
        let (above, below) = (line(at.checked_sub(1)), line(Some(at + 1)));
        let (above, below) = (above.unwrap_or_default(), below.unwrap_or_default());
        Some(hash_texts([b"+".as_slice(), above, text, below]))
    }

    fn removed_items(&self, hunk: &ReviewHunk) -> impl Iterator<Item = SeenItem> {
        let set: BTreeSet<ChangeId> = self.changes.keys().copied().collect();
        let at: Vec<_> = self.trace.at(&hunk.new, &set).cloned().collect();
        at.into_iter().flat_map(|traced| {
            let item = move |line| numbered_item(b"-", traced.change, line);
            traced.old.map(item)
        })
    }

    /// What is shown of a place that cannot be taken out: what the changes wrote, as recorded.
    fn recorded_items<'s>(
        &'s self,
        hunk: &'s ReviewHunk,
    ) -> impl Iterator<Item = SeenItem> + use<'s> {
        let at = self.trace.at(&hunk.new, &hunk.changes);
        at.map(|traced| numbered_item(b"entangled", traced.change, traced.new.start))
    }
}

/// The key of all that a change did.
pub(super) fn seen_change_key(change: ChangeId) -> u64 {
    hash_texts([b"change".as_slice(), &change.0.to_le_bytes()])
}

fn whole_key(kind: HunkKind, change: ChangeId) -> u64 {
    hash_texts([kind.as_str().as_bytes(), &change.0.to_le_bytes()])
}

fn numbered_item(what: &[u8], change: ChangeId, number: usize) -> SeenItem {
    let key = hash_texts([what, &change.0.to_le_bytes(), &(number as u64).to_le_bytes()]);
    SeenItem { key, change: Some(change) }
}
