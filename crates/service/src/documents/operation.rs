//! Operations: what Retake did to the files.

use retake_engine::model::{self, OperationKind, OperationState};
use retake_engine::{self as engine, Project, StoreError, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathName, path_names};
use super::{CallerDocument, enum_schemas};
use crate::Masking;

/// One act of Retake on the files, itself recorded and reversible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Operation)]
pub struct OperationDocument {
    /// Its name: `o` and its place in the project's order.
    #[schema(example = "o12")]
    pub id: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// What it does.
    #[schema(schema_with = enum_schemas::operation_kind)]
    pub kind: OperationKind,
    /// What it is called, for people.
    pub title: String,
    /// The dialog that it is about, if it is one.
    pub dialog: Option<String>,
    /// Where it stands.
    #[schema(schema_with = enum_schemas::operation_state)]
    pub state: OperationState,
    /// The checkpoint of everything as it was before.
    pub safety: String,
    /// The operation that took it back, if one did.
    pub undone_by: Option<String>,
    /// Why the person rejected what it took back; null for other operations, and without a reason.
    #[serde(default)]
    pub reason: Option<String>,
    /// Who asked for it; null for what earlier versions recorded.
    pub said_by: Option<CallerDocument>,
}

impl From<&model::Operation> for OperationDocument {
    fn from(operation: &model::Operation) -> Self {
        Self {
            id: operation.id.to_string(),
            timestamp: iso_8601(operation.at),
            kind: operation.kind,
            title: operation.title.clone(),
            dialog: operation.dialog.as_ref().map(|id| id.0.clone()),
            state: operation.state,
            safety: operation.safety.to_string(),
            undone_by: operation.undone_by.map(|id| id.to_string()),
            reason: None,
            said_by: operation.said_by.as_ref().map(CallerDocument::from),
        }
    }
}

impl OperationDocument {
    /// Without secrets, of which people may have written some into what it is called by.
    #[must_use]
    pub fn masked(mut self, masking: Masking) -> Self {
        self.title = masking.mask_text(&self.title).into_owned();
        self.reason = masking.mask_optional(self.reason.as_deref());
        self
    }
}

/// Operations, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Operations)]
pub struct OperationList {
    /// The operations.
    pub operations: Vec<OperationDocument>,
}

impl OperationList {
    /// Operations, with the reasons of those that are rejections.
    pub fn read(project: &Project, operations: &[model::Operation]) -> Result<Self, StoreError> {
        let operations = operations.iter().map(|operation| {
            let reason = project.rejection_reason(operation.id)?;
            Ok(OperationDocument { reason, ..OperationDocument::from(operation) })
        });
        Ok(Self { operations: operations.collect::<Result<_, StoreError>>()? })
    }

    /// Without secrets.
    #[must_use]
    pub fn masked(self, masking: Masking) -> Self {
        let masked = |operation: OperationDocument| operation.masked(masking);
        Self { operations: self.operations.into_iter().map(masked).collect() }
    }
}

/// A long verb that runs or waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunningOperation {
    /// Its name while it runs.
    #[schema(example = "r3")]
    pub run: String,
    /// What it does: `undo`, `redo`, `reject`, `rollback`, `restore`, `reset`, `recover`, `gc`,
    /// `purge` or `rescan`.
    pub verb: String,
    /// The operation, once it is on record.
    pub operation: Option<String>,
    /// The dialog that it is about, if it is one.
    pub dialog: Option<String>,
    /// When it was asked for.
    #[schema(format = DateTime)]
    pub since: String,
    /// `waiting`, `planning`, `staging` (temporary files are written), `writing` (too late to
    /// cancel) or `removing` (records).
    pub phase: String,
    /// Number of files, or rows, that this phase is done with.
    pub done: u64,
    /// The number of all of them; 0 if it is not known.
    pub total: u64,
    /// Whether it was cancelled, and is about to end.
    pub cancelled: bool,
}

/// The long verbs that run or wait, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Running)]
pub struct RunningList {
    /// The verbs.
    pub running: Vec<RunningOperation>,
}

/// An operation that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Interrupted)]
pub struct InterruptedDocument {
    /// The operation.
    #[serde(flatten)]
    pub operation: OperationDocument,
    /// The files that it had written.
    pub written: Vec<PathName>,
    /// The files that it had not written yet.
    pub missing: Vec<PathName>,
}

impl From<&engine::InterruptedOperation> for InterruptedDocument {
    fn from(interrupted: &engine::InterruptedOperation) -> Self {
        Self {
            operation: (&interrupted.operation).into(),
            written: path_names(&interrupted.written),
            missing: path_names(&interrupted.missing),
        }
    }
}

/// What there is to recover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Recoverable)]
pub struct RecoverableOperation {
    /// The operation that was interrupted, if one was.
    pub interrupted: Option<InterruptedDocument>,
}

impl RecoverableOperation {
    /// Without secrets.
    #[must_use]
    pub fn masked(self, masking: Masking) -> Self {
        let masked = |one: InterruptedDocument| InterruptedDocument {
            operation: one.operation.masked(masking),
            ..one
        };
        Self { interrupted: self.interrupted.map(masked) }
    }
}

impl From<Option<&engine::InterruptedOperation>> for RecoverableOperation {
    fn from(interrupted: Option<&engine::InterruptedOperation>) -> Self {
        Self { interrupted: interrupted.map(InterruptedDocument::from) }
    }
}
