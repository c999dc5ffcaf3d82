//! Carries out the rejections that waited, once the agents concerned have ended their turns.
//!
//! Invariants: a rejection is carried out once, and settled in the same transaction as its operation.
//! It is planned again when it is due; a hunk that changed meanwhile is dropped, and that is on record.

use std::collections::BTreeMap;

use retake_model::{Millis, QueueState, QueuedRejection};
use retake_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::apply::OperationControl;
use crate::error::OperationError;
use crate::feedback::rejection::record_queue;
use crate::plan::take_back::{CascadePolicy, TakeBackOptions};
use crate::plan::{FollowUp, Plan};
use crate::project::Project;
use crate::review::act::{HunkChoice, HunkRequest};
use crate::review::queue::{IsProcessAlive, QueuedRequest, cascade_name, queued_lines};
use crate::review::scope::{ReviewScope, ScopeChanges};

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

impl Project {
    /// Returns whether a rejection waits although no agent concerned is at work.
    pub fn has_due_rejections(
        &self,
        at: Millis,
        is_alive: IsProcessAlive<'_>,
    ) -> Result<bool, StoreError> {
        Ok(!self.due_rejections(at, is_alive)?.is_empty())
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
