//! Rejections that wait until the agents concerned have ended their turns: nothing is taken from
//! under an agent that works.
//!
//! Invariants: what is rejected together waits together. Each entry is settled once, and that is on
//! record. How they are carried out: [`due_rejections`](super::due_rejections).

use std::collections::BTreeSet;

use retake_model::{
    Change, ChangeId, DialogId, HunkId, Millis, ProcessKey, ProjectPath, QueueState,
    QueuedRejection,
};
use retake_store::{CallState, StoreError};
use serde::{Deserialize, Serialize};

use crate::error::OperationError;
use crate::feedback::rejection::record_queue;
use crate::plan::take_back::{CascadePolicy, TakeBackOptions};
use crate::plan::{FollowUp, Plan};
use crate::project::Project;
use crate::review::act::{ChosenPart, HunkRequest};
use crate::review::file::Review;
use crate::review::file_target::HunkLines;

/// Time without an open call after which an agent counts as gone.
const MAX_IDLE_TURN: Millis = 10 * 60 * 1000;

/// What of a hunk is rejected, and how; as JSON in the record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct QueuedRequest {
    /// The resolved scope, as JSON.
    pub(super) changes: String,
    pub(super) approved: bool,
    pub(super) cascade: String,
    pub(super) lines: Option<String>,
    pub(super) digest: Option<String>,
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
    pub(super) fn is_at_work(
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
}

pub(super) fn cascade_name(policy: CascadePolicy) -> &'static str {
    match policy {
        CascadePolicy::Leave => "leave",
        CascadePolicy::Agents => "agents",
        CascadePolicy::All => "all",
    }
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
