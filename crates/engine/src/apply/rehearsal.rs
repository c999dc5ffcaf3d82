//! Dry run of several operations, each on top of those before it.
//!
//! The next step of an undo depends on the state that the steps before it leave. So each is
//! recorded as if it had been applied, inside a transaction of the store that is never committed:
//! the next one is planned by the same code as after a real operation.
//!
//! Invariants: no file is written, and nothing on record changes.

use std::collections::{BTreeSet, HashMap};

use retake_model::{Millis, ObjectId, OperationId, PathState, ProjectPath};
use retake_store::{BatchGroup, FileLock, OperationStep};

use crate::apply::AppliedPlan;
use crate::apply::run::{StepFate, StepOutcome};
use crate::error::OperationError;
use crate::plan::{Plan, PlannedFile};
use crate::project::Project;

/// A guard: while it lives, operations plan on top of the rehearsed state. Drop rolls back.
#[derive(Debug)]
pub struct Rehearsal<'p> {
    project: &'p Project,
    at: Millis,
    /// Paths that rehearsed operations would have written; on disk they are unchanged.
    written: BTreeSet<ProjectPath>,
    /// Contents that exist only in the rehearsal.
    contents: HashMap<ObjectId, Vec<u8>>,
    _group: BatchGroup<'p>,
    _lock: FileLock,
}

impl Project {
    /// Begins a rehearsal from the files as they are now.
    pub fn rehearse(&self, at: Millis) -> Result<Rehearsal<'_>, OperationError> {
        let lock = self.lock_and_refresh(at)?;
        Ok(Rehearsal {
            project: self,
            at,
            written: BTreeSet::new(),
            contents: HashMap::new(),
            _group: self.store().group()?,
            _lock: lock,
        })
    }
}

impl Rehearsal<'_> {
    /// Adds the checks on disk to a plan that was made here, and the contents that exist only in
    /// the rehearsal.
    #[must_use]
    pub fn checked(&self, mut plan: Plan) -> Plan {
        let is_written = |path: &ProjectPath| {
            let above = std::iter::successors(Some(path.clone()), ProjectPath::parent);
            above.into_iter().any(|path| self.written.contains(&path))
        };
        self.project.leave_unwritable(&mut plan, &is_written);
        self.project.add_warnings(&mut plan, &is_written);
        let content = |side: &PathState| self.contents.get(&side.known()?.oid).cloned();
        for file in &mut plan.files {
            file.now_content = content(&file.now);
            file.content = file.content.take().or_else(|| content(&file.then));
        }
        plan
    }

    /// Records a plan as if all its steps had succeeded.
    pub fn rehearse_plan(&mut self, plan: &Plan) -> Result<(), OperationError> {
        let mut plan = plan.clone();
        for file in plan.writes() {
            self.written.insert(file.path.clone());
            if let (Some(state), Some(content)) = (file.then.known(), &file.content) {
                self.contents.insert(state.oid, content.clone());
            }
        }
        let mut applied = if plan.is_idle() {
            AppliedPlan { operation: None, checkpoint: None, plan }
        } else {
            let steps = &mut |plan: &mut Plan, _: OperationId| rehearsed_steps(plan);
            let journalled = self.project.journal_operation(&mut plan, self.at, steps)?;
            let outcomes = journalled.steps.iter().map(|_| STEP_DONE).collect();
            let (id, steps) = (journalled.operation, &journalled.steps);
            self.project.record_outcome(id, steps, outcomes, plan, self.at)?
        };
        self.project.apply_rewind(&mut applied, self.at);
        Ok(())
    }
}

/// The outcome of every rehearsed step.
const STEP_DONE: StepOutcome =
    StepOutcome { fate: StepFate::Done, kept: None, untidy: false, unsynced: false };

/// Makes the steps of a plan; their temporary files are never written.
fn rehearsed_steps(plan: &Plan) -> Vec<OperationStep> {
    let step = |file: &PlannedFile| OperationStep {
        part: file.part,
        path: file.path.clone(),
        temp: file.path.clone(),
        now: file.now,
        then: file.then,
    };
    plan.writes().map(step).collect()
}

impl Plan {
    /// Returns whether the plan has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        !self.does_something() && !self.follow_up.acts_alone()
    }
}
