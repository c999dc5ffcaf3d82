//! The second primitive: puts the files into the state that they had at a checkpoint.
//!
//! That state follows from the journal: what a path was before the first change
//! after the checkpoint. So a path that was never recorded as changed is never
//! touched, ignore rules do not matter, and "missing from the store" cannot be
//! mistaken for "did not exist".

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

use retake_model::{Actor, Change, ChangeStatus, DialogId, ProjectPath, Side};
use retake_store::{ChangeFilter, Mark, Store, StoreError};

use crate::plan::draft::Draft;
use crate::plan::groups::Groups;
use crate::plan::nesting::Nesting;
use crate::plan::{Action, Plan, PlannedFile, Reason};

/// How the files are put into an earlier state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GoToOptions {
    /// Only these files, and what is beneath these folders.
    pub paths: Vec<ProjectPath>,
    /// Also take away what the person made, and what other dialogs did.
    pub exact: bool,
    /// Take back what git changed since.
    pub across_git: bool,
}

/// Plans to put the files into the state that they had at a place in the order.
///
/// Of `dialog`, if the checkpoint belongs to one: paths that other dialogs changed since stay.
pub(crate) fn go_to(
    store: &Store,
    plan: &mut Plan,
    seq: u64,
    dialog: Option<&DialogId>,
    options: &GoToOptions,
) -> Result<(), StoreError> {
    let histories = histories_since(store, seq)?;
    let draft = Draft::new(store, false);
    let mut parts: HashMap<&ProjectPath, u64> = HashMap::new();
    for (part, paths) in (0..).zip(groups(&histories)) {
        let wanted = |folder: &ProjectPath| paths.iter().any(|path| path.is_beneath(folder));
        if !options.paths.is_empty() && !options.paths.iter().any(wanted) {
            continue;
        }
        let mut files = Vec::new();
        for path in &paths {
            let now = draft.now(path)?;
            files.push(plan_path(path, &histories[*path], now, dialog, options));
        }
        leave_together(&mut files);
        let is_left = files.iter().any(is_left);
        for (path, mut file) in paths.iter().zip(files) {
            let history = &histories[*path];
            parts.insert(path, part);
            file.part = part;
            let agents = history.iter().map(|seen| &seen.change);
            let agents = agents.filter(|change| change.actor == Actor::Agent);
            file.changes = agents.clone().map(|change| change.id).collect();
            // What the user moved away is in effect under its new name.
            let moved = history
                .iter()
                .any(|seen| is_users(&seen.change) && seen.change.old_path.as_ref() == Some(*path));
            let taken = agents.filter(|change| change.is_effective() && !is_left && !moved);
            plan.marks.extend(taken.map(|change| Mark {
                change: change.id,
                part,
                old: change.status,
                new: ChangeStatus::Reverted,
            }));
            if file.action != Action::Leave {
                plan.cross(history, dialog);
            }
            if file.action != Action::Leave || file.reason != Reason::Already {
                plan.files.push(file);
            }
        }
    }
    plan.marks.sort_by_key(|mark| mark.change);
    plan.marks.dedup_by_key(|mark| mark.change);
    bring_back_statuses(store, plan, seq, &parts)?;
    leave_blocked(store, plan)
}

/// The paths by what goes together: what an agent moved, and a file in the place of a folder.
fn groups(histories: &Histories) -> Vec<Vec<&ProjectPath>> {
    let mut groups = Groups::default();
    for change in histories.values().flatten().map(|seen| &seen.change) {
        if let (Some(old), false) = (&change.old_path, is_users(change)) {
            groups.join(old, &change.path);
        }
    }
    for (path, top) in Nesting::of(histories.keys()).pairs() {
        groups.join(top, path);
    }
    let mut parts: BTreeMap<&ProjectPath, Vec<&ProjectPath>> = BTreeMap::new();
    for path in histories.keys() {
        parts.entry(groups.leader(path)).or_default().push(path);
    }
    parts.into_values().collect()
}

fn is_left(file: &PlannedFile) -> bool {
    file.action == Action::Leave && file.reason != Reason::Already
}

/// Where one file of a group stays, all of them do.
fn leave_together(files: &mut [PlannedFile]) {
    let Some(reason) = files.iter().find(|file| is_left(file)).map(|file| file.reason.clone())
    else {
        return;
    };
    for file in files.iter_mut().filter(|file| file.action != Action::Leave) {
        file.leave(reason.clone());
    }
}

/// Changes that were in effect then, and taken back since, are in effect again.
fn bring_back_statuses(
    store: &Store,
    plan: &mut Plan,
    seq: u64,
    parts: &HashMap<&ProjectPath, u64>,
) -> Result<(), StoreError> {
    let is_left = |file: &&PlannedFile| file.action == Action::Leave;
    let left: HashSet<u64> = plan.files.iter().filter(is_left).map(|file| file.part).collect();
    for (id, then) in store.statuses_at(seq)? {
        let Some(change) = store.change(id)?.filter(|change| change.status != then) else {
            continue;
        };
        let Some(part) = parts.get(&change.path).copied() else { continue };
        if !left.contains(&part) {
            plan.marks.push(Mark { change: id, part, old: change.status, new: then });
        }
    }
    Ok(())
}

/// One change as a path saw it: of a move, the old path saw the file go.
struct Seen {
    change: Change,
    before: Side,
}

type Histories = BTreeMap<ProjectPath, Vec<Seen>>;

/// Every path that changed since, with its changes, oldest first.
fn histories_since(store: &Store, seq: u64) -> Result<Histories, StoreError> {
    let filter = ChangeFilter { after: Some(seq), oldest_first: true, ..ChangeFilter::default() };
    let mut histories = Histories::new();
    for change in store.changes(&filter)? {
        if let Some(old) = change.old_path.clone() {
            let gone = Seen { before: change.before, change: change.clone() };
            histories.entry(old).or_default().push(gone);
        }
        let before = if change.old_path.is_some() { Side::Absent } else { change.before };
        let seen = Seen { change, before };
        histories.entry(seen.change.path.clone()).or_default().push(seen);
    }
    Ok(histories)
}

fn plan_path(
    path: &ProjectPath,
    history: &[Seen],
    now: Side,
    dialog: Option<&DialogId>,
    options: &GoToOptions,
) -> PlannedFile {
    let then = history.first().map_or(now, |first| first.before);
    let left = |reason| PlannedFile::left(path.clone(), now, reason);
    if then == Side::Unknown || now == Side::Unknown {
        return left(Reason::NotCaptured);
    }
    if then == now {
        return left(Reason::Already);
    }
    let by_git = |seen: &Seen| seen.change.actor == Actor::Git;
    if !options.across_git && history.iter().any(by_git) {
        return left(Reason::GitSince);
    }
    let by_user = history.iter().find(|seen| is_users(&seen.change));
    let made_by_user = history.first().is_some_and(|first| is_users(&first.change));
    let going = |reason| PlannedFile::going(path.clone(), now, then, reason);
    if options.exact {
        return match (then.is_absent() && made_by_user, by_user) {
            (true, _) => going(Reason::Yours),
            (_, Some(_)) => going(Reason::ReplacesYours),
            _ => going(Reason::Restored),
        };
    }
    if let Some(other) = dialog.and_then(|ours| others(history, ours).next()) {
        return left(Reason::OtherDialog(other.to_string()));
    }
    if then.is_absent() {
        // Only what an agent or Retake made, and what is still as they left it.
        return match (made_by_user, by_user.is_some()) {
            (true, _) => left(Reason::MadeByYou),
            (_, true) => left(Reason::EditedByYou),
            _ => going(Reason::Restored),
        };
    }
    going(if by_user.is_some() { Reason::ReplacesYours } else { Reason::Restored })
}

fn is_users(change: &Change) -> bool {
    matches!(change.actor, Actor::User | Actor::Unknown)
}

impl Plan {
    /// Names the other dialogs whose work goes.
    fn cross(&mut self, history: &[Seen], dialog: Option<&DialogId>) {
        let Some(ours) = dialog else { return };
        for other in others(history, ours) {
            if !self.crosses.contains(other) {
                self.crosses.push(other.clone());
            }
        }
    }
}

/// The other dialogs whose agents changed a path, as far as that is in effect.
fn others<'h>(history: &'h [Seen], ours: &'h DialogId) -> impl Iterator<Item = &'h DialogId> {
    let agents = history
        .iter()
        .map(|seen| &seen.change)
        .filter(|change| change.actor == Actor::Agent && change.is_effective());
    let shared = |change: &'h Change| change.candidates.iter().map(|by| &by.dialog);
    let dialogs = agents.flat_map(move |change| change.dialog.iter().chain(shared(change)));
    dialogs.filter(move |dialog| *dialog != ours)
}

/// A file cannot stand where a folder is, or beneath a file.
fn leave_blocked(store: &Store, plan: &mut Plan) -> Result<(), StoreError> {
    loop {
        let mut draft = Draft::new(store, false);
        for file in plan.writes() {
            draft.put(&file.path, file.then);
        }
        let mut blocked = BTreeMap::new();
        for file in plan.writes().filter(|file| file.action == Action::Create) {
            if let Some(what) = draft.in_the_way(&file.path)? {
                blocked.insert(file.part, what);
            }
        }
        if blocked.is_empty() {
            return Ok(());
        }
        for (part, what) in blocked {
            plan.leave_part(part, &Reason::Occupied(what));
        }
    }
}
