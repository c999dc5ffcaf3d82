//! Write-ahead journal of an operation: everything is durable before any file is written.

use std::collections::{HashMap, HashSet};

use retake_model::{
    Change, ChangeStatus, CheckpointKind, FileState, Millis, OperationId, OperationKind,
    OperationState, PathState, Stamp,
};
use retake_store::{
    Batch, NewOperation, ObjectKind, OperationStep, StatusMark, Store, StoreError, encode,
};

use crate::apply::finish::record_operation_event;
use crate::history::dialog_name::title_without_quote;
use crate::plan::nesting::PathNesting;
use crate::plan::{Plan, PlanReason};
use crate::project::Project;
use crate::record::checkpoint;
use crate::scan::capture::{CaptureOptions, CaptureTarget, RefusedContents, capture};

/// An operation that is in the journal and can begin.
pub(crate) struct JournalledOperation {
    pub(crate) operation: OperationId,
    /// One for each file that is written, in the order of the plan.
    pub(crate) steps: Vec<OperationStep>,
}

/// Makes the steps of a plan; a file without a step is left.
pub(super) type MakeSteps<'a> = &'a mut dyn FnMut(&mut Plan, OperationId) -> Vec<OperationStep>;

impl Project {
    /// Makes the content durable that the plan writes and replaces, and journals its steps.
    pub(super) fn journal_operation(
        &self,
        plan: &mut Plan,
        at: Millis,
        steps: MakeSteps<'_>,
    ) -> Result<JournalledOperation, StoreError> {
        let mut batch = self.store().batch()?;
        self.store_contents(&mut batch, plan)?;
        // A checkpoint's name cannot be changed: no purge would take words of a message out of it.
        let title = format!("Before {}", title_without_quote(&plan.title));
        let kind = CheckpointKind::BeforeOperation;
        let safety = checkpoint::create_checkpoint(&batch, kind, &title, plan.dialog.as_ref(), at)?;
        let follow_up = serde_json::to_value(&plan.follow_up)
            .map_err(|error| StoreError::Row(format!("sequel: {error}")))?;
        let operation = batch.begin_operation(&NewOperation {
            at,
            kind: plan.kind,
            title: &plan.title,
            dialog: plan.dialog.as_ref(),
            safety: &safety.id,
            left_out: plan.left().count() as u64,
            follow_up: &follow_up,
        })?;
        record_operation_event(
            &batch,
            operation,
            OperationState::Running,
            plan,
            Stamp { seq: operation.0, at },
        )?;
        let steps = steps(plan, operation);
        batch.put_steps(operation, &steps)?;
        for mark in &plan.marks {
            batch.put_mark(operation, mark)?;
        }
        if plan.kind == OperationKind::Undo {
            record_left_marks(&batch, operation, plan)?;
        }
        for undone in &plan.undoes {
            batch.put_undoes(operation, *undone)?;
        }
        batch.commit()?;
        Ok(JournalledOperation { operation, steps })
    }

    /// Stores merged content, and makes sure that the store has both versions of every file.
    /// Content about to be replaced that is damaged or missing in the store is captured again;
    /// content to be written is verified on write.
    fn store_contents(&self, batch: &mut Batch<'_>, plan: &mut Plan) -> Result<(), StoreError> {
        let mut unreadable = Vec::new();
        for file in plan.writes() {
            if !is_readable(batch, &file.now)? {
                unreadable.push(file.path.clone());
            }
        }
        let refused = RefusedContents::load(batch)?;
        let options = CaptureOptions {
            max_bytes: self.settings().limits.max_file_bytes,
            refused: &refused,
            target: CaptureTarget::Rows,
        };
        capture(self.workspace(), batch, &unreadable, options, &mut |_| {})?;
        let unreadable: HashSet<_> = unreadable.into_iter().collect();
        let mut missing = HashMap::new();
        for file in plan.writes() {
            if let Some(content) = &file.content {
                batch.put_object(&encode(ObjectKind::Blob, content)?)?;
            }
            let lost = |state: &FileState| {
                PlanReason::Damaged(format!("object {} is missing or damaged", state.oid))
            };
            if unreadable.contains(&file.path) && !is_readable(batch, &file.now)? {
                missing.extend(file.now.known().map(|state| (file.part, lost(state))));
            }
            if let PathState::Known(then) = &file.then
                && !batch.has(&then.oid)?
            {
                missing.insert(file.part, lost(then));
            }
        }
        plan.leave_parts(&missing);
        Ok(())
    }

    /// The steps of a plan, with names for their temporary files.
    pub(super) fn make_steps(&self, plan: &mut Plan, operation: OperationId) -> Vec<OperationStep> {
        let mut steps = Vec::new();
        let mut refused = HashMap::new();
        let nesting = PathNesting::of(plan.writes().map(|file| &file.path));
        for (number, file) in plan.writes().enumerate() {
            let tag = format!("{operation}-{number}");
            // A file that makes room must leave the folder in whose place another file is written.
            let beside = nesting.top(&file.path).unwrap_or(&file.path);
            match self.workspace().temp_for(beside, &tag) {
                Ok(temp) => steps.push(OperationStep {
                    part: file.part,
                    path: file.path.clone(),
                    temp,
                    now: file.now,
                    then: file.then,
                }),
                Err(error) => {
                    refused.insert(file.part, PlanReason::NotWritable(error.to_string()));
                }
            }
        }
        drop(nesting);
        steps.retain(|step| !refused.contains_key(&step.part));
        plan.leave_parts(&refused);
        steps
    }
}

/// Journals the changes that an undo leaves: the next undo passes them over.
fn record_left_marks(batch: &Batch<'_>, id: OperationId, plan: &Plan) -> Result<(), StoreError> {
    let marked: HashSet<_> = plan.marks.iter().map(|mark| mark.change).collect();
    for change in plan.left_for_good().filter(|change| !marked.contains(change)) {
        if let Some(Change { status: old, .. }) = batch.change(change)? {
            let (part, new) = (StatusMark::LEFT, ChangeStatus::Reverted);
            batch.put_mark(id, &StatusMark { change, part, old, new })?;
        }
    }
    Ok(())
}

fn is_readable(store: &Store, side: &PathState) -> Result<bool, StoreError> {
    let PathState::Known(state) = side else { return Ok(true) };
    match store.read_into(&state.oid, &mut std::io::sink()) {
        Ok(_) => Ok(true),
        Err(StoreError::Missing(_) | StoreError::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
