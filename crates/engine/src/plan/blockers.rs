//! Later changes that block a change from being taken back, and which of them go with it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use retake_model::{Actor, Change, ChangeId, ChangeStatus, Confidence};
use retake_store::{PathChangeRow, StoreError};

use crate::plan::draft::Draft;
use crate::plan::net_change::{NetChange, join_consecutive};
use crate::plan::path_history::PathHistories;
use crate::plan::take_back::{CascadePolicy, TakeBackOptions, TakeBackPart, try_part};

/// Maximum blocking changes that are tried one by one to find a minimal set.
const MAX_BLOCKERS_TRIED: usize = 32;

/// Returns a minimal set of later changes that would have to be taken back too.
pub(super) fn find_blockers(
    histories: &PathHistories<'_>,
    nets: &[NetChange],
    stuck: usize,
    set: &BTreeSet<ChangeId>,
    options: TakeBackOptions,
) -> Result<Vec<ChangeId>, StoreError> {
    let net = &nets[stuck];
    let place = histories.current_path(net, set)?;
    let mut candidates = BTreeSet::new();
    for path in BTreeSet::from([&net.path, &net.from, &place]) {
        let later = histories.later_traces(path, net.newest())?.into_iter();
        let stays =
            |trace: &PathChangeRow| !set.contains(&trace.change) && trace.actor != Actor::Retake;
        candidates.extend(later.filter(stays).map(|trace| trace.change));
    }
    let all: Vec<ChangeId> = candidates.into_iter().collect();
    if all.len() > MAX_BLOCKERS_TRIED {
        return Ok(all);
    }
    let mut needed = histories.changes(&all)?;
    if !succeeds_with(histories, nets, &needed, set, options)? {
        return Ok(Vec::new());
    }
    for at in (0..needed.len()).rev() {
        let mut fewer = needed.clone();
        fewer.remove(at);
        if succeeds_with(histories, nets, &fewer, set, options)? {
            needed = fewer;
        }
    }
    Ok(needed.into_iter().map(|change| change.id).collect())
}

/// Returns whether a part can be taken back together with these changes.
fn succeeds_with(
    histories: &PathHistories<'_>,
    nets: &[NetChange],
    also: &[Change],
    set: &BTreeSet<ChangeId>,
    options: TakeBackOptions,
) -> Result<bool, StoreError> {
    let mut set = set.clone();
    set.extend(also.iter().map(|change| change.id));
    let mut all: Vec<NetChange> = nets.to_vec();
    all.extend(also.iter().map(NetChange::of));
    all.sort_by_key(NetChange::newest);
    let mut draft = Draft::with(histories.store, options.conflict_handling());
    Ok(try_part(histories, &mut draft, &join_consecutive(all), &set, true)?.is_ok())
}

/// Returns the blocking changes that the cascade policy adds to the set.
pub(super) fn changes_to_cascade(
    histories: &PathHistories<'_>,
    set: &BTreeMap<ChangeId, Cow<'_, Change>>,
    parts: &[TakeBackPart],
    cascade: CascadePolicy,
) -> Result<Vec<Change>, StoreError> {
    if cascade == CascadePolicy::Leave {
        return Ok(Vec::new());
    }
    let may_go = |change: &Change| {
        let is_open = change.actor == Actor::Agent && change.status == ChangeStatus::Pending;
        cascade == CascadePolicy::All || (is_open && change.confidence != Confidence::Shared)
    };
    let mut cascaded = Vec::new();
    for obstacle in parts.iter().filter_map(|part| part.result.as_ref().err()) {
        let blockers = histories.changes(&obstacle.blockers)?;
        if blockers.iter().all(may_go) {
            cascaded.extend(blockers.into_iter().filter(|change| !set.contains_key(&change.id)));
        }
    }
    Ok(cascaded)
}
