//! One act of Retake on the user's files.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

use crate::text_enum::text_enum;
use crate::{Caller, DialogId, Millis, ObjectId};

/// The name of an operation: its place in the project's sequence, written `o12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OperationId(pub u64);

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "o{}", self.0)
    }
}

impl FromStr for OperationId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('o').unwrap_or(text);
        digits.parse().map(Self).map_err(|_| {
            format!("'{text}' is not an operation; they look like o12 (see `retake ops`)")
        })
    }
}

text_enum! {
    /// What an operation does.
    OperationKind {
        /// Takes back changes that the person does not want.
        Reject = "reject",
        /// Takes back changes, chosen by any scope.
        Rollback = "rollback",
        /// Puts the files into the state of a checkpoint.
        Restore = "restore",
        /// Takes back what a dialog did since its last approval.
        Reset = "reset",
        /// Takes back the newest steps.
        Undo = "undo",
        /// Brings back what was undone.
        Redo = "redo",
        /// Takes back an edit transaction.
        Abort = "abort",
    }
}

text_enum! {
    /// Where an operation stands.
    OperationState {
        /// Begun and not finished: interrupted, if no process works on it.
        Running = "running",
        /// All of it was done.
        Done = "done",
        /// Some files were left as they were.
        Partial = "partial",
        /// It was cancelled before it wrote a file: no file changed.
        Cancelled = "cancelled",
    }
}

/// One act of Retake on the user's files, itself recorded and reversible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its id, which is also its `seq`.
    pub id: OperationId,
    /// When it began.
    pub at: Millis,
    /// What it does.
    pub kind: OperationKind,
    /// What it is called, for people.
    pub title: String,
    /// The dialog that it is about, if it is one.
    pub dialog: Option<DialogId>,
    /// Where it stands.
    pub state: OperationState,
    /// The checkpoint of everything as it was before.
    pub safety: ObjectId,
    /// The operation that took it back, if one did.
    pub undone_by: Option<OperationId>,
    /// Who asked for it; none for rows of earlier versions.
    #[serde(default)]
    pub said_by: Option<Caller>,
}
