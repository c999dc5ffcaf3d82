//! Operations: what Retake did to the files.

use retake_engine::model::{self, OperationKind, OperationState};
use retake_engine::{self as engine, iso};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathName, names};
use super::words;
use crate::Masking;

/// One act of Retake on the files, itself recorded and reversible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Operation {
    /// Its name: `o` and its place in the project's order.
    #[schema(example = "o12")]
    pub id: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// What it does.
    #[schema(schema_with = words::operation_kind)]
    pub kind: OperationKind,
    /// What it is called, for people.
    pub title: String,
    /// The dialog that it is about, if it is one.
    pub dialog: Option<String>,
    /// Where it stands.
    #[schema(schema_with = words::operation_state)]
    pub state: OperationState,
    /// The checkpoint of everything as it was before.
    pub safety: String,
    /// The operation that took it back, if one did.
    pub undone_by: Option<String>,
}

impl From<&model::Operation> for Operation {
    fn from(operation: &model::Operation) -> Self {
        Self {
            id: operation.id.to_string(),
            timestamp: iso(operation.at),
            kind: operation.kind,
            title: operation.title.clone(),
            dialog: operation.dialog.as_ref().map(|id| id.0.clone()),
            state: operation.state,
            safety: operation.safety.to_string(),
            undone_by: operation.undone_by.map(|id| id.to_string()),
        }
    }
}

impl Operation {
    /// Without secrets, of which people may have written some into what it is called by.
    #[must_use]
    pub fn masked(mut self, masking: Masking) -> Self {
        self.title = masking.text(&self.title).into_owned();
        self
    }
}

/// Operations, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Operations {
    /// The operations.
    pub operations: Vec<Operation>,
}

impl Operations {
    /// Without secrets.
    #[must_use]
    pub fn masked(self, masking: Masking) -> Self {
        let masked = |operation: Operation| operation.masked(masking);
        Self { operations: self.operations.into_iter().map(masked).collect() }
    }
}

impl From<&[model::Operation]> for Operations {
    fn from(operations: &[model::Operation]) -> Self {
        Self { operations: operations.iter().map(Operation::from).collect() }
    }
}

/// An operation that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Interrupted {
    /// The operation.
    #[serde(flatten)]
    pub operation: Operation,
    /// The files that it had written.
    pub written: Vec<PathName>,
    /// The files that it had not written yet.
    pub missing: Vec<PathName>,
}

impl From<&engine::Interrupted> for Interrupted {
    fn from(interrupted: &engine::Interrupted) -> Self {
        Self {
            operation: (&interrupted.operation).into(),
            written: names(&interrupted.written),
            missing: names(&interrupted.missing),
        }
    }
}

/// What there is to recover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Recoverable {
    /// The operation that was interrupted, if one was.
    pub interrupted: Option<Interrupted>,
}

impl Recoverable {
    /// Without secrets.
    #[must_use]
    pub fn masked(self, masking: Masking) -> Self {
        let masked =
            |one: Interrupted| Interrupted { operation: one.operation.masked(masking), ..one };
        Self { interrupted: self.interrupted.map(masked) }
    }
}

impl From<Option<&engine::Interrupted>> for Recoverable {
    fn from(interrupted: Option<&engine::Interrupted>) -> Self {
        Self { interrupted: interrupted.map(Interrupted::from) }
    }
}
