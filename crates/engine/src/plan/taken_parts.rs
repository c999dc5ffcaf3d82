//! What operations took back of changes place by place.
//!
//! A person may take back single places of what one or several changes wrote. That is a change by
//! Retake on top of them, and they stay in effect for their other places. An operation that takes
//! the changes back as wholes takes back that one too: together they are one step again, and no
//! place is merged twice.
//!
//! Invariant: it goes along only if every change that it took places of goes, or has gone with it.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{Change, ChangeId};
use retake_store::{ChangeFilter, Store, StoreError, TakenPart};

/// The changes by Retake that took back places of these changes, with the changes that they took back
/// wholly, of which earlier ones may have taken places, too; none of them is in the set.
pub(super) fn taken_parts_of<'i>(
    store: &Store,
    is_in_set: &dyn Fn(ChangeId) -> bool,
    ids: impl Iterator<Item = &'i ChangeId>,
) -> Result<Vec<Change>, StoreError> {
    let mut found: BTreeMap<ChangeId, Change> = BTreeMap::new();
    let mut new: BTreeSet<ChangeId> = ids.copied().collect();
    while !new.is_empty() {
        let mut parts = BTreeMap::new();
        for id in std::mem::take(&mut new) {
            for part in store.parts_taken_of(id)? {
                parts.insert((part.operation, part.path.clone()), part);
            }
        }
        for part in parts.into_values() {
            for change in changes_along_with(store, &part, is_in_set)? {
                if !is_in_set(change.id) && !found.contains_key(&change.id) {
                    new.insert(change.id);
                    found.insert(change.id, change);
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The changes that go along with a part; none if a change of it stays.
fn changes_along_with(
    store: &Store,
    part: &TakenPart,
    is_in_set: &dyn Fn(ChangeId) -> bool,
) -> Result<Vec<Change>, StoreError> {
    let mut changes = Vec::new();
    for id in part.changes.iter().filter(|id| !is_in_set(**id)) {
        match store.change(*id)? {
            Some(change) if !change.is_effective() => changes.push(change),
            _ => return Ok(Vec::new()),
        }
    }
    let by_operation = ChangeFilter {
        made_by: Some(part.operation),
        path: Some(part.path.clone()),
        ..ChangeFilter::default()
    };
    let made = store.changes(&by_operation)?.into_iter();
    let mut made =
        made.filter(|change| change.path == part.path && change.is_effective()).peekable();
    if made.peek().is_none() {
        return Ok(Vec::new());
    }
    changes.extend(made);
    Ok(changes)
}
