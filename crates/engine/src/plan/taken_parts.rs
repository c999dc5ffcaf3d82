//! What operations took back of changes place by place.
//!
//! A person may take back single places of what one or several changes wrote. That is a change by
//! Retake on top of them, and they stay in effect for their other places. An operation that takes
//! the changes back as wholes takes back that one too: together they are one step again, and no
//! place is merged twice. So does one that takes back other changes of the same file: the changes
//! whose places are gone, and what took them, come to nothing, and without them the rest would have
//! to be merged around them.
//!
//! Invariant: it goes along only if every change that it took places of goes, or has gone with it.

use std::collections::BTreeMap;

use retake_model::{Change, ChangeId};
use retake_store::{ChangeFilter, Store, StoreError, TakenPart};

/// The changes by Retake that took back places of these changes or of their files, with the changes
/// that they took back wholly, of which earlier ones may have taken places, too; none of them is in
/// the set.
pub(super) fn taken_parts_of<'c>(
    store: &Store,
    is_in_set: &dyn Fn(ChangeId) -> bool,
    changes: impl Iterator<Item = &'c Change>,
) -> Result<Vec<Change>, StoreError> {
    let mut found: BTreeMap<ChangeId, Change> = BTreeMap::new();
    let mut parts = BTreeMap::new();
    let find = |change: &Change, parts: &mut BTreeMap<_, _>| {
        for part in store.parts_taken_after(change)? {
            parts.insert((part.operation, part.path.clone()), part);
        }
        Ok::<_, StoreError>(())
    };
    for change in changes {
        find(change, &mut parts)?;
    }
    while let Some((_, part)) = parts.pop_first() {
        for change in changes_along_with(store, &part, is_in_set)? {
            if !is_in_set(change.id) && !found.contains_key(&change.id) {
                find(&change, &mut parts)?;
                found.insert(change.id, change);
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
