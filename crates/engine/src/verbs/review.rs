//! Accept and reject: a person's decision on what agents changed.
//!
//! Accepting never writes a file: the change is in it already (W-3). Rejecting takes
//! it back, and with it the later changes of agents that need it (REV-5, W-14).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use retake_model::{Actor, Change, ChangeId, ChangeStatus, Millis, OperationKind};
use retake_store::Mark;

use crate::apply::keep_hunks;
use crate::content::comparable;
use crate::merge::turn_back_hunks;
use crate::plan::selection::Selection;
use crate::plan::take_back::{TakeBackOptions, take_back, take_back_hunks};
use crate::plan::{Plan, Sequel};
use crate::project::Project;
use crate::verb::VerbError;

/// The result of accepting.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Accepted {
    /// Accepted now.
    pub changes: Vec<ChangeId>,
    /// Accepted before.
    pub already: Vec<ChangeId>,
    /// Left, since an agent outside of the selection may have made them.
    pub shared: Vec<ChangeId>,
}

impl Project {
    /// Accepts the pending changes of a selection. Writes no file.
    pub fn accept(&self, selection: &Selection, at: Millis) -> Result<Accepted, VerbError> {
        let _lock = self.hold()?;
        let selected = selection.find(self.store())?;
        if let Some(change) = selected.settled.first() {
            return Err(VerbError::Decided { change: change.id, status: change.status });
        }
        let mut accepted = Accepted::default();
        let batch = self.store().batch()?;
        accepted.shared = selected.shared.iter().map(|change| change.id).collect();
        for change in &selected.effective {
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
    ) -> Result<Accepted, VerbError> {
        let _lock = self.hold()?;
        let found = self.decidable(change)?;
        check_numbers(&found, numbers)?;
        let accepted = ChangeStatus::Accepted;
        let status = self.status_with(&found, numbers, accepted)?;
        let batch = self.store().batch()?;
        let numbers = numbers.to_vec();
        keep_hunks(&batch, &Sequel::Hunks { change: change.0, numbers, status: accepted }, true)?;
        // Also if the status stays the same: the hunks are decided on.
        batch.set_status(change, status, at)?;
        batch.commit()?;
        Ok(Accepted { changes: vec![change], ..Accepted::default() })
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
    ) -> Result<Plan, VerbError> {
        self.planned(at, |project| {
            let store = project.store();
            let mut selected = selection.find(store)?;
            if let Some(approved) = approved(selection, &selected.effective) {
                return Err(VerbError::Approved(approved));
            }
            if selection.changes.is_empty() {
                selected.effective.retain(|change| change.status == ChangeStatus::Pending);
            }
            let title = format!("reject of {}", selection.describe());
            let mut plan = Plan::new(OperationKind::Reject, title);
            plan.dialog.clone_from(&selection.dialog);
            let status = ChangeStatus::Rejected;
            take_back(store, &mut plan, (&selected.effective, &[]), status, options)?;
            project.name_left(&mut plan, &selected)?;
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
    ) -> Result<Plan, VerbError> {
        self.plan_hunks(OperationKind::Reject, change, numbers, options, at)
    }

    pub(super) fn plan_hunks(
        &self,
        kind: OperationKind,
        change: ChangeId,
        numbers: &[u32],
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, VerbError> {
        self.planned(at, |project| {
            let found = project.decidable(change)?;
            if kind == OperationKind::Reject && found.approved.is_some() {
                return Err(VerbError::Approved(change));
            }
            let indices = check_numbers(&found, numbers)?;
            let list: Vec<_> = numbers.iter().map(ToString::to_string).collect();
            let title = format!("{kind} of hunk {} of {change}", list.join(", "));
            let mut plan = Plan::new(kind, title);
            plan.dialog.clone_from(&found.dialog);
            let status = match kind {
                OperationKind::Reject => ChangeStatus::Rejected,
                _ => ChangeStatus::Reverted,
            };
            let new = project.status_with(&found, numbers, status)?;
            let goes_back_to = project.without_hunks(&found, &indices)?;
            take_back_hunks(project.store(), &mut plan, &found, &goes_back_to, options)?;
            let file = plan.files.iter().find(|file| file.changes.contains(&change));
            if let (Some(part), true) = (file.map(|file| file.part), new != found.status) {
                plan.marks.push(Mark { change, part, old: found.status, new });
            }
            plan.sequel = Sequel::Hunks { change: change.0, numbers: numbers.to_vec(), status };
            Ok(plan)
        })
    }

    /// Loads a change; an error unless an agent made it and it is in effect.
    fn decidable(&self, id: ChangeId) -> Result<Change, VerbError> {
        let change = self.store().change(id)?.ok_or(VerbError::UnknownChange(id))?;
        if change.is_effective() && change.actor == Actor::Agent {
            return Ok(change);
        }
        Err(VerbError::Decided { change: id, status: change.status })
    }

    /// Returns a change's status after these hunks are decided on; it changes with the last one.
    fn status_with(
        &self,
        change: &Change,
        numbers: &[u32],
        status: ChangeStatus,
    ) -> Result<ChangeStatus, VerbError> {
        let mut decided: BTreeMap<u32, ChangeStatus> =
            self.store().hunk_decisions(change.id)?.into_iter().collect();
        for &number in numbers {
            match decided.insert(number, status) {
                // An accepted hunk can still be taken back; one taken back cannot be decided on.
                None | Some(ChangeStatus::Accepted | ChangeStatus::Pending) => {}
                Some(status) => {
                    return Err(VerbError::HunkDecided { change: change.id, number, status });
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

    fn without_hunks(&self, change: &Change, indices: &[usize]) -> Result<Vec<u8>, VerbError> {
        let store = self.store();
        let (before, after) =
            (comparable(store, &change.before)?, comparable(store, &change.after)?);
        let hunks = change.lines.as_ref().map_or(&[][..], |lines| &lines.hunks);
        let (Some(before), Some(after)) = (before, after) else {
            return Err(retake_store::StoreError::NotCaptured.into());
        };
        turn_back_hunks(&before, &after, hunks, indices)
            .map_err(|error| retake_store::StoreError::Row(error.to_string()).into())
    }
}

fn approved(selection: &Selection, changes: &[Change]) -> Option<ChangeId> {
    let named = changes.iter().filter(|change| selection.changes.contains(&change.id));
    named.filter(|change| change.approved.is_some()).map(|change| change.id).next()
}

/// Converts hunk numbers (from 1) to indices, and checks them.
fn check_numbers(change: &Change, numbers: &[u32]) -> Result<Vec<usize>, VerbError> {
    if numbers.is_empty() {
        return Err(VerbError::NoHunks(change.id));
    }
    let has = change.lines.as_ref().map_or(0, |lines| lines.hunks.len());
    let index = |&number: &u32| match (number as usize).checked_sub(1) {
        Some(index) if index < has => Ok(index),
        _ => Err(VerbError::UnknownHunk { change: change.id, number, has }),
    };
    numbers.iter().map(index).collect()
}
