//! Records the outcome of an operation, and runs its follow-up.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use retake_model::{
    Change, ChangeId, ChangeStatus, ChangeType, CheckpointKind, DialogId, JournalKind, LineChanges,
    Millis, ObjectId, OperationId, OperationKind, OperationState, PathState, ProjectPath, Stamp,
};
use retake_store::{Batch, ChangeFilter, OperationStep, StatusMark, Store, StoreError};
use serde_json::json;

use crate::apply::AppliedPlan;
use crate::apply::run::{StepFate, StepOutcome};
use crate::attribution::own_operation::own_change_method;
use crate::attribution::rules::Attribution;
use crate::content::comparable::line_changes_between;
use crate::error::OperationError;
use crate::feedback::rejection::{
    TakenPlaces, record_rejection, record_taken_places, settle_as_done,
};
use crate::journal::record_entry;
use crate::plan::{FileAction, FollowUp, Plan, PlanReason};
use crate::project::Project;
use crate::record::checkpoint;
use crate::scan::change_row::{FileStep, record_change_event, record_file_step};

impl Project {
    /// Records the outcome of an operation in one transaction.
    pub(super) fn record_outcome(
        &self,
        id: OperationId,
        steps: &[OperationStep],
        outcomes: Vec<StepOutcome>,
        mut plan: Plan,
        at: Millis,
    ) -> Result<AppliedPlan, OperationError> {
        let batch = self.store().batch()?;
        let mut failed = BTreeSet::new();
        let mut done: BTreeMap<u64, Vec<&OperationStep>> = BTreeMap::new();
        for (step, outcome) in steps.iter().zip(&outcomes) {
            match &outcome.fate {
                StepFate::Done => done.entry(step.part).or_default().push(step),
                StepFate::Left(_) => drop(failed.insert(step.part)),
            }
        }
        let on_record = recorded_paths(&batch, id)?;
        for mut steps in done.into_values() {
            steps.retain(|step| !on_record.contains(&step.path));
            record_part(&batch, id, steps, at)?;
        }
        let untidy = outcomes.iter().any(|outcome| outcome.untidy);
        plan.set_outcomes(steps, outcomes);
        set_marks(&batch, id, &failed, at)?;
        let whole = failed.is_empty() && plan.is_whole();
        let checkpoint = run_follow_up(&batch, id, &plan.follow_up, whole, at)?;
        if matches!(plan.follow_up, FollowUp::Restored { .. }) {
            forget_hunk_decisions(&batch, &plan)?;
        }
        let taken = TakenParts { steps, failed: &failed, whole, at };
        record_taken_back(&batch, id, &plan, &taken)?;
        let state = if whole { OperationState::Done } else { OperationState::Partial };
        batch.end_operation(id, state, untidy)?;
        record_operation_event(&batch, id, state, &plan, batch.next_stamp(at))?;
        batch.commit()?;
        self.mark_written_paths(steps.iter().map(|step| &step.path));
        let operation = self.store().operation(id)?;
        Ok(AppliedPlan { operation, checkpoint, plan })
    }

    /// Records that an operation was cancelled before it wrote a file; returns that as the error.
    pub(super) fn record_cancelled(
        &self,
        id: OperationId,
        outcomes: &[StepOutcome],
        plan: &Plan,
        at: Millis,
    ) -> Result<AppliedPlan, OperationError> {
        let batch = self.store().batch()?;
        batch.cancel_operation(id, outcomes.iter().any(|outcome| outcome.untidy))?;
        let state = OperationState::Cancelled;
        record_operation_event(&batch, id, state, plan, batch.next_stamp(at))?;
        batch.commit()?;
        Err(OperationError::Cancelled { operation: Some(id) })
    }
}

/// Returns the paths whose change by the operation a scan has already recorded.
pub(super) fn recorded_paths(
    store: &Store,
    id: OperationId,
) -> Result<BTreeSet<ProjectPath>, StoreError> {
    let filter = ChangeFilter { made_by: Some(id), ..ChangeFilter::default() };
    let paths = |change: Change| [Some(change.path), change.old_path];
    Ok(store.changes(&filter)?.into_iter().flat_map(paths).flatten().collect())
}

/// Records the changes that Retake made in one part.
fn record_part(
    batch: &Batch<'_>,
    id: OperationId,
    steps: Vec<&OperationStep>,
    at: Millis,
) -> Result<(), StoreError> {
    let mut fresh = steps;
    // A file that goes back to its old name is recorded as a rename, so its history goes on.
    if let Some((deleted, created)) = find_move(&fresh) {
        record_step(batch, id, created, Some(deleted), at)?;
        fresh.retain(|step| step.path != deleted.path && step.path != created.path);
    }
    fresh.iter().try_for_each(|step| record_step(batch, id, step, None, at))
}

/// Returns the deleted and the created file, if the part moves one.
fn find_move<'s>(steps: &[&'s OperationStep]) -> Option<(&'s OperationStep, &'s OperationStep)> {
    let is =
        |action| move |step: &&&OperationStep| FileAction::between(&step.now, &step.then) == action;
    let deleted: Vec<_> = steps.iter().filter(is(FileAction::Delete)).collect();
    let created: Vec<_> = steps.iter().filter(is(FileAction::Create)).collect();
    let ([deleted], [created]) = (deleted.as_slice(), created.as_slice()) else { return None };
    // A file in the place of a folder (or the reverse) is no move.
    let are_apart =
        !deleted.path.is_beneath(&created.path) && !created.path.is_beneath(&deleted.path);
    are_apart.then_some((deleted, created))
}

/// Records a change by Retake; `from` is the old path, if the file moved.
fn record_step(
    batch: &Batch<'_>,
    id: OperationId,
    step: &OperationStep,
    from: Option<&OperationStep>,
    at: Millis,
) -> Result<(), StoreError> {
    let before = from.map_or(step.now, |from| from.now);
    let file_step = FileStep {
        path: &step.path,
        old_path: from.map(|from| &from.path),
        change_type: from.map_or_else(|| change_type(step), |_| ChangeType::Rename),
        before,
        after: step.then,
        lines: changed_lines(batch, &step.path, &before, &step.then)?,
        stat: None,
    };
    let by = Attribution::by_operation(id, own_change_method(&step.now, &step.then));
    let change = record_file_step(batch, file_step, &by, at)?;
    record_change_event(batch, &change)
}

/// Returns the changed lines. Most often the path's last change is taken back: then its recorded
/// lines are reversed.
fn changed_lines(
    batch: &Batch<'_>,
    path: &ProjectPath,
    before: &PathState,
    after: &PathState,
) -> Result<Option<LineChanges>, StoreError> {
    let last = batch.last_change_of(path)?;
    match last.filter(|last| last.before == *after && last.after == *before) {
        Some(last) => Ok(last.lines.as_ref().map(LineChanges::reversed)),
        None => line_changes_between(batch, before, after),
    }
}

fn change_type(step: &OperationStep) -> ChangeType {
    match FileAction::between(&step.now, &step.then) {
        FileAction::Create => ChangeType::Create,
        FileAction::Delete => ChangeType::Delete,
        FileAction::Mode => ChangeType::Mode,
        FileAction::Write | FileAction::Leave => ChangeType::Modify,
    }
}

fn set_marks(
    batch: &Batch<'_>,
    id: OperationId,
    failed: &BTreeSet<u64>,
    at: Millis,
) -> Result<(), StoreError> {
    let marks = batch.marks(id, false)?;
    let is_done =
        |mark: &&StatusMark| mark.part != StatusMark::LEFT && !failed.contains(&mark.part);
    let mut set = marks.iter().filter(is_done);
    set.try_for_each(|mark| batch.apply_mark(id, mark, at))
}

/// The parts of an operation that were written.
struct TakenParts<'a> {
    steps: &'a [OperationStep],
    failed: &'a BTreeSet<u64>,
    whole: bool,
    at: Millis,
}

impl TakenParts<'_> {
    fn has(&self, part: u64) -> bool {
        !self.failed.contains(&part) && self.steps.iter().any(|step| step.part == part)
    }
}

/// Records of which changes single places went, and, of a rejection, what the agents are told.
fn record_taken_back(
    batch: &Batch<'_>,
    id: OperationId,
    plan: &Plan,
    taken: &TakenParts<'_>,
) -> Result<(), StoreError> {
    let mut concerned: BTreeSet<ChangeId> =
        batch.marks(id, true)?.iter().map(|mark| mark.change).collect();
    match &plan.follow_up {
        FollowUp::Rejected { places, .. } => {
            for places in places.iter().filter(|places| taken.has(places.part)) {
                concerned.extend(&places.changes);
                let (path, changes) = (&places.path, places.changes.as_slice());
                record_taken_places(batch, id, &TakenPlaces { path, changes })?;
                settle_as_done(batch, &places.queued, id, taken.at)?;
                for key in &places.marks {
                    batch.put_reviewed_line(path, *key, id.0)?;
                }
            }
        }
        FollowUp::Hunks { change, status, .. }
            if taken.whole && *status != ChangeStatus::Accepted =>
        {
            let change = ChangeId(*change);
            concerned.insert(change);
            for path in recorded_paths(batch, id)? {
                record_taken_places(batch, id, &TakenPlaces { path: &path, changes: &[change] })?;
            }
        }
        _ => {}
    }
    if plan.kind == OperationKind::Reject && !concerned.is_empty() {
        record_rejection(batch, id, plan.rejection_reason(), &concerned)?;
    }
    Ok(())
}

/// Runs the follow-up once the files are written; returns the checkpoint of a restore.
fn run_follow_up(
    batch: &Batch<'_>,
    id: OperationId,
    follow_up: &FollowUp,
    whole: bool,
    at: Millis,
) -> Result<Option<ObjectId>, StoreError> {
    if whole {
        for undone in batch.operations_undone_by(id)? {
            mark_undone(batch, undone, id)?;
        }
    }
    match follow_up {
        FollowUp::Nothing | FollowUp::Rejected { .. } => Ok(None),
        FollowUp::Restored { to, dialog } => {
            let dialog = dialog.clone().map(DialogId);
            let (kind, message) = (CheckpointKind::AfterRestore, format!("Restored to {to}"));
            Ok(Some(checkpoint::create_checkpoint(batch, kind, &message, dialog.as_ref(), at)?.id))
        }
        FollowUp::NewSession { dialog, number } => {
            let dialog = DialogId(dialog.clone());
            let session = checkpoint::work_session_of(batch, &dialog, at)?;
            // One that was approved meanwhile is not abandoned.
            if session.number == *number {
                batch.close_session(&session, None, None, at)?;
                let next = batch.open_session(&dialog, &session.base, at)?;
                let new_session = format!("session_{next}");
                let body = json!({ "session": session.name(), "new_session": new_session });
                let stamp = batch.next_stamp(at);
                record_entry(batch, stamp, JournalKind::SessionAbandoned, Some(&dialog), body)?;
            }
            Ok(None)
        }
        FollowUp::Hunks { .. } => {
            if whole {
                set_hunk_decisions(batch, follow_up, true)?;
            }
            Ok(None)
        }
    }
}

/// Marks an operation as undone: operations that it had undone are in effect again.
fn mark_undone(batch: &Batch<'_>, id: OperationId, by: OperationId) -> Result<(), StoreError> {
    batch.set_undone(id, Some(by))?;
    set_hunk_decisions(batch, &follow_up_of(batch, id)?, false)?;
    whole_undone_by(batch, id)?.into_iter().try_for_each(|undone| mark_in_effect(batch, undone))
}

/// Marks an operation as in effect again: operations that it had undone are undone again.
fn mark_in_effect(batch: &Batch<'_>, id: OperationId) -> Result<(), StoreError> {
    batch.set_undone(id, None)?;
    set_hunk_decisions(batch, &follow_up_of(batch, id)?, true)?;
    whole_undone_by(batch, id)?.into_iter().try_for_each(|undone| mark_undone(batch, undone, id))
}

/// Returns the operations that this one undid; a partial undo left them in effect.
fn whole_undone_by(batch: &Batch<'_>, id: OperationId) -> Result<Vec<OperationId>, StoreError> {
    match batch.operation(id)?.map(|operation| operation.state) {
        Some(OperationState::Done) => batch.operations_undone_by(id),
        _ => Ok(Vec::new()),
    }
}

/// Reads what follows an operation.
pub(crate) fn follow_up_of(store: &Store, id: OperationId) -> Result<FollowUp, StoreError> {
    serde_json::from_value(store.follow_up(id)?)
        .map_err(|error| StoreError::Row(format!("sequel of {id}: {error}")))
}

/// Stores or forgets the decision on single hunks. The change's own status is a mark.
pub(crate) fn set_hunk_decisions(
    batch: &Batch<'_>,
    follow_up: &FollowUp,
    keep: bool,
) -> Result<(), StoreError> {
    let FollowUp::Hunks { change, numbers, status, .. } = follow_up else { return Ok(()) };
    for number in numbers {
        batch.decide_hunk(ChangeId(*change), *number, keep.then_some(*status))?;
    }
    Ok(())
}

/// Forgets decisions on the hunks of restored files: their content is the earlier one.
fn forget_hunk_decisions(batch: &Batch<'_>, plan: &Plan) -> Result<(), StoreError> {
    let mut done = plan.files.iter().filter(|file| file.done == Some(true));
    done.try_for_each(|file| batch.forget_hunks_of(&file.path))
}

/// Records that an operation has begun or ended: one event, however many files it has (EVT-6).
/// The outcomes of single files and changes are events of their own.
pub(super) fn record_operation_event(
    batch: &Batch<'_>,
    id: OperationId,
    state: OperationState,
    plan: &Plan,
    stamp: Stamp,
) -> Result<(), StoreError> {
    let files = |done: bool| plan.files.iter().filter(|file| file.done == Some(done)).count();
    let body = json!({
        "operation": id.to_string(), "kind": plan.kind, "title": plan.title, "state": state,
        "files": plan.files.len(), "written": files(true), "left": plan.left().count(),
    });
    record_entry(batch, stamp, JournalKind::Operation, plan.dialog.as_ref(), body)
}

impl Plan {
    /// Leaves every file of these parts, with the reason.
    pub(crate) fn leave_parts(&mut self, reasons: &HashMap<u64, PlanReason>) {
        for file in &mut self.files {
            // Also one that needed no write: its marks are dropped.
            let is_settled = file.action == FileAction::Leave && file.reason != PlanReason::Already;
            if let (Some(reason), false) = (reasons.get(&file.part), is_settled) {
                file.leave(reason.clone());
            }
        }
        self.marks.retain(|mark| !reasons.contains_key(&mark.part));
    }

    /// Sets the outcome of each file.
    fn set_outcomes(&mut self, steps: &[OperationStep], outcomes: Vec<StepOutcome>) {
        let mut by_path: HashMap<_, _> =
            steps.iter().map(|step| &step.path).zip(outcomes).collect();
        for file in self.files.iter_mut().filter(|file| file.action != FileAction::Leave) {
            let Some(outcome) = by_path.remove(&file.path) else { continue };
            file.done = Some(outcome.fate == StepFate::Done);
            if let StepFate::Left(reason) = outcome.fate {
                file.leave(reason);
            }
            if outcome.untidy {
                file.warn("its temporary file stays until the next operation");
            }
            if outcome.unsynced {
                file.warn(
                    "the disk did not confirm it: after power loss it may be as it was before",
                );
            }
            if let Some(oid) = outcome.kept {
                file.warn(&format!("a version that was saved in between is kept as object {oid}"));
            }
        }
    }
}
