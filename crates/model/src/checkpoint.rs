//! Named states of the whole project, and the rounds of approval that they belong to.

use crate::text_enum::text_enum;
use crate::{Caller, DialogId, Millis, ObjectId};
use serde::{Deserialize, Serialize};

text_enum! {
    /// Why a checkpoint was made (C-3).
    CheckpointKind {
        /// A dialog began.
        Initial = "initial",
        /// Before a message of the person was worked on.
        BeforeMessage = "before_message",
        /// After edits, if the settings ask for it.
        AfterEdits = "after_edits",
        /// Before Retake changed files: what makes each operation safe.
        BeforeOperation = "before_operation",
        /// After a restore, so that the restored state has a name.
        AfterRestore = "after_restore",
        /// Before an approval, so that it misses nothing (W-23).
        Closing = "closing",
        /// A person or a program asked for it.
        Manual = "manual",
    }
}

/// A named, durable state of the whole project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its place in the project's order: it holds everything recorded before it.
    pub seq: u64,
    /// Its id, which is a git commit's.
    pub id: ObjectId,
    /// The tree of all files.
    pub tree: ObjectId,
    /// When it was made.
    pub at: Millis,
    /// Why it was made.
    pub kind: CheckpointKind,
    /// What it is called.
    pub message: String,
    /// The dialog that it belongs to.
    pub dialog: Option<DialogId>,
    /// The number of the work session that it belongs to.
    pub session: Option<u64>,
    /// Files in it.
    pub files: u64,
    /// Files that were being written or could not be captured, and are not in it as they were.
    pub unstable: u64,
    /// Who asked for it, or said what it was made for; none for rows of earlier versions.
    #[serde(default)]
    pub said_by: Option<Caller>,
}

text_enum! {
    /// Where a work session stands.
    SessionState {
        /// It collects changes.
        Active = "active",
        /// It was approved.
        Merged = "merged",
        /// It was reset.
        Abandoned = "abandoned",
    }
}

/// One round of approval of a dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSession {
    /// The dialog.
    pub dialog: DialogId,
    /// Its number; numbers only grow.
    pub number: u64,
    /// Where it stands.
    pub state: SessionState,
    /// When it was opened.
    pub opened_at: Millis,
    /// When it was approved or reset.
    pub closed_at: Option<Millis>,
    /// The approved state that it began from: the head of `main`.
    pub base: ObjectId,
    /// Its newest checkpoint.
    pub tip: ObjectId,
    /// What approving it made, on `main`.
    pub approved_commit: Option<ObjectId>,
    /// What the person said when approving.
    pub message: Option<String>,
}

impl WorkSession {
    /// Its name: `session_2`.
    pub fn name(&self) -> String {
        format!("session_{}", self.number)
    }

    /// The name of its branch in the exported repository.
    pub fn ref_name(&self) -> String {
        format!("refs/heads/{}", self.name())
    }
}
