//! Plans what an operation would do; reads only.
//!
//! Every operation is a selection for one of two primitives: [`take_back`] takes a set
//! of changes out of the files by merging, [`go_to`] restores the files to an earlier
//! state. Both return a [`Plan`]; `apply` alone writes, and returns the plan with the
//! outcome of each file.
//!
//! Invariant: a plan lists each file that it leaves alone, with the reason.

mod blockers;
mod content_json;
pub(crate) mod draft;
pub(crate) mod go_to;
pub(crate) mod groups;
pub(crate) mod nesting;
pub(crate) mod net_change;
pub(crate) mod path_history;
pub(crate) mod reason;
pub(crate) mod reverted_by_git;
pub(crate) mod selection;
pub(crate) mod take_back;
mod taken_parts;
pub(crate) mod without;

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{
    ChangeId, ChangeStatus, DialogId, Gap, HunkId, Millis, ObjectId, OperationId, OperationKind,
    PathState, ProjectPath,
};
use retake_store::StatusMark;
use serde::{Deserialize, Serialize};

use crate::history::PlannedRewind;
pub use reason::PlanReason;

/// Returns a reason without the blanks around it; none if there are no words.
pub fn stated_reason(reason: Option<String>) -> Option<String> {
    reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty())
}

/// What an operation would do, or did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The kind of operation.
    pub kind: OperationKind,
    /// Its title, for people.
    pub title: String,
    /// The dialog that it is about, if it is one.
    pub dialog: Option<DialogId>,
    /// The time since when changes are taken back, if they were chosen by time.
    #[serde(default)]
    pub since: Option<Millis>,
    /// The turns whose work a restore undoes, by dialog.
    #[serde(default)]
    pub undone_turns: BTreeMap<DialogId, BTreeSet<u64>>,
    /// Those of which it undoes a part only.
    #[serde(default)]
    pub partly_undone_turns: BTreeMap<DialogId, BTreeSet<u64>>,
    /// Time of the full scan that it is based on.
    pub(crate) made_at: Millis,
    /// Each file that is concerned, with the action and the reason.
    pub files: Vec<PlannedFile>,
    /// Other dialogs that changed some of these files later.
    pub crosses: Vec<DialogId>,
    /// Gaps: changes of these paths are unknown, so they cannot be taken back.
    pub not_covered: Vec<Gap>,
    /// Changes outside of the selection that are taken back too, since they block it.
    pub cascaded: Vec<ChangeId>,
    /// Newer steps that an undo passes over, since git took them back.
    pub passed: Vec<String>,
    /// Changes of which git took back what it wrote, so that nothing is to be done about them; they
    /// may come back with a branch, and keep their status.
    pub taken_back_by_git: Vec<ChangeId>,
    /// The rewind of the conversation that goes with it, or that is the whole operation.
    pub rewind: Option<Box<PlannedRewind>>,
    pub(crate) marks: Vec<StatusMark>,
    /// The changes among them that were approved when the plan was made.
    pub(crate) approved: BTreeSet<ChangeId>,
    pub(crate) undoes: Vec<OperationId>,
    #[serde(rename = "sequel")]
    pub(crate) follow_up: FollowUp,
    /// Files that were left alone before the operation was interrupted, and are not listed again.
    pub(crate) left_out: u64,
}

/// One file of a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedFile {
    /// The path.
    pub path: ProjectPath,
    /// The action.
    pub action: FileAction,
    /// Why it is done, or why the file is left alone.
    pub reason: PlanReason,
    /// The state now.
    pub now: PathState,
    /// The state afterwards.
    pub then: PathState,
    /// The changes that it takes back.
    pub changes: Vec<ChangeId>,
    /// Later changes that stand in the way: `--cascade` would take them back too.
    pub blockers: Vec<ChangeId>,
    /// A warning for the person.
    pub warning: Option<String>,
    /// Whether it was done; `None` while it is only planned.
    pub done: Option<bool>,
    /// Files of the same part are written together or not at all.
    pub(crate) part: u64,
    /// The content of `then`, if the store does not have it yet.
    #[serde(with = "content_json", default)]
    pub(crate) content: Option<Vec<u8>>,
    /// The content of `now`, if that is what a rehearsed operation would leave.
    #[serde(with = "content_json", default)]
    pub(crate) now_content: Option<Vec<u8>>,
}

/// A file that a plan moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedMove<'p> {
    /// Where it is now.
    pub from: &'p ProjectPath,
    /// Where it is afterwards.
    pub to: &'p ProjectPath,
}

impl Plan {
    /// Returns the files that it moves: one that goes away and one that comes to be, together.
    pub fn moves(&self) -> Vec<PlannedMove<'_>> {
        let mut parts: BTreeMap<u64, Vec<&PlannedFile>> = BTreeMap::new();
        let comes_or_goes =
            |file: &&PlannedFile| matches!(file.action, FileAction::Create | FileAction::Delete);
        for file in self.files.iter().filter(comes_or_goes) {
            parts.entry(file.part).or_default().push(file);
        }
        parts.into_values().filter_map(|files| PlannedMove::of(&files)).collect()
    }
}

impl<'p> PlannedMove<'p> {
    /// The move that these files of one part are, if they are one.
    fn of(files: &[&'p PlannedFile]) -> Option<Self> {
        let [one, other] = files else { return None };
        let (from, to) = match (one.action, other.action) {
            (FileAction::Delete, FileAction::Create) => (one, other),
            (FileAction::Create, FileAction::Delete) => (other, one),
            _ => return None,
        };
        Some(Self { from: &from.path, to: &to.path })
    }
}

/// The action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileAction {
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

impl FileAction {
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

    /// Returns the action that leads from one state to another.
    pub(crate) fn between(now: &PathState, then: &PathState) -> Self {
        match (now, then) {
            _ if now == then => Self::Leave,
            (PathState::Absent, _) => Self::Create,
            (_, PathState::Absent) => Self::Delete,
            (PathState::Known(now), PathState::Known(then))
                if now.kind == then.kind && now.oid == then.oid =>
            {
                Self::Mode
            }
            _ => Self::Write,
        }
    }
}

/// The follow-up once the files are written; stored with the operation, for recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "then", rename_all = "snake_case")]
pub(crate) enum FollowUp {
    /// Nothing.
    Nothing,
    /// A checkpoint names the restored state (RSTR-1).
    Restored { to: ObjectId, dialog: Option<String> },
    /// The dialog's work session is abandoned and the next one begins (SESS-3).
    NewSession { dialog: String, number: u64 },
    /// Single hunks of a change were decided on.
    Hunks {
        change: u64,
        numbers: Vec<u32>,
        status: ChangeStatus,
        #[serde(default)]
        reason: Option<String>,
    },
    /// Work was rejected, with the reason; of some changes only single places.
    Rejected {
        reason: Option<String>,
        #[serde(default)]
        places: Vec<RejectedPlaces>,
    },
}

/// Changes of which a part of an operation takes single places back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RejectedPlaces {
    pub(crate) part: u64,
    pub(crate) path: ProjectPath,
    pub(crate) changes: Vec<ChangeId>,
    pub(crate) hunks: Vec<HunkId>,
    /// The entries of the queue that are carried out with it.
    #[serde(default)]
    pub(crate) queued: Vec<u64>,
    /// The marks of lines that were seen and stay, as they are known afterwards.
    #[serde(default)]
    pub(crate) marks: Vec<u64>,
}

impl FollowUp {
    /// Returns whether it does something by itself, without a file that is written.
    pub(crate) fn acts_alone(&self) -> bool {
        !matches!(self, Self::Nothing | Self::Rejected { .. })
    }

    /// The changes of which single places were decided on.
    pub(crate) fn changes(&self) -> Vec<ChangeId> {
        match self {
            Self::Hunks { change, .. } => vec![ChangeId(*change)],
            Self::Rejected { places, .. } => {
                places.iter().flat_map(|places| places.changes.iter().copied()).collect()
            }
            Self::Nothing | Self::Restored { .. } | Self::NewSession { .. } => Vec::new(),
        }
    }

    /// The reason that the person gave.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Hunks { reason, .. } | Self::Rejected { reason, .. } => reason.as_deref(),
            _ => None,
        }
    }
}

impl Plan {
    pub(crate) fn new(kind: OperationKind, title: impl Into<String>) -> Self {
        Self {
            kind,
            title: title.into(),
            dialog: None,
            since: None,
            undone_turns: BTreeMap::new(),
            partly_undone_turns: BTreeMap::new(),
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
            follow_up: FollowUp::Nothing,
            left_out: 0,
        }
    }

    /// The files that are (or were to be) written.
    pub fn writes(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| file.action != FileAction::Leave)
    }

    /// The files that are left although something was to be done to them.
    pub fn left(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| file.is_left())
    }

    /// Gives a rejection its reason; blanks are none.
    #[must_use]
    pub fn because(mut self, why: Option<String>) -> Self {
        if let FollowUp::Hunks { reason, .. } | FollowUp::Rejected { reason, .. } =
            &mut self.follow_up
        {
            *reason = stated_reason(why);
        }
        self
    }

    /// The reason that the person gave for a rejection.
    pub fn rejection_reason(&self) -> Option<&str> {
        self.follow_up.reason()
    }

    /// The hunks that it takes out; none if it takes back whole changes.
    pub fn rejected_hunks(&self) -> impl Iterator<Item = HunkId> {
        let places = match &self.follow_up {
            FollowUp::Rejected { places, .. } => places.as_slice(),
            _ => &[],
        };
        places.iter().flat_map(|places| places.hunks.iter().copied())
    }

    /// Returns whether everything that was asked for is (or was) done.
    pub fn is_whole(&self) -> bool {
        self.left_out == 0 && self.left().next().is_none()
    }

    /// The operations that it takes back.
    pub fn undone_operations(&self) -> &[OperationId] {
        &self.undoes
    }

    /// The changes that it takes back or decides on, those that it leaves aside.
    pub fn concerned_changes(&self) -> BTreeSet<ChangeId> {
        let marks = self.marks.iter().filter(|mark| mark.part != StatusMark::LEFT);
        let marked = marks.map(|mark| mark.change);
        let taken = self.writes().flat_map(|file| file.changes.iter().copied());
        marked.chain(taken).chain(self.cascaded.iter().copied()).collect()
    }

    /// Returns whether it takes back what Retake did, and not what an agent did.
    pub fn undoes_operation(&self) -> bool {
        !self.undoes.is_empty()
    }

    /// Returns whether it takes single places of a file back, and leaves its others.
    pub fn takes_places_of(&self, file: &PlannedFile) -> bool {
        let FollowUp::Rejected { places, .. } = &self.follow_up else { return false };
        places.iter().any(|places| places.part == file.part && places.path == file.path)
    }

    /// Returns whether it only rewinds a conversation and writes no file.
    pub fn is_conversation_only(&self) -> bool {
        self.rewind.is_some() && self.files.is_empty() && self.marks.is_empty()
    }

    /// Returns whether something was requested and nothing of it can be done.
    pub(crate) fn is_stuck(&self) -> bool {
        !self.does_something() && !self.is_whole()
    }

    /// Returns whether it writes a file or sets a status.
    pub(crate) fn does_something(&self) -> bool {
        self.writes().next().is_some() || !self.marks.is_empty()
    }

    /// The selected changes that are left as long as their files stay as they are. A file that is
    /// not writable does not count: that reason may be temporary.
    pub(crate) fn left_for_good(&self) -> impl Iterator<Item = ChangeId> {
        let for_now = |reason: &PlanReason| {
            matches!(reason, PlanReason::MovedOn | PlanReason::NotWritable(_))
        };
        let left = self.left().filter(move |file| !for_now(&file.reason));
        left.flat_map(|file| file.changes.iter().copied())
    }

    /// The files in which edits by the person are replaced.
    pub fn replaces_user_edits(&self) -> impl Iterator<Item = &PlannedFile> {
        self.writes()
            .filter(|file| matches!(file.reason, PlanReason::ReplacesYours | PlanReason::Yours))
    }
}

impl PlannedFile {
    /// A file that goes to another state.
    pub(crate) fn going(
        path: ProjectPath,
        now: PathState,
        then: PathState,
        reason: PlanReason,
    ) -> Self {
        Self {
            path,
            action: FileAction::between(&now, &then),
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
    pub(crate) fn left(path: ProjectPath, now: PathState, reason: PlanReason) -> Self {
        Self::going(path, now, now, reason)
    }

    /// Returns whether something was asked for and is not done.
    pub fn is_left(&self) -> bool {
        self.done == Some(false)
            || (self.action == FileAction::Leave && !self.reason.is_as_wanted())
    }

    /// Turns the file into one that is left.
    pub(crate) fn leave(&mut self, reason: PlanReason) {
        self.action = FileAction::Leave;
        self.then = self.now;
        self.content = None;
        self.reason = reason;
        // Warnings are about the write.
        self.warning = None;
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, text: &str) {
        let known = self.warning.take().map(|known| known + "; ");
        self.warning = Some(known.unwrap_or_default() + text);
    }
}
