//! Reviewed marks: which lines the person has seen.
//!
//! A line that was added is known by its text and its neighbours in the file now, which are the same
//! in every scope; a line that was removed by the change that removed it and its number there. So
//! marks that were set in one scope are seen in every other, whatever the borders of its hunks are.

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

impl MarkSource<'_> {
    /// Returns the keys of everything in a hunk that a person sees; at least one.
    pub(super) fn keys(&self, hunk: &ReviewHunk) -> Vec<u64> {
        let newest = hunk.changes.last().copied().unwrap_or(ChangeId(0));
        let mut keys = match hunk.kind {
            HunkKind::Lines => self.added_keys(hunk).chain(self.removed_keys(hunk)).collect(),
            HunkKind::Create => {
                let oldest = hunk.changes.first().copied().unwrap_or(newest);
                self.added_keys(hunk).chain([whole_key(hunk.kind, oldest)]).collect()
            }
            HunkKind::Entangled => {
                self.removed_keys(hunk).chain(self.recorded_keys(hunk)).collect()
            }
            _ => Vec::new(),
        };
        match hunk.kind {
            _ if !keys.is_empty() => {}
            HunkKind::Entangled => keys.extend(hunk.changes.iter().map(|id| seen_change_key(*id))),
            kind => keys.push(whole_key(kind, newest)),
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns the keys that a mark on a hunk sets: also those under which a narrower scope shows
    /// the place, where later changes stand in the way.
    pub(super) fn keys_to_mark(&self, hunk: &ReviewHunk, chosen: Option<&HunkLines>) -> Vec<u64> {
        let mut keys = self.keys_of_lines(hunk, chosen);
        if chosen.is_none() && hunk.kind == HunkKind::Lines {
            keys.extend(self.recorded_keys(hunk));
        }
        keys
    }

    /// Returns the keys of some lines of a hunk; without lines, of all of it.
    fn keys_of_lines(&self, hunk: &ReviewHunk, chosen: Option<&HunkLines>) -> Vec<u64> {
        let Some(chosen) = chosen else { return self.keys(hunk) };
        let pick = |keys: Vec<u64>, count: usize, numbers: &BTreeSet<u32>| -> Vec<u64> {
            // Of lines that several changes removed, it is not known which is which.
            let fits = keys.len() == count;
            let is_chosen = |at: usize| numbers.contains(&(at as u32 + 1));
            let chosen = keys.into_iter().enumerate().filter(|(at, _)| fits && is_chosen(*at));
            chosen.map(|(_, key)| key).collect()
        };
        let added: Vec<u64> = self.added_keys(hunk).collect();
        let removed: Vec<u64> = self.removed_keys(hunk).collect();
        let mut keys = pick(added, hunk.added.len(), &chosen.added);
        keys.extend(pick(removed, hunk.removed.len(), &chosen.removed));
        keys
    }

    /// Returns whether all of a hunk was seen: it was marked, or all changes behind it are accepted.
    pub(super) fn is_reviewed(&self, hunk: &ReviewHunk, marked: &HashSet<u64>) -> bool {
        let is_accepted = |id: &ChangeId| {
            let change = self.changes.get(id);
            change.is_some_and(|change| {
                change.status == ChangeStatus::Accepted || change.approved.is_some()
            })
        };
        let accepted = !hunk.changes.is_empty() && hunk.changes.iter().all(is_accepted);
        accepted || self.keys(hunk).iter().all(|key| marked.contains(key))
    }

    fn added_keys(&self, hunk: &ReviewHunk) -> impl Iterator<Item = u64> {
        let line = |at: Option<usize>| at.and_then(|at| self.now.get(at)).copied();
        hunk.new.clone().filter_map(move |at| {
            let text = line(Some(at))?;
            let (above, below) = (line(at.checked_sub(1)), line(Some(at + 1)));
            // An empty text is no line.
            let neighbours = [above.unwrap_or_default(), below.unwrap_or_default()];
            Some(hash_texts([b"+".as_slice(), neighbours[0], text, neighbours[1]]))
        })
    }

    fn removed_keys(&self, hunk: &ReviewHunk) -> impl Iterator<Item = u64> {
        let set: BTreeSet<ChangeId> = self.changes.keys().copied().collect();
        let at: Vec<_> = self.trace.at(&hunk.new, &set).cloned().collect();
        at.into_iter()
            .flat_map(|traced| traced.old.map(move |line| numbered_key(b"-", traced.change, line)))
    }

    /// What is shown of a place that cannot be taken out: what the changes wrote, as recorded.
    fn recorded_keys<'s>(&'s self, hunk: &'s ReviewHunk) -> impl Iterator<Item = u64> + use<'s> {
        let at = self.trace.at(&hunk.new, &hunk.changes);
        at.map(|traced| numbered_key(b"entangled", traced.change, traced.new.start))
    }
}

/// The key of all that a change did. A narrower scope in which it cannot be taken out shows that.
pub(super) fn seen_change_key(change: ChangeId) -> u64 {
    whole_key(HunkKind::Entangled, change)
}

fn whole_key(kind: HunkKind, change: ChangeId) -> u64 {
    hash_texts([kind.as_str().as_bytes(), &change.0.to_le_bytes()])
}

fn numbered_key(what: &[u8], change: ChangeId, number: usize) -> u64 {
    hash_texts([what, &change.0.to_le_bytes(), &(number as u64).to_le_bytes()])
}
