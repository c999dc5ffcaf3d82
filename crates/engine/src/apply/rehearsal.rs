//! Operations on paper, each on top of those before it.
//!
//! What the next step of an undo is, and what it does, depends on what the steps before it leave
//! behind. So each is recorded as if it had been carried out, inside a group of the store that is
//! never committed: what follows is planned by the very code that plans it after a deed.
//!
//! Invariants: no file is written, and nothing on record changes.

use std::collections::{BTreeSet, HashMap};

use retake_model::{Millis, ObjectId, OperationId, ProjectPath, Side};
use retake_store::{Group, Lock, OperationStep};

use crate::apply::Applied;
use crate::apply::run::{Fate, Outcome};
use crate::plan::{Plan, PlannedFile, Sequel};
use crate::project::Project;
use crate::verb::VerbError;

/// For as long as it lives, verbs plan on top of what was rehearsed. Nothing of it stays.
#[derive(Debug)]
pub struct Rehearsal<'p> {
    project: &'p Project,
    at: Millis,
    /// What earlier operations would have written: on disk it is still as it was.
    written: BTreeSet<ProjectPath>,
    /// The contents that only exist on paper.
    contents: HashMap<ObjectId, Vec<u8>>,
    _group: Group<'p>,
    _lock: Lock,
}

impl Project {
    /// Begins a rehearsal of files as they are right now.
    pub fn rehearse(&self, at: Millis) -> Result<Rehearsal<'_>, VerbError> {
        let lock = self.settle(at)?;
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
    /// Adds to a plan that was made here what the disk says of it, and what the store has only on
    /// paper.
    #[must_use]
    pub fn checked(&self, mut plan: Plan) -> Plan {
        let is_written = |path: &ProjectPath| {
            let above = std::iter::successors(Some(path.clone()), ProjectPath::parent);
            above.into_iter().any(|path| self.written.contains(&path))
        };
        self.project.leave_unwritable(&mut plan, &is_written);
        self.project.warn(&mut plan, &is_written);
        let content = |side: &Side| self.contents.get(&side.known()?.oid).cloned();
        for file in &mut plan.files {
            file.now_content = content(&file.now);
            file.content = file.content.take().or_else(|| content(&file.then));
        }
        plan
    }

    /// Carries out a plan on paper, wholly.
    pub fn perform(&mut self, plan: &Plan) -> Result<(), VerbError> {
        let mut plan = plan.clone();
        for file in plan.writes() {
            self.written.insert(file.path.clone());
            if let (Some(state), Some(content)) = (file.then.known(), &file.content) {
                self.contents.insert(state.oid, content.clone());
            }
        }
        let mut applied = if plan.is_idle() {
            Applied { operation: None, checkpoint: None, plan }
        } else {
            let steps = &mut |plan: &mut Plan, _: OperationId| steps(plan);
            let journalled = self.project.journal(&mut plan, self.at, steps)?;
            let outcomes = journalled.steps.iter().map(|_| DONE).collect();
            let (id, steps) = (journalled.operation, &journalled.steps);
            self.project.finish(id, steps, outcomes, plan, self.at)?
        };
        self.project.rewind_applied(&mut applied, self.at);
        Ok(())
    }
}

/// On paper every step succeeds.
const DONE: Outcome = Outcome { fate: Fate::Done, kept: None, untidy: false, unsynced: false };

/// The steps of a plan; nothing is ever written beside their paths.
fn steps(plan: &Plan) -> Vec<OperationStep> {
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
    /// Whether nothing at all is to be done.
    pub(super) fn is_idle(&self) -> bool {
        !self.does_something() && self.sequel == Sequel::Nothing
    }
}
