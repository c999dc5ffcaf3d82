//! Attributes the work of an operation of Retake that was interrupted.
//!
//! Until the person decides about the operation, scans go on: what it had already written is
//! Retake's, and its temporary files are no change.

use std::collections::{HashMap, HashSet};

use retake_model::{ChangeMethod, OperationId, PathState, ProjectPath};
use retake_store::{OperationStep, Store, StoreError};
use retake_workspace::spare_of;

use crate::attribution::observed::ObservedChange;
use crate::attribution::rules::Attribution;

/// The steps of the operation that was interrupted, if one was.
#[derive(Debug, Default)]
pub(crate) struct OwnOperation {
    operation: Option<OperationId>,
    steps: HashMap<ProjectPath, OperationStep>,
    temps: HashSet<ProjectPath>,
}

impl OwnOperation {
    pub(crate) fn load_unfinished(store: &Store) -> Result<Self, StoreError> {
        let Some(operation) = store.unfinished_operation()? else { return Ok(Self::default()) };
        let steps = store.operation_steps(operation.id)?;
        Ok(Self {
            operation: Some(operation.id),
            temps: steps.iter().flat_map(|step| temp_names(&step.temp)).collect(),
            steps: steps.into_iter().map(|step| (step.path.clone(), step)).collect(),
        })
    }

    /// Returns true if a path is a temporary file of the operation.
    pub(crate) fn is_temp(&self, path: &ProjectPath) -> bool {
        self.temps.contains(path)
    }

    /// Returns true if the operation is to put a path into this state.
    pub(crate) fn writes(&self, path: &ProjectPath, then: &PathState) -> bool {
        self.steps.get(path).is_some_and(|step| step.then == *then)
    }

    /// Attributes a change to Retake, if it is exactly what the operation was to write.
    pub(crate) fn attribute(&self, seen: &ObservedChange) -> Option<Attribution> {
        let step = self.steps.get(&seen.path)?;
        let is_it = step.now == seen.before && step.then == seen.after;
        let operation = self.operation.filter(|_| is_it)?;
        Some(Attribution::by_operation(operation, own_change_method(&step.now, &step.then)))
    }
}

/// A temporary file's own name, and the one that it may have for a moment.
fn temp_names(temp: &ProjectPath) -> impl Iterator<Item = ProjectPath> {
    [Some(temp.clone()), spare_of(temp)].into_iter().flatten()
}

/// Method of a change by Retake itself.
pub(crate) fn own_change_method(now: &PathState, then: &PathState) -> ChangeMethod {
    match (now, then) {
        (_, PathState::Absent) => ChangeMethod::Delete,
        _ => ChangeMethod::Write,
    }
}
