//! The first primitive: takes a set of changes out of the files, and keeps the rest.
//!
//! The set falls into parts: changes of one file, followed through moves. Within a
//! part, changes in a row are one net change; the nets are taken back newest first,
//! each by a three-way merge (base: after it, ours: now, theirs: before it). A part
//! is taken back as a whole or left as a whole.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use retake_model::{Actor, Change, ChangeId, ChangeStatus, DialogId, ProjectPath};
use retake_store::{StatusMark, Store, StoreError};

use crate::plan::blockers::{changes_to_cascade, find_blockers};
use crate::plan::draft::{ConflictHandling, Draft, DraftFile};
use crate::plan::net_change::{NetChange, PathBond, join_consecutive, split_into_parts};
use crate::plan::path_history::PathHistories;
use crate::plan::taken_parts::taken_parts_of;
use crate::plan::{FileAction, Plan, PlanReason, PlannedFile};

/// Options for taking changes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeBackOptions {
    /// The treatment of later changes that block it.
    pub cascade: CascadePolicy,
    /// Write conflicts into the files, between markers.
    pub markers: bool,
    /// Take back what git changed since.
    pub across_git: bool,
}

impl TakeBackOptions {
    pub(super) fn conflict_handling(self) -> ConflictHandling {
        if self.markers { ConflictHandling::Markers } else { ConflictHandling::Leave }
    }
}

/// The treatment of later changes that block it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CascadePolicy {
    /// They stay, and so does the file.
    #[default]
    Leave,
    /// Pending changes that are certainly an agent's are taken back too.
    Agents,
    /// They are all taken back too, including the person's.
    All,
}

/// The changes to take back, and how.
#[derive(Clone, Copy)]
pub(crate) struct TakeBackRequest<'a> {
    pub(crate) changes: &'a [Change],
    pub(crate) bonds: &'a [PathBond],
    /// The status of each change once it is taken back.
    pub(crate) status: ChangeStatus,
    pub(crate) options: TakeBackOptions,
}

impl<'a> TakeBackRequest<'a> {
    /// A request for changes whose paths have no bonds.
    pub(crate) fn new(
        changes: &'a [Change],
        status: ChangeStatus,
        options: TakeBackOptions,
    ) -> Self {
        Self { changes, bonds: &[], status, options }
    }
}

/// Plans to take the changes back.
pub(crate) fn take_back(
    store: &Store,
    plan: &mut Plan,
    request: TakeBackRequest<'_>,
) -> Result<(), StoreError> {
    take_back_with(store, plan, request, &WantedNets { net: &NetChange::of, partly: None })
}

/// Plans to take back some hunks of one change, which then cascaded back to this content.
///
/// The status of the change itself depends on its other hunks: the caller sets it.
pub(crate) fn take_back_hunks(
    store: &Store,
    plan: &mut Plan,
    change: &Change,
    goes_back_to: &[u8],
    options: TakeBackOptions,
) -> Result<(), StoreError> {
    let net = |other: &Change| {
        if other.id != change.id {
            return NetChange::of(other);
        }
        // The file stays where it is: a move is not in its hunks.
        let (from, partly) = (change.path.clone(), Some(goes_back_to.to_vec()));
        NetChange { from, partly, ..NetChange::of(change) }
    };
    let changes = std::slice::from_ref(change);
    let request = TakeBackRequest::new(changes, ChangeStatus::Rejected, options);
    take_back_with(store, plan, request, &WantedNets { net: &net, partly: Some(change.id) })?;
    plan.marks.retain(|mark| mark.change != change.id);
    Ok(())
}

/// What of each change is taken back.
struct WantedNets<'a> {
    net: &'a dyn Fn(&Change) -> NetChange,
    /// The change of which only some hunks are.
    partly: Option<ChangeId>,
}

fn take_back_with(
    store: &Store,
    plan: &mut Plan,
    request: TakeBackRequest<'_>,
    wanted: &WantedNets<'_>,
) -> Result<(), StoreError> {
    let TakeBackRequest { changes, bonds, status, options } = request;
    let mut taken = TakenChanges {
        partly: wanted.partly,
        set: changes.iter().map(|change| (change.id, Cow::Borrowed(change))).collect(),
        dialogs: changes.iter().filter_map(|change| change.dialog.as_ref()).collect(),
    };
    let mut asked: BTreeSet<_> = changes.iter().map(|change| change.id).collect();
    asked.extend(taken.add_taken_parts(store)?);
    let oldest = taken.set.keys().next().copied().unwrap_or(ChangeId(0));
    let histories = PathHistories::since(store, oldest);
    // Each round only adds changes to the set, so this terminates.
    loop {
        let nets: Vec<NetChange> = taken.set.values().map(|change| (wanted.net)(change)).collect();
        let parts = try_parts(&histories, &nets, bonds, options)?;
        let more = changes_to_cascade(&histories, &taken.set, &parts, options.cascade)?;
        if more.is_empty() {
            write_plan(&histories, plan, parts, &taken, status)?;
            let written: BTreeSet<_> = plan.writes().flat_map(|file| &file.changes).collect();
            let is_extra = |id: &ChangeId| written.contains(id) && !asked.contains(id);
            plan.cascaded = taken.set.into_keys().filter(is_extra).collect();
            return Ok(());
        }
        taken.set.extend(more.into_iter().map(|change| (change.id, Cow::Owned(change))));
        asked.extend(taken.add_taken_parts(store)?);
    }
}

/// The changes that are taken back.
struct TakenChanges<'a> {
    /// The requested changes, and those that the cascade adds.
    set: BTreeMap<ChangeId, Cow<'a, Change>>,
    /// The dialogs of the requested changes.
    dialogs: BTreeSet<&'a DialogId>,
    /// The change of which only some hunks are taken back: others may have been before, and stay so.
    partly: Option<ChangeId>,
}

impl TakenChanges<'_> {
    /// Adds what operations took back of these changes place by place; returns what was added.
    fn add_taken_parts(&mut self, store: &Store) -> Result<Vec<ChangeId>, StoreError> {
        let is_whole = |id: ChangeId| self.set.contains_key(&id) && self.partly != Some(id);
        let more = taken_parts_of(store, &is_whole, self.set.values().map(AsRef::as_ref))?;
        let ids = more.iter().map(|change| change.id).collect();
        self.set.extend(more.into_iter().map(|change| (change.id, Cow::Owned(change))));
        Ok(ids)
    }
}

/// One file, followed through moves, with the outcome in the draft.
pub(super) struct TakeBackPart {
    /// The paths that the draft changed.
    files: Vec<(ProjectPath, DraftFile)>,
    nets: Vec<NetChange>,
    pub(super) result: Result<PlanReason, TakeBackObstacle>,
    /// The nets of which git took back what they did, as indices.
    by_git: BTreeSet<usize>,
}

pub(super) struct TakeBackObstacle {
    /// The net change that could not be taken back, as an index.
    net: usize,
    reason: PlanReason,
    /// Later changes that would have to be taken back too.
    pub(super) blockers: Vec<ChangeId>,
}

fn try_parts(
    histories: &PathHistories<'_>,
    nets: &[NetChange],
    bonds: &[PathBond],
    options: TakeBackOptions,
) -> Result<Vec<TakeBackPart>, StoreError> {
    let set: BTreeSet<ChangeId> = nets.iter().flat_map(|net| net.changes.clone()).collect();
    let conflicts = options.conflict_handling();
    let mut parts = Vec::new();
    for nets in parts_of(histories, nets, bonds, &set)? {
        let mut draft = Draft::with(histories.store, conflicts);
        let (result, by_git) =
            match try_part(histories, &mut draft, &nets, &set, options.across_git)? {
                Ok((reason, by_git)) => (Ok(reason), by_git),
                Err((net, reason)) => {
                    draft = Draft::with(histories.store, conflicts);
                    let blockers = find_blockers(histories, &nets, net, &set, options)?;
                    (Err(TakeBackObstacle { net, reason, blockers }), BTreeSet::new())
                }
            };
        // A draft of its own for each of very many parts would take ten times the memory.
        parts.push(TakeBackPart { files: draft.into_changed(), nets, result, by_git });
    }
    leave_blocked(histories.store, &mut parts)?;
    Ok(parts)
}

/// Splits the nets into parts, each with changes in a row joined.
pub(super) fn parts_of(
    histories: &PathHistories<'_>,
    nets: &[NetChange],
    bonds: &[PathBond],
    set: &BTreeSet<ChangeId>,
) -> Result<Vec<Vec<NetChange>>, StoreError> {
    let mut bonds = bonds.to_vec();
    for net in nets {
        // A file that was moved since is the file that it is now.
        bonds.push((net.path.clone(), histories.current_path(net, set)?));
    }
    Ok(split_into_parts(nets, &bonds).into_iter().map(join_consecutive).collect())
}

/// The reason of a part that can be taken back, with the nets that git took back; else the index
/// of the net that cannot, and why.
pub(super) type PartOutcome = Result<(PlanReason, BTreeSet<usize>), (usize, PlanReason)>;

/// Takes the nets of a part back in the draft, newest first.
pub(super) fn try_part(
    histories: &PathHistories<'_>,
    draft: &mut Draft<'_>,
    nets: &[NetChange],
    set: &BTreeSet<ChangeId>,
    across_git: bool,
) -> Result<PartOutcome, StoreError> {
    let mut overall = PlanReason::Already;
    let mut by_git_nets = BTreeSet::new();
    for (at, net) in nets.iter().enumerate().rev() {
        let place = histories.current_path(net, set)?;
        // A change by git matters only if there is still something to take back.
        let by_git = !across_git && histories.git_changed(net, &place)?;
        match draft.take_back(net, &place)? {
            Ok(PlanReason::Already) if by_git => drop(by_git_nets.insert(at)),
            Ok(PlanReason::Already) => {}
            _ if by_git => return Ok(Err((at, PlanReason::GitSince))),
            Ok(reason @ PlanReason::Markers(_)) => overall = reason,
            Ok(PlanReason::Merged) if !matches!(overall, PlanReason::Markers(_)) => {
                overall = PlanReason::Merged;
            }
            Ok(reason) if overall == PlanReason::Already => overall = reason,
            Ok(_) => {}
            Err(reason) => return Ok(Err((at, reason))),
        }
    }
    let only_git = by_git_nets.len() == nets.len() && overall == PlanReason::Already;
    Ok(Ok((if only_git { PlanReason::TakenBackByGit } else { overall }, by_git_nets)))
}

/// Leaves parts whose path would be occupied by a folder or lie beneath a file after all parts.
fn leave_blocked(store: &Store, parts: &mut [TakeBackPart]) -> Result<(), StoreError> {
    loop {
        let mut all = Draft::new(store);
        for part in parts.iter().filter(|part| part.result.is_ok()) {
            // Only whether a file is there matters.
            part.files.iter().for_each(|(path, file)| all.put(path, file.side));
        }
        let mut blocked = BTreeMap::new();
        for (at, part) in parts.iter().enumerate().filter(|(_, part)| part.result.is_ok()) {
            for (path, file) in &part.files {
                if file.side.is_absent() || !all.now(path)?.is_absent() {
                    continue;
                }
                if let Some(what) = all.find_occupant(path)? {
                    blocked.insert(at, what);
                }
            }
        }
        if blocked.is_empty() {
            return Ok(());
        }
        for (at, what) in blocked {
            let net = parts[at].nets.len().saturating_sub(1);
            let reason = PlanReason::Occupied(what);
            parts[at].result = Err(TakeBackObstacle { net, reason, blockers: Vec::new() });
        }
    }
}

fn write_plan(
    histories: &PathHistories<'_>,
    plan: &mut Plan,
    parts: Vec<TakeBackPart>,
    taken: &TakenChanges<'_>,
    status: ChangeStatus,
) -> Result<(), StoreError> {
    let first = plan.files.iter().map(|file| file.part + 1).max().unwrap_or(0);
    let record = Draft::new(histories.store);
    for (number, mut part) in (first..).zip(parts) {
        let changes: Vec<ChangeId> = part.nets.iter().flat_map(|net| net.changes.clone()).collect();
        let files = match &part.result {
            Ok(reason) => part_files(&record, &part.nets, std::mem::take(&mut part.files), reason)?,
            Err(obstacle) => {
                let net = &part.nets[obstacle.net];
                let path = if net.after.is_absent() { &net.from } else { &net.path };
                let now = record.now(path)?;
                let mut file = PlannedFile::left(path.clone(), now, obstacle.reason.clone());
                file.blockers.clone_from(&obstacle.blockers);
                vec![file]
            }
        };
        for mut file in files {
            file.part = number;
            file.changes.clone_from(&changes);
            plan.files.push(file);
        }
        if part.result.is_ok() {
            // It may come back with its branch, so its status stays.
            let by_git: BTreeSet<_> =
                part.by_git.iter().flat_map(|&at| part.nets[at].changes.iter().copied()).collect();
            plan.taken_back_by_git.extend(&by_git);
            let decided = changes.iter().filter(|id| !by_git.contains(id));
            // What was taken back place by place before has its status.
            let marked =
                decided.filter_map(|id| taken.set.get(id)).filter(|change| change.is_effective());
            plan.marks.extend(marked.map(|change| StatusMark {
                change: change.id,
                part: number,
                old: change.status,
                new: if change.actor == Actor::Agent { status } else { ChangeStatus::Reverted },
            }));
            if by_git.len() < changes.len() {
                add_crossed_dialogs(histories, plan, &part.nets, taken)?;
            }
        }
    }
    Ok(())
}

/// The files that a part writes, or the one that is as it should be.
fn part_files(
    record: &Draft<'_>,
    nets: &[NetChange],
    drafted: Vec<(ProjectPath, DraftFile)>,
    reason: &PlanReason,
) -> Result<Vec<PlannedFile>, StoreError> {
    let mut files = Vec::new();
    for (path, drafted) in drafted {
        let now = record.now(&path)?;
        let mut file = PlannedFile::going(path, now, drafted.side, reason.clone());
        file.content = drafted.content;
        if file.action != FileAction::Leave {
            files.push(file);
        }
    }
    if let (true, Some(net)) = (files.is_empty(), nets.last()) {
        let now = record.now(&net.path)?;
        // The combined result of the nets may be there already.
        let by_git = *reason == PlanReason::TakenBackByGit;
        let reason = if by_git { PlanReason::TakenBackByGit } else { PlanReason::Already };
        files.push(PlannedFile::left(net.path.clone(), now, reason));
    }
    Ok(files)
}

/// Adds the other dialogs whose changes are taken back too, or that changed the same files later.
fn add_crossed_dialogs(
    histories: &PathHistories<'_>,
    plan: &mut Plan,
    nets: &[NetChange],
    taken: &TakenChanges<'_>,
) -> Result<(), StoreError> {
    for net in nets {
        let own = net.changes.iter().filter_map(|id| taken.set.get(id)?.dialog.clone());
        let later = histories.later_traces(&net.path, net.newest())?.into_iter();
        for dialog in later.filter_map(|trace| trace.dialog).chain(own) {
            if !taken.dialogs.contains(&dialog) && !plan.crosses.contains(&dialog) {
                plan.crosses.push(dialog);
            }
        }
    }
    Ok(())
}
