//! The second primitive: restores the files to the state that they had at a checkpoint.
//!
//! That state follows from the journal: a path's content before its first change
//! after the checkpoint. So a path that was never recorded as changed is never
//! touched, ignore rules do not matter, and "missing from the store" cannot be
//! mistaken for "did not exist".

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use retake_model::{Actor, ChangeId, ChangeStatus, DialogId, PathState, ProjectPath};
use retake_store::{ChangeFilter, StatusMark, Store, StoreError};

use crate::plan::draft::Draft;
use crate::plan::groups::PathGroups;
use crate::plan::nesting::PathNesting;
use crate::plan::{FileAction, Plan, PlanReason, PlannedFile};

/// Options of a restore to an earlier state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GoToOptions {
    /// Only these files, and what is beneath these folders.
    pub paths: Vec<ProjectPath>,
    /// Only what this dialog changed since.
    pub dialog: Option<DialogId>,
    /// Also take away what the person made, and what other dialogs did.
    pub exact: bool,
    /// Take back what git changed since.
    pub across_git: bool,
}

/// Plans to restore the files to the state that they had at `seq`.
///
/// With `dialog`, if the checkpoint belongs to one: paths that other dialogs changed since stay.
pub(crate) fn go_to(
    store: &Store,
    plan: &mut Plan,
    seq: u64,
    dialog: Option<&DialogId>,
    options: &GoToOptions,
) -> Result<(), StoreError> {
    let histories = changes_by_path_since(store, seq)?;
    let draft = Draft::new(store);
    let mut parts: HashMap<&ProjectPath, u64> = HashMap::new();
    let mut planned = Vec::new();
    for (part, paths) in (0..).zip(group_paths(&histories)) {
        let wanted = |folder: &ProjectPath| paths.iter().any(|path| path.is_beneath(folder));
        if !options.paths.is_empty() && !options.paths.iter().any(wanted) {
            continue;
        }
        let changed_by = |of: &DialogId| paths.iter().any(|path| histories[*path].is_of(of));
        if !options.dialog.as_ref().is_none_or(changed_by) {
            continue;
        }
        let mut files = Vec::new();
        for path in &paths {
            let (history, now) = (&histories[*path], draft.now(path)?);
            files.push(if now == PathState::Unknown && history.before != PathState::Unknown {
                let reason = draft.not_kept_reason(path, history.before.is_absent())?;
                PlannedFile::left((*path).clone(), now, reason)
            } else {
                plan_path(path, history, now, dialog, options)
            });
        }
        leave_together(&mut files);
        parts.extend(paths.iter().map(|path| (*path, part)));
        planned.push((part, files));
    }
    let everything = options.exact && options.paths.is_empty() && options.dialog.is_none();
    let nothing_stays = everything && !planned.iter().flat_map(|(_, files)| files).any(is_left);
    for (part, files) in planned {
        let is_left = files.iter().any(is_left);
        for mut file in files {
            let history = &histories[&file.path];
            file.part = part;
            if let PlanReason::OtherDialog(dialog) = &mut file.reason
                && let Some(other) = store.dialog(&DialogId(dialog.clone()))?
            {
                *dialog = other.name;
            }
            let agents = |seen: &&PathChange| seen.actor == Actor::Agent;
            file.changes = history.seen.iter().filter(agents).map(|seen| seen.change).collect();
            let here = if nothing_stays { &history.seen } else { history.since_moved_away() };
            let reverted =
                here.iter().filter(agents).filter(|seen| seen.is_effective() && !is_left);
            plan.marks.extend(reverted.map(|seen| StatusMark {
                change: seen.change,
                part,
                old: seen.status,
                new: ChangeStatus::Reverted,
            }));
            if file.action != FileAction::Leave {
                plan.add_crossed_dialogs(history, dialog);
            }
            if file.action != FileAction::Leave || file.reason != PlanReason::Already {
                plan.files.push(file);
            }
        }
    }
    plan.marks.sort_by_key(|mark| mark.change);
    plan.marks.dedup_by_key(|mark| mark.change);
    restore_statuses(store, plan, seq, &parts)?;
    leave_blocked(store, plan)
}

/// Groups paths that are restored together: both ends of a move by an agent, and a file in the
/// place of a folder.
fn group_paths(histories: &ChangesByPath) -> Vec<Vec<&ProjectPath>> {
    let mut groups = PathGroups::default();
    for (path, history) in histories {
        for old in &history.moved_from {
            groups.join(old, path);
        }
    }
    for (path, top) in PathNesting::of(histories.keys()).pairs() {
        groups.join(top, path);
    }
    let mut parts: BTreeMap<&ProjectPath, Vec<&ProjectPath>> = BTreeMap::new();
    for path in histories.keys() {
        parts.entry(groups.leader(path)).or_default().push(path);
    }
    parts.into_values().collect()
}

fn is_left(file: &PlannedFile) -> bool {
    file.action == FileAction::Leave && file.reason != PlanReason::Already
}

/// Leaves all files of a group if one of them is left.
fn leave_together(files: &mut [PlannedFile]) {
    let Some(reason) = files.iter().find(|file| is_left(file)).map(|file| file.reason.clone())
    else {
        return;
    };
    for file in files.iter_mut().filter(|file| file.action != FileAction::Leave) {
        file.leave(reason.clone());
    }
}

/// Marks changes that were in effect then, and were taken back since, as in effect again.
fn restore_statuses(
    store: &Store,
    plan: &mut Plan,
    seq: u64,
    parts: &HashMap<&ProjectPath, u64>,
) -> Result<(), StoreError> {
    let is_left = |file: &&PlannedFile| file.action == FileAction::Leave;
    let left: HashSet<u64> = plan.files.iter().filter(is_left).map(|file| file.part).collect();
    for (id, then) in store.statuses_at(seq)? {
        let Some(change) = store.change(id)?.filter(|change| change.status != then) else {
            continue;
        };
        let Some(part) = parts.get(&change.path).copied() else { continue };
        if !left.contains(&part) {
            plan.marks.push(StatusMark { change: id, part, old: change.status, new: then });
        }
    }
    Ok(())
}

/// The changes of one path since a place in the order.
struct PathChanges {
    /// Its state before them.
    before: PathState,
    /// Its changes, oldest first.
    seen: Vec<PathChange>,
    /// The paths from which it was moved here by an actor other than the user.
    moved_from: Vec<ProjectPath>,
}

impl PathChanges {
    /// Returns whether agents of the dialog may have changed it.
    fn is_of(&self, dialog: &DialogId) -> bool {
        let agents = self.seen.iter().filter(|seen| seen.actor == Actor::Agent);
        agents.into_iter().any(|seen| seen.dialogs.contains(dialog))
    }

    /// Returns the changes of the file that has this name now: changes of a file that the user
    /// moved away stay in effect under its new name, unless that is restored, too.
    fn since_moved_away(&self) -> &[PathChange] {
        let moved = self.seen.iter().rposition(|seen| seen.is_users() && seen.moved_away);
        &self.seen[moved.map_or(0, |at| at + 1)..]
    }
}

/// The fields of one change that a restore needs; kept small, since there may be very many.
struct PathChange {
    change: ChangeId,
    actor: Actor,
    status: ChangeStatus,
    /// Whether the file went to another path.
    moved_away: bool,
    /// The dialogs whose agents can have made it.
    dialogs: Rc<[DialogId]>,
}

impl PathChange {
    fn is_users(&self) -> bool {
        matches!(self.actor, Actor::User | Actor::Unknown)
    }

    fn is_effective(&self) -> bool {
        matches!(self.status, ChangeStatus::Pending | ChangeStatus::Accepted)
    }
}

type ChangesByPath = BTreeMap<ProjectPath, PathChanges>;

/// Loads the changes since `seq`, grouped by path.
fn changes_by_path_since(store: &Store, seq: u64) -> Result<ChangesByPath, StoreError> {
    let filter = ChangeFilter { after: Some(seq), oldest_first: true, ..ChangeFilter::default() };
    let mut histories = ChangesByPath::new();
    let mut note =
        |path: &ProjectPath, before: PathState, seen: PathChange, from: Option<&ProjectPath>| {
            let new = || PathChanges { before, seen: Vec::new(), moved_from: Vec::new() };
            let history = histories.entry(path.clone()).or_insert_with(new);
            history.moved_from.extend(from.filter(|_| !seen.is_users()).cloned());
            history.seen.push(seen);
        };
    let mut dialogs: Rc<[DialogId]> = Rc::new([]);
    store.for_each_change(&filter, &mut |change| {
        let own = change.dialog.iter().chain(change.candidates.iter().map(|by| &by.dialog));
        // Consecutive changes mostly belong to the same dialog.
        if !own.clone().eq(dialogs.iter()) {
            dialogs = own.cloned().collect();
        }
        let seen = |moved_away| PathChange {
            change: change.id,
            actor: change.actor,
            status: change.status,
            moved_away,
            dialogs: Rc::clone(&dialogs),
        };
        if let Some(old) = &change.old_path {
            note(old, change.before, seen(true), None);
            note(&change.path, PathState::Absent, seen(false), Some(old));
        } else {
            note(&change.path, change.before, seen(false), None);
        }
    })?;
    Ok(histories)
}

fn plan_path(
    path: &ProjectPath,
    history: &PathChanges,
    now: PathState,
    dialog: Option<&DialogId>,
    options: &GoToOptions,
) -> PlannedFile {
    let then = history.before;
    let left = |reason| PlannedFile::left(path.clone(), now, reason);
    if then == PathState::Unknown {
        return left(PlanReason::NotCaptured);
    }
    if then == now {
        return left(PlanReason::Already);
    }
    let by_git = |seen: &PathChange| seen.actor == Actor::Git;
    if !options.across_git && history.seen.iter().any(by_git) {
        return left(PlanReason::GitSince);
    }
    let by_user = history.seen.iter().any(PathChange::is_users);
    let made_by_user = history.seen.first().is_some_and(PathChange::is_users);
    let going = |reason| PlannedFile::going(path.clone(), now, then, reason);
    if options.exact {
        return match (then.is_absent() && made_by_user, by_user) {
            (true, _) => going(PlanReason::Yours),
            (_, true) => going(PlanReason::ReplacesYours),
            _ => going(PlanReason::Restored),
        };
    }
    if let Some(other) = dialog.and_then(|ours| other_dialogs(history, ours).next()) {
        return left(PlanReason::OtherDialog(other.to_string()));
    }
    if then.is_absent() {
        // Only a file that an agent or Retake made and that the user has not edited since.
        return match (made_by_user, by_user) {
            (true, _) => left(PlanReason::MadeByYou),
            (_, true) => left(PlanReason::EditedByYou),
            _ => going(PlanReason::Restored),
        };
    }
    going(if by_user { PlanReason::ReplacesYours } else { PlanReason::Restored })
}

impl Plan {
    /// Adds the other dialogs whose changes are taken back.
    fn add_crossed_dialogs(&mut self, history: &PathChanges, dialog: Option<&DialogId>) {
        let Some(ours) = dialog else { return };
        for other in other_dialogs(history, ours) {
            if !self.crosses.contains(other) {
                self.crosses.push(other.clone());
            }
        }
    }
}

/// The other dialogs whose agents changed a path, as far as that is in effect.
fn other_dialogs<'h>(
    history: &'h PathChanges,
    ours: &'h DialogId,
) -> impl Iterator<Item = &'h DialogId> {
    let is_agents = |seen: &&PathChange| seen.actor == Actor::Agent && seen.is_effective();
    let agents = history.seen.iter().filter(is_agents);
    agents.flat_map(|seen| seen.dialogs.iter()).filter(move |dialog| *dialog != ours)
}

/// Leaves files whose path is occupied: by a folder, or by a file above it.
fn leave_blocked(store: &Store, plan: &mut Plan) -> Result<(), StoreError> {
    loop {
        let mut draft = Draft::new(store);
        for file in plan.writes() {
            draft.put(&file.path, file.then);
        }
        let mut blocked = HashMap::new();
        for file in plan.writes().filter(|file| file.action == FileAction::Create) {
            if let Some(what) = draft.find_occupant(&file.path)? {
                blocked.insert(file.part, PlanReason::Occupied(what));
            }
        }
        if blocked.is_empty() {
            return Ok(());
        }
        plan.leave_parts(&blocked);
    }
}
