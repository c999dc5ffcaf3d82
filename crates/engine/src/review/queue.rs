//! Rejections that wait until the agents concerned have ended their turns: nothing is taken from
//! under an agent that works.
//!
//! Invariants: a rejection in the queue is carried out once, and settled in the same transaction as
//! its operation. It is planned again when it is due; a hunk that changed meanwhile is dropped, and
//! that is on record.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{
    Change, ChangeId, DialogId, HunkId, Millis, ProcessKey, ProjectPath, QueueState,
    QueuedRejection,
};
use retake_store::{CallState, StoreError};
use serde::{Deserialize, Serialize};

use crate::apply::OperationControl;
use crate::error::OperationError;
use crate::feedback::rejection::record_queue;
use crate::plan::take_back::{CascadePolicy, TakeBackOptions};
use crate::plan::{FollowUp, Plan};
use crate::project::Project;
use crate::review::act::{ChosenPart, HunkChoice, HunkRequest};
use crate::review::file::Review;
use crate::review::file_target::HunkLines;
use crate::review::scope::{ReviewScope, ScopeChanges};

/// Time without an open call after which an agent counts as gone.
const MAX_IDLE_TURN: Millis = 10 * 60 * 1000;

/// What of a hunk is rejected, and how; as JSON in the record.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct QueuedRequest {
    /// The resolved scope, as JSON.
    changes: String,
    approved: bool,
    cascade: String,
    lines: Option<String>,
    digest: Option<String>,
}

/// A queued rejection that was settled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettledRejection {
    /// Its number.
    pub id: u64,
    /// Its new state.
    pub state: QueueState,
    /// Why it was dropped.
    pub outcome: Option<String>,
}

/// Tells whether a process still runs.
pub type IsProcessAlive<'a> = &'a dyn Fn(&ProcessKey) -> bool;

impl Project {
    /// Queues the rejection of hunks; returns them as they wait.
    pub fn queue_rejection(
        &self,
        request: &HunkRequest,
        options: TakeBackOptions,
        reason: Option<&str>,
        at: Millis,
    ) -> Result<Vec<QueuedRejection>, OperationError> {
        let _lock = self.lock_and_refresh(at)?;
        let (review, parts) = self.find_hunks(request)?;
        let changes = changes_behind(&review, &parts);
        if let Some(change) = changes.iter().find(|change| change.approved.is_some()) {
            return Err(OperationError::Approved(change.id));
        }
        // What was rejected together goes together, when the last of these agents has ended its turn.
        let dialogs: Vec<DialogId> = dialogs_of(&changes).into_iter().collect();
        let scope = to_json(&review.scope.changes)?;
        let batch = self.store().batch()?;
        let mut ids = Vec::new();
        let files = parts.iter().flat_map(|part| part.part.files.iter().zip(&part.chosen));
        for (file, (number, lines)) in
            files.flat_map(|(file, chosen)| chosen.iter().map(move |chosen| (file, chosen)))
        {
            let hunk = &file.hunks[*number];
            let waits = self.waiting_with_lines(&file.path, hunk.id, lines.as_ref())?;
            // With another reason it is said anew: both are told.
            if let Some(waits) =
                waits.filter(|it| reason.is_none() || it.reason.as_deref() == reason)
            {
                ids.push(waits.id);
                continue;
            }
            let request = QueuedRequest {
                changes: scope.clone(),
                approved: review.scope.approved,
                cascade: cascade_name(options.cascade).to_owned(),
                lines: lines.as_ref().map(to_json).transpose()?,
                digest: (hunk.id.ordinal > 0).then(|| file.digest.clone()),
            };
            let id = batch.put_queued_rejection(&QueuedRejection {
                id: 0,
                at,
                path: file.path.clone(),
                hunk: hunk.id,
                request: to_json(&request)?,
                reason: reason.map(str::to_owned),
                dialogs: dialogs.clone(),
                state: QueueState::Waiting,
                outcome: None,
                operation: None,
                said_by: None,
            })?;
            record_queue(&batch, id, QueueState::Waiting, at)?;
            ids.push(id);
        }
        batch.commit()?;
        let rows = ids.into_iter().map(|id| self.store().queued_rejection(id));
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Finds a rejection that waits and takes these lines of a hunk along, or all of it.
    fn waiting_with_lines(
        &self,
        path: &ProjectPath,
        hunk: HunkId,
        lines: Option<&HunkLines>,
    ) -> Result<Option<QueuedRejection>, OperationError> {
        for row in self.store().waiting_rejections_of(path)? {
            if row.hunk != hunk {
                continue;
            }
            let is_covered = match (&queued_lines(&row)?, lines) {
                (None, _) => true,
                (Some(queued), Some(lines)) => queued.includes(lines),
                (Some(_), None) => false,
            };
            if is_covered {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Takes a rejection out of the queue.
    pub fn cancel_queued_rejection(
        &self,
        id: u64,
        at: Millis,
    ) -> Result<QueuedRejection, OperationError> {
        let _lock = self.acquire_lock()?;
        let waits = self.store().queued_rejection(id)?;
        if waits.is_none_or(|row| row.state != QueueState::Waiting) {
            return Err(OperationError::NotQueued(id));
        }
        let batch = self.store().batch()?;
        batch.settle_queued_rejection(id, QueueState::Cancelled, None, None)?;
        record_queue(&batch, id, QueueState::Cancelled, at)?;
        batch.commit()?;
        self.store().queued_rejection(id)?.ok_or(OperationError::NotQueued(id))
    }

    /// Takes the rejections out of the queue that a plan was to carry out: the person took it back.
    pub(crate) fn cancel_rejections_of(
        &self,
        plan: &Plan,
        at: Millis,
    ) -> Result<(), OperationError> {
        let FollowUp::Rejected { places, .. } = &plan.follow_up else { return Ok(()) };
        let batch = self.store().batch()?;
        for id in places.iter().flat_map(|places| &places.queued) {
            let why = Some("it was interrupted, and taken back");
            batch.settle_queued_rejection(*id, QueueState::Cancelled, why, None)?;
            record_queue(&batch, *id, QueueState::Cancelled, at)?;
        }
        batch.commit()?;
        Ok(())
    }

    /// Returns all rejections that were ever queued, the newest first.
    pub fn queued_rejections(&self, limit: usize) -> Result<Vec<QueuedRejection>, StoreError> {
        self.store().queued_rejections(limit)
    }

    /// Returns the rejections that wait, the oldest first.
    pub fn waiting_rejections(&self) -> Result<Vec<QueuedRejection>, StoreError> {
        self.store().waiting_rejections()
    }

    /// Returns one of them.
    pub fn queued_rejection(&self, id: u64) -> Result<Option<QueuedRejection>, StoreError> {
        self.store().queued_rejection(id)
    }

    /// Returns whether a rejection waits in the queue.
    pub fn has_waiting_rejections(&self) -> Result<bool, StoreError> {
        self.store().has_waiting_rejections()
    }

    /// Returns whether a rejection waits although no agent concerned is at work.
    pub fn has_due_rejections(
        &self,
        at: Millis,
        is_alive: IsProcessAlive<'_>,
    ) -> Result<bool, StoreError> {
        Ok(!self.due_rejections(at, is_alive)?.is_empty())
    }

    /// Returns the dialogs behind these hunks whose agents are at work now.
    pub fn working_dialogs(
        &self,
        request: &HunkRequest,
        at: Millis,
        is_alive: IsProcessAlive<'_>,
    ) -> Result<Vec<DialogId>, OperationError> {
        let (review, parts) = self.find_hunks(request)?;
        let dialogs = dialogs_of(&changes_behind(&review, &parts));
        let mut working = Vec::new();
        for dialog in dialogs {
            if self.is_at_work(&dialog, at, is_alive)? {
                working.push(dialog);
            }
        }
        Ok(working)
    }

    /// Returns whether the agent of a dialog works on a turn.
    fn is_at_work(
        &self,
        id: &DialogId,
        at: Millis,
        is_alive: IsProcessAlive<'_>,
    ) -> Result<bool, StoreError> {
        let Some(dialog) = self.store().dialog(id)? else { return Ok(false) };
        let calls = self.store().live_calls()?;
        let calls: Vec<_> = calls.iter().filter(|call| call.dialog == *id).collect();
        let is_gone = |process: &ProcessKey| !is_alive(process);
        let processes = || calls.iter().filter_map(|call| call.process.as_ref());
        if dialog.ended_at.is_some() || (processes().count() > 0 && processes().all(is_gone)) {
            return Ok(false);
        }
        if calls.iter().any(|call| call.state == CallState::Open) {
            return Ok(true);
        }
        // An agent without messages reports no turns either.
        let reports_turns = dialog.turns > 0;
        // A clock that was set back must not make it wait for days.
        let is_recent = (at - dialog.last_at).abs() < MAX_IDLE_TURN;
        Ok(dialog.turn_open && reports_turns && is_recent)
    }

    /// Carries out the queued rejections whose agents have ended their turns; returns how
    /// each was settled.
    pub fn carry_out_rejections(
        &self,
        at: Millis,
        is_alive: IsProcessAlive<'_>,
    ) -> Result<Vec<SettledRejection>, OperationError> {
        if self.due_rejections(at, is_alive)?.is_empty() {
            return Ok(Vec::new());
        }
        // From here on no turn begins and none is cancelled: both need the lock.
        let _lock = self.lock_and_refresh(at)?;
        let mut groups: Vec<(RejectionGroup, Vec<QueuedRejection>)> = Vec::new();
        for row in self.due_rejections(at, is_alive)? {
            let group = RejectionGroup::of(&row);
            match groups.iter_mut().find(|(other, rows)| other.takes_in(rows, &group, &row)) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((group, vec![row])),
            }
        }
        let mut settled = Vec::new();
        for (key, rows) in groups {
            // The operation is the person's, although an agent's event made it due.
            let caller = rows.first().and_then(|row| row.said_by.clone());
            let before = caller.map(|caller| self.set_caller(caller));
            let done = self.carry_out_group(&key, rows, at);
            before.map(|before| self.set_caller(before));
            settled.extend(done?);
        }
        Ok(settled)
    }

    /// The rejections that wait although no agent concerned is at work.
    fn due_rejections(
        &self,
        at: Millis,
        is_alive: IsProcessAlive<'_>,
    ) -> Result<Vec<QueuedRejection>, StoreError> {
        let mut due = Vec::new();
        for row in self.store().waiting_rejections()? {
            let mut waits = false;
            for dialog in &row.dialogs {
                waits |= self.is_at_work(dialog, at, is_alive)?;
            }
            if !waits {
                due.push(row);
            }
        }
        Ok(due)
    }

    /// Carries out rejections as one operation; the caller holds the lock and has scanned.
    fn carry_out_group(
        &self,
        key: &RejectionGroup,
        mut rows: Vec<QueuedRejection>,
        at: Millis,
    ) -> Result<Vec<SettledRejection>, OperationError> {
        let mut dropped: BTreeMap<u64, String> = BTreeMap::new();
        let planned = loop {
            let Some(request) = key.request(&rows) else {
                drop_all(&mut rows, &mut dropped, "the entry of the queue cannot be read");
                break None;
            };
            if rows.is_empty() {
                break None;
            }
            let options = TakeBackOptions { cascade: key.cascade(), ..TakeBackOptions::default() };
            let plan = self.plan_from_record(at, true, |it| it.reject_places(&request, options));
            match plan {
                Ok(plan) => break Some(plan),
                Err(OperationError::StaleHunks(stale)) => {
                    let why = "the place changed since, was taken back or was approved";
                    drop_rows(&mut rows, &mut dropped, why, |row| stale.contains(&row.hunk));
                }
                Err(OperationError::NeedsDigest(hunk)) => {
                    let why =
                        "the file has changed since, and the hunk is one of several equal ones";
                    drop_rows(&mut rows, &mut dropped, why, |row| row.hunk == hunk);
                }
                Err(
                    error @ (OperationError::Approved(_)
                    | OperationError::UnknownHunkLines { .. }
                    | OperationError::UnknownDialog(_)),
                ) => {
                    drop_all(&mut rows, &mut dropped, &error.to_string());
                }
                Err(error) => return Err(error),
            }
        };
        if let Some(plan) = planned {
            let plan = with_queue_entries(plan.because(join_reasons(&rows)), &rows);
            let applied = self.apply_locked(plan, at, &OperationControl::default())?;
            let left = applied.plan.left().map(|file| (&file.path, file.reason.to_string()));
            let left: BTreeMap<_, _> = left.collect();
            for row in &rows {
                let now = self.store().queued_rejection(row.id)?;
                if now.is_some_and(|row| row.state == QueueState::Waiting) {
                    let why = left.get(&row.path).cloned();
                    dropped
                        .insert(row.id, why.unwrap_or_else(|| "nothing was to be done".to_owned()));
                }
            }
        }
        self.settle_dropped(&dropped, at)?;
        let done = rows.iter().filter(|row| !dropped.contains_key(&row.id)).map(|row| row.id);
        let done = done.map(|id| SettledRejection { id, state: QueueState::Done, outcome: None });
        let gone = dropped.iter().map(|(id, why)| SettledRejection {
            id: *id,
            state: QueueState::Dropped,
            outcome: Some(why.clone()),
        });
        Ok(done.chain(gone).collect())
    }

    fn settle_dropped(
        &self,
        dropped: &BTreeMap<u64, String>,
        at: Millis,
    ) -> Result<(), OperationError> {
        if dropped.is_empty() {
            return Ok(());
        }
        let batch = self.store().batch()?;
        for (id, why) in dropped {
            batch.settle_queued_rejection(*id, QueueState::Dropped, Some(why), None)?;
            record_queue(&batch, *id, QueueState::Dropped, at)?;
        }
        batch.commit()?;
        Ok(())
    }
}

/// Rejections that are one operation: of one scope, with one reason, by one person.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RejectionGroup {
    changes: String,
    approved: bool,
    cascade: String,
    reason: Option<String>,
    said_by: Option<String>,
}

impl RejectionGroup {
    fn of(row: &QueuedRejection) -> Self {
        let request: Option<QueuedRequest> = serde_json::from_str(&row.request).ok();
        let said_by = row.said_by.as_ref().and_then(|by| serde_json::to_string(by).ok());
        let reason = row.reason.clone();
        let Some(QueuedRequest { changes, approved, cascade, .. }) = request else {
            let (changes, cascade) = (String::new(), String::new());
            return Self { changes, approved: false, cascade, reason, said_by };
        };
        Self { changes, approved, cascade, reason, said_by }
    }

    /// Returns whether a row is carried out with those of this group: one of the same hunk, too, since
    /// it would be another hunk afterwards.
    fn takes_in(&self, rows: &[QueuedRejection], group: &Self, row: &QueuedRejection) -> bool {
        let is_same_hunk =
            || rows.iter().any(|other| (&other.path, other.hunk) == (&row.path, row.hunk));
        let other_reason = Self { reason: group.reason.clone(), ..self.clone() };
        self == group || (other_reason == *group && is_same_hunk())
    }

    /// The request of some rows; `None` if their scope cannot be read.
    fn request(&self, rows: &[QueuedRejection]) -> Option<HunkRequest> {
        let changes: ScopeChanges = serde_json::from_str(&self.changes).ok()?;
        let scope = ReviewScope { changes, paths: Vec::new(), approved: self.approved };
        let choice = |row: &QueuedRejection| {
            let request: QueuedRequest = serde_json::from_str(&row.request).ok()?;
            let (path, lines) = (Some(row.path.clone()), queued_lines(row).ok()?);
            Some(HunkChoice { id: row.hunk, path, lines, digest: request.digest })
        };
        let hunks = rows.iter().map(choice).collect::<Option<Vec<_>>>()?;
        Some(HunkRequest { scope, hunks, all: false })
    }

    fn cascade(&self) -> CascadePolicy {
        let all = [CascadePolicy::Leave, CascadePolicy::Agents, CascadePolicy::All];
        all.into_iter().find(|policy| cascade_name(*policy) == self.cascade).unwrap_or_default()
    }
}

fn cascade_name(policy: CascadePolicy) -> &'static str {
    match policy {
        CascadePolicy::Leave => "leave",
        CascadePolicy::Agents => "agents",
        CascadePolicy::All => "all",
    }
}

/// Names in the plan the entries of the queue that it carries out.
fn with_queue_entries(mut plan: Plan, rows: &[QueuedRejection]) -> Plan {
    if let FollowUp::Rejected { places, .. } = &mut plan.follow_up {
        for places in places {
            let of_it = |row: &&QueuedRejection| places.hunks.contains(&row.hunk);
            places.queued = rows.iter().filter(of_it).map(|row| row.id).collect();
        }
    }
    plan
}

/// The reasons of rows, each once.
fn join_reasons(rows: &[QueuedRejection]) -> Option<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in rows.iter().filter_map(|row| row.reason.as_deref()) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn drop_all(rows: &mut Vec<QueuedRejection>, dropped: &mut BTreeMap<u64, String>, why: &str) {
    drop_rows(rows, dropped, why, |_| true);
}

fn drop_rows(
    rows: &mut Vec<QueuedRejection>,
    dropped: &mut BTreeMap<u64, String>,
    why: &str,
    is_it: impl Fn(&QueuedRejection) -> bool,
) {
    dropped.extend(rows.iter().filter(|row| is_it(row)).map(|row| (row.id, why.to_owned())));
    rows.retain(|row| !is_it(row));
}

/// The changes behind the chosen hunks.
fn changes_behind<'r>(review: &'r Review<'_>, parts: &[ChosenPart]) -> Vec<&'r Change> {
    let ids: BTreeSet<ChangeId> = parts.iter().flat_map(ChosenPart::chosen_changes).collect();
    ids.into_iter().filter_map(|id| review.change(id)).collect()
}

/// The dialogs whose agents made the changes, or can have made them.
fn dialogs_of(changes: &[&Change]) -> BTreeSet<DialogId> {
    let candidates = changes.iter().flat_map(|change| &change.candidates);
    let candidates = candidates.map(|by| by.dialog.clone());
    changes.iter().filter_map(|change| change.dialog.clone()).chain(candidates).collect()
}

/// The lines of a hunk that a rejection takes back; none if it takes all of it back.
pub(super) fn queued_lines(row: &QueuedRejection) -> Result<Option<HunkLines>, OperationError> {
    let parse = || {
        let request: QueuedRequest = serde_json::from_str(&row.request)?;
        request.lines.as_deref().map(serde_json::from_str).transpose()
    };
    parse().map_err(|error| unreadable(&error))
}

fn to_json(value: &impl Serialize) -> Result<String, OperationError> {
    serde_json::to_string(value).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> OperationError {
    StoreError::Row(format!("a queued rejection: {error}")).into()
}
