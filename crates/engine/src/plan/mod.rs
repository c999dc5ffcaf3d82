//! What an operation would do, worked out by reading only.
//!
//! Every verb is a selection for one of two primitives: [`take_back`] takes a set
//! of changes out of the files by merging, [`go_to`] puts the files into an earlier
//! state. Both give a [`Plan`]; `apply` alone writes, and gives the plan back with
//! what became of each file.
//!
//! Invariant: what a plan leaves alone it names, with the reason.

pub(crate) mod draft;
pub(crate) mod go_to;
pub(crate) mod groups;
pub(crate) mod nesting;
pub(crate) mod past;
pub(crate) mod reason;
pub(crate) mod selection;
pub(crate) mod take_back;

use std::collections::BTreeSet;

use retake_model::{
    ChangeId, ChangeStatus, DialogId, Gap, Millis, ObjectId, OperationId, OperationKind,
    ProjectPath, Side,
};
use retake_store::Mark;
use serde::{Deserialize, Serialize};

use crate::history::PlannedRewind;
pub use reason::Reason;

/// What an operation would do, or did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// What it is.
    pub kind: OperationKind,
    /// What it is called, for people.
    pub title: String,
    /// The dialog that it is about, if it is one.
    pub dialog: Option<DialogId>,
    /// When everything was looked at for it.
    pub(crate) made_at: Millis,
    /// Each file that is concerned, with what is done to it and why.
    pub files: Vec<PlannedFile>,
    /// Other dialogs that changed some of these files later.
    pub crosses: Vec<DialogId>,
    /// What is not protected: changes of it are not known, so they cannot be taken back.
    pub not_covered: Vec<Gap>,
    /// Changes that nobody asked for and that are taken back too, since they stand in the way.
    pub cascaded: Vec<ChangeId>,
    /// Newer steps that an undo passes over, since git took them back.
    pub passed: Vec<String>,
    /// Changes of which git took back what it wrote, so that nothing is to be done about them; they
    /// may come back with a branch, and keep their status.
    pub taken_back_by_git: Vec<ChangeId>,
    /// What becomes of the conversation with it, or instead of any file.
    pub rewind: Option<Box<PlannedRewind>>,
    pub(crate) marks: Vec<Mark>,
    /// The changes among them that were approved when the plan was made.
    pub(crate) approved: BTreeSet<ChangeId>,
    pub(crate) undoes: Vec<OperationId>,
    pub(crate) sequel: Sequel,
    /// Files that were left alone before the operation was interrupted, and are not listed again.
    pub(crate) left_out: u64,
}

/// One file of a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedFile {
    /// The path.
    pub path: ProjectPath,
    /// What is done.
    pub action: Action,
    /// Why it is done, or why the file is left alone.
    pub reason: Reason,
    /// What is there now.
    pub now: Side,
    /// What is there then.
    pub then: Side,
    /// The changes that it takes back.
    pub changes: Vec<ChangeId>,
    /// Later changes that stand in the way: `--cascade` would take them back too.
    pub blockers: Vec<ChangeId>,
    /// Something that the person should know before.
    pub warning: Option<String>,
    /// Whether it was done; `None` while it is only planned.
    pub done: Option<bool>,
    /// Files of the same part are written together or not at all.
    pub(crate) part: u64,
    /// The content of `then`, if the store does not have it yet.
    pub(crate) content: Option<Vec<u8>>,
    /// The content of `now`, if that is what a rehearsed operation would leave.
    pub(crate) now_content: Option<Vec<u8>>,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// It comes to be.
    Create,
    /// Its content is replaced.
    Write,
    /// It goes away.
    Delete,
    /// Only its permissions change.
    Mode,
    /// Nothing.
    Leave,
}

impl Action {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Mode => "mode",
            Self::Leave => "leave",
        }
    }

    /// What it takes to go from one state to another.
    pub(crate) fn between(now: &Side, then: &Side) -> Self {
        match (now, then) {
            _ if now == then => Self::Leave,
            (Side::Absent, _) => Self::Create,
            (_, Side::Absent) => Self::Delete,
            (Side::Known(now), Side::Known(then))
                if now.kind == then.kind && now.oid == then.oid =>
            {
                Self::Mode
            }
            _ => Self::Write,
        }
    }
}

/// What is to be done once the files are written; kept with the operation, for whoever finishes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "then", rename_all = "snake_case")]
pub(crate) enum Sequel {
    /// Nothing.
    Nothing,
    /// A checkpoint names the restored state (RSTR-1).
    Restored { to: ObjectId, dialog: Option<String> },
    /// The dialog's work session is abandoned and the next one begins (SESS-3).
    NewSession { dialog: String, number: u64 },
    /// Single hunks of a change were decided on.
    Hunks { change: u64, numbers: Vec<u32>, status: ChangeStatus },
}

impl Plan {
    pub(crate) fn new(kind: OperationKind, title: impl Into<String>) -> Self {
        Self {
            kind,
            title: title.into(),
            dialog: None,
            made_at: 0,
            files: Vec::new(),
            crosses: Vec::new(),
            not_covered: Vec::new(),
            cascaded: Vec::new(),
            passed: Vec::new(),
            taken_back_by_git: Vec::new(),
            rewind: None,
            marks: Vec::new(),
            approved: BTreeSet::new(),
            undoes: Vec::new(),
            sequel: Sequel::Nothing,
            left_out: 0,
        }
    }

    /// The files that are (or were to be) written.
    pub fn writes(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| file.action != Action::Leave)
    }

    /// The files that are left although they are concerned.
    pub fn left(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| file.is_left())
    }

    /// Whether everything that was asked for is (or was) done.
    pub fn is_whole(&self) -> bool {
        self.left_out == 0 && self.left().next().is_none()
    }

    /// Whether it takes back what Retake did, and not what an agent did.
    pub fn undoes_operation(&self) -> bool {
        !self.undoes.is_empty()
    }

    /// Whether it is about what is shown of a conversation, and no file.
    pub fn is_conversation_only(&self) -> bool {
        self.rewind.is_some() && self.files.is_empty() && self.marks.is_empty()
    }

    /// Whether something was asked for and nothing of it can be done.
    pub(crate) fn is_stuck(&self) -> bool {
        !self.does_something() && !self.is_whole()
    }

    /// Whether it writes a file or sets a status.
    pub(crate) fn does_something(&self) -> bool {
        self.writes().next().is_some() || !self.marks.is_empty()
    }

    /// The changes that were asked for and are left, as long as their files stay as they are. Why a
    /// file cannot be written may be over soon, so that does not count.
    pub(crate) fn left_for_good(&self) -> impl Iterator<Item = ChangeId> {
        let for_now = |reason: &Reason| matches!(reason, Reason::MovedOn | Reason::NotWritable(_));
        let left = self.left().filter(move |file| !for_now(&file.reason));
        left.flat_map(|file| file.changes.iter().copied())
    }

    /// The files in which edits of the person are replaced.
    pub fn replaces_user_edits(&self) -> impl Iterator<Item = &PlannedFile> {
        self.writes().filter(|file| matches!(file.reason, Reason::ReplacesYours | Reason::Yours))
    }
}

impl PlannedFile {
    /// A file that goes to another state.
    pub(crate) fn going(path: ProjectPath, now: Side, then: Side, reason: Reason) -> Self {
        Self {
            path,
            action: Action::between(&now, &then),
            reason,
            now,
            then,
            changes: Vec::new(),
            blockers: Vec::new(),
            warning: None,
            done: None,
            part: 0,
            content: None,
            now_content: None,
        }
    }

    /// A file that is left as it is.
    pub(crate) fn left(path: ProjectPath, now: Side, reason: Reason) -> Self {
        Self::going(path, now, now, reason)
    }

    /// Whether something was asked for and is not done.
    pub fn is_left(&self) -> bool {
        self.done == Some(false) || (self.action == Action::Leave && !self.reason.is_settled())
    }

    /// Leaves the file after all.
    pub(crate) fn leave(&mut self, reason: Reason) {
        self.action = Action::Leave;
        self.then = self.now;
        self.content = None;
        self.reason = reason;
        // It was about being written.
        self.warning = None;
    }

    /// Adds to what a person should know.
    pub(crate) fn warn(&mut self, text: &str) {
        let known = self.warning.take().map(|known| known + "; ");
        self.warning = Some(known.unwrap_or_default() + text);
    }
}
