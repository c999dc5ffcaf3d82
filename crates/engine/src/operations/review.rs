//! Accept and reject: a person's decision on what agents changed.
//!
//! Accepting never writes a file: the change is in it already (W-3). Rejecting takes
//! it back, and with it the later changes of agents that need it (REV-5, W-14).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use retake_model::{Actor, Change, ChangeId, ChangeStatus, Millis, OperationKind};
use retake_store::StatusMark;

use crate::apply::set_hunk_decisions;
use crate::content::comparable::comparable_content;
use crate::content::merge::revert_hunks;
use crate::error::OperationError;
use crate::plan::selection::Selection;
use crate::plan::take_back::{TakeBackOptions, TakeBackRequest, take_back, take_back_hunks};
use crate::plan::{FollowUp, Plan};
use crate::project::Project;
use crate::review::line_marks::accepted_by_hunks_key;

/// The result of accepting.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AcceptedChanges {
    /// Accepted now.
    pub changes: Vec<ChangeId>,
    /// Accepted before.
    pub already: Vec<ChangeId>,
    /// Left, since an agent outside of the selection may have made them.
    pub shared: Vec<ChangeId>,
}

impl Project {
    /// Accepts the pending changes of a selection. Writes no file.
    pub fn accept(
        &self,
        selection: &Selection,
        at: Millis,
    ) -> Result<AcceptedChanges, OperationError> {
        let _lock = self.acquire_lock()?;
        let selected = selection.find(self.store())?;
        if let Some(change) = selected.taken_back.first() {
            return Err(OperationError::Decided { change: change.id, status: change.status });
        }
        let mut accepted = AcceptedChanges::default();
        let batch = self.store().batch()?;
        accepted.shared = selected.shared.iter().map(|change| change.id).collect();
        for change in &selected.effective {
            // As a whole, whatever hunks of it were kept before.
            batch.remove_reviewed_line(&change.path, accepted_by_hunks_key(change.id))?;
            if change.status == ChangeStatus::Accepted {
                accepted.already.push(change.id);
            } else {
                batch.set_status(change.id, ChangeStatus::Accepted, at)?;
                accepted.changes.push(change.id);
            }
        }
        batch.commit()?;
        Ok(accepted)
    }

    /// Accepts single hunks of a change, numbered from 1. Writes no file.
    pub fn accept_hunks(
        &self,
        change: ChangeId,
        numbers: &[u32],
        at: Millis,
    ) -> Result<AcceptedChanges, OperationError> {
        let _lock = self.acquire_lock()?;
        let found = self.agent_change_in_effect(change)?;
        hunk_indices(&found, numbers)?;
        let accepted = ChangeStatus::Accepted;
        let status = self.status_after(&found, numbers, accepted)?;
        let batch = self.store().batch()?;
        let numbers = numbers.to_vec();
        set_hunk_decisions(
            &batch,
            &FollowUp::Hunks { change: change.0, numbers, status: accepted, reason: None },
            true,
        )?;
        // Also if the status stays the same: the hunks are decided on.
        batch.set_status(change, status, at)?;
        batch.commit()?;
        Ok(AcceptedChanges { changes: vec![change], ..AcceptedChanges::default() })
    }

    /// Plans to take back changes that the person does not want.
    ///
    /// Named changes may have been accepted, but not approved; a selection by scope
    /// rejects what is pending.
    pub fn plan_reject(
        &self,
        selection: &Selection,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        self.make_plan(at, |project| {
            let store = project.store();
            let mut selected = selection.find(store)?;
            if let Some(approved) = first_approved(selection, &selected.effective) {
                return Err(OperationError::Approved(approved));
            }
            if selection.changes.is_empty() {
                selected.effective.retain(|change| change.status == ChangeStatus::Pending);
            }
            let title = format!("reject of {}", selection.describe(store)?);
            let mut plan = Plan::new(OperationKind::Reject, title);
            plan.dialog.clone_from(&selection.dialog);
            let status = ChangeStatus::Rejected;
            let request = TakeBackRequest::new(&selected.effective, status, options);
            take_back(store, &mut plan, request)?;
            project.list_left_changes(&mut plan, &selected)?;
            plan.follow_up = FollowUp::Rejected { reason: None, places: Vec::new() };
            Ok(plan)
        })
    }

    /// Plans to take back single hunks of a change, numbered from 1.
    pub fn plan_reject_hunks(
        &self,
        change: ChangeId,
        numbers: &[u32],
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        self.plan_hunks(OperationKind::Reject, change, numbers, options, at)
    }

    pub(super) fn plan_hunks(
        &self,
        kind: OperationKind,
        change: ChangeId,
        numbers: &[u32],
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        self.make_plan(at, |project| {
            let found = project.agent_change_in_effect(change)?;
            if kind == OperationKind::Reject && found.approved.is_some() {
                return Err(OperationError::Approved(change));
            }
            let indices = hunk_indices(&found, numbers)?;
            let list: Vec<_> = numbers.iter().map(ToString::to_string).collect();
            let title = format!("{kind} of hunk {} of {change}", list.join(", "));
            let mut plan = Plan::new(kind, title);
            plan.dialog.clone_from(&found.dialog);
            let status = match kind {
                OperationKind::Reject => ChangeStatus::Rejected,
                _ => ChangeStatus::Reverted,
            };
            let new = project.status_after(&found, numbers, status)?;
            let goes_back_to = project.content_without_hunks(&found, &indices)?;
            take_back_hunks(project.store(), &mut plan, &found, &goes_back_to, options)?;
            let file = plan.files.iter().find(|file| file.changes.contains(&change));
            if let (Some(part), true) = (file.map(|file| file.part), new != found.status) {
                plan.marks.push(StatusMark { change, part, old: found.status, new });
            }
            plan.follow_up = FollowUp::Hunks {
                change: change.0,
                numbers: numbers.to_vec(),
                status,
                reason: None,
            };
            Ok(plan)
        })
    }

    /// Loads a change; an error unless an agent made it and it is in effect.
    fn agent_change_in_effect(&self, id: ChangeId) -> Result<Change, OperationError> {
        let change = self.store().change(id)?.ok_or(OperationError::UnknownChange(id))?;
        if change.is_effective() && change.actor == Actor::Agent {
            return Ok(change);
        }
        Err(OperationError::Decided { change: id, status: change.status })
    }

    /// Returns a change's status after these hunks are decided on; it changes with the last one.
    fn status_after(
        &self,
        change: &Change,
        numbers: &[u32],
        status: ChangeStatus,
    ) -> Result<ChangeStatus, OperationError> {
        let mut decided: BTreeMap<u32, ChangeStatus> =
            self.store().hunk_decisions(change.id)?.into_iter().collect();
        for &number in numbers {
            match decided.insert(number, status) {
                // An accepted hunk can still be taken back; one taken back cannot be decided on.
                None | Some(ChangeStatus::Accepted | ChangeStatus::Pending) => {}
                Some(status) => {
                    return Err(OperationError::HunkDecided { change: change.id, number, status });
                }
            }
        }
        let all = change.lines.as_ref().map_or(0, |lines| lines.hunks.len());
        let has = |status| decided.values().any(|other| *other == status);
        Ok(match change.status {
            now if decided.len() < all => now,
            now if has(ChangeStatus::Accepted) => now.max(ChangeStatus::Accepted),
            _ if has(ChangeStatus::Reverted) => ChangeStatus::Reverted,
            _ => ChangeStatus::Rejected,
        })
    }

    fn content_without_hunks(
        &self,
        change: &Change,
        indices: &[usize],
    ) -> Result<Vec<u8>, OperationError> {
        let store = self.store();
        let (before, after) =
            (comparable_content(store, &change.before)?, comparable_content(store, &change.after)?);
        let hunks = change.lines.as_ref().map_or(&[][..], |lines| &lines.hunks);
        let (Some(before), Some(after)) = (before, after) else {
            return Err(retake_store::StoreError::NotCaptured.into());
        };
        revert_hunks(&before, &after, hunks, indices)
            .map_err(|error| retake_store::StoreError::Row(error.to_string()).into())
    }
}

fn first_approved(selection: &Selection, changes: &[Change]) -> Option<ChangeId> {
    let named = changes.iter().filter(|change| selection.changes.contains(&change.id));
    named.filter(|change| change.approved.is_some()).map(|change| change.id).next()
}

/// Converts hunk numbers (from 1) to indices, and checks them.
fn hunk_indices(change: &Change, numbers: &[u32]) -> Result<Vec<usize>, OperationError> {
    if numbers.is_empty() {
        return Err(OperationError::NoHunks(change.id));
    }
    let has = change.lines.as_ref().map_or(0, |lines| lines.hunks.len());
    let index = |&number: &u32| match (number as usize).checked_sub(1) {
        Some(index) if index < has => Ok(index),
        _ => Err(OperationError::UnknownHunk { change: change.id, number, has }),
    };
    numbers.iter().map(index).collect()
}
