//! One file's step from `before` to `after`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use crate::{AgentId, CallId, Caller, DialogId, Millis, OperationId, PathState, ProjectPath};

/// The name of a change: its place in the project's sequence, written `c12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChangeId(pub u64);

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl FromStr for ChangeId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('c').unwrap_or(text);
        // A plain parse would take a sign.
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| is_number).map(Self).ok_or_else(|| {
            format!("'{text}' is not a change id; they look like c12 (see `retake log`)")
        })
    }
}

/// One recorded change. Immutable but for its review status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its id, which is also its `seq`.
    pub id: ChangeId,
    /// When it was recorded.
    pub at: Millis,
    /// Who made it.
    pub actor: Actor,
    /// How sure that is.
    pub confidence: Confidence,
    /// The dialog, if an agent made it.
    pub dialog: Option<DialogId>,
    /// The product of the agent, for example `claude-code`.
    pub kind: Option<String>,
    /// The agent, if exactly one can have made it.
    pub agent: Option<AgentId>,
    /// The agent's tool call, if exactly one can have made it.
    pub call: Option<CallId>,
    /// The tool's name as the agent gave it, if exactly one call can have made it.
    pub tool: Option<String>,
    /// The model that asked for the call, as the agent names it; none if that is not known.
    pub model: Option<String>,
    /// Every call that can have made it; more than one if `shared`.
    pub candidates: Vec<CandidateCall>,
    /// The path after the change; the path before it if it was deleted.
    pub path: ProjectPath,
    /// The path before a rename.
    pub old_path: Option<ProjectPath>,
    /// What happened to the path.
    pub change_type: ChangeType,
    /// How it happened.
    #[serde(rename = "operation")]
    pub method: ChangeMethod,
    /// The state before.
    pub before: PathState,
    /// The state after.
    pub after: PathState,
    /// What changed by lines; `None` for binary, unknown or very large content.
    pub lines: Option<LineChanges>,
    /// The review status.
    pub status: ChangeStatus,
    /// The change that this one belongs to (a formatter's rewrite of it).
    pub joins: Option<ChangeId>,
    /// The turn of its dialog: how many messages the person had sent.
    pub turn: Option<u64>,
    /// The place in the agent's message history of the message that asked for the call (DM-4).
    pub message_index: Option<u64>,
    /// The number of the work session that approved it.
    pub approved: Option<u64>,
    /// The operation of Retake that made it.
    pub made_by: Option<OperationId>,
    /// Who reported it or asked for it; none for rows of earlier versions.
    #[serde(default)]
    pub said_by: Option<Caller>,
}

impl Change {
    /// Returns whether it is in the files: neither rejected nor taken back.
    pub fn is_effective(&self) -> bool {
        matches!(self.status, ChangeStatus::Pending | ChangeStatus::Accepted)
    }

    /// Returns its review status; none if no agent made it, since only agent changes are reviewed.
    pub fn review_status(&self) -> Option<ChangeStatus> {
        (self.actor == Actor::Agent).then_some(self.status)
    }

    /// The first line that it changed, as lines are numbered after it; none if the file is gone.
    pub fn first_changed_line(&self) -> Option<u32> {
        let hunk = self.lines.as_ref()?.hunks.first()?;
        (!self.after.is_absent()).then(|| hunk.new_start.max(1))
    }

    /// The path before it.
    pub fn from_path(&self) -> &ProjectPath {
        self.old_path.as_ref().unwrap_or(&self.path)
    }
}

/// A call that can have made a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateCall {
    /// The dialog.
    pub dialog: DialogId,
    /// The agent within the dialog.
    pub agent: AgentId,
    /// The product of the agent.
    pub kind: Option<String>,
    /// The model that asked for the call.
    pub model: Option<String>,
    /// The agent's id of the call.
    pub call: CallId,
    /// The tool's name as the agent gave it.
    pub tool: String,
}

/// Line counts and places of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineChanges {
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// The places, in order (W-12: real hunks, not first to last difference).
    pub hunks: Vec<Hunk>,
}

impl LineChanges {
    /// The lines of the change that goes back.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let reversed = |hunk: &Hunk| Hunk {
            old_start: hunk.new_start,
            old_lines: hunk.new_lines,
            new_start: hunk.old_start,
            new_lines: hunk.old_lines,
        };
        let hunks = self.hunks.iter().map(reversed).collect();
        Self { added: self.removed, removed: self.added, hunks }
    }
}

/// One place where lines were replaced; line numbers count from 1, and an empty
/// side names the line before which it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// First line on the old side.
    pub old_start: u32,
    /// Lines on the old side.
    pub old_lines: u32,
    /// First line on the new side.
    pub new_start: u32,
    /// Lines on the new side.
    pub new_lines: u32,
}

text_enum! {
    /// Who made a change.
    Actor {
        /// An agent; dialog, agent and call say which.
        Agent = "agent",
        /// The person, or any program that no agent started.
        User = "user",
        /// A branch switch, rebase, stash or the like, outside of an agent's call.
        Git = "git",
        /// Retake itself, in an operation.
        Retake = "retake",
        /// Not known.
        Unknown = "unknown",
    }
}

text_enum! {
    /// How sure the actor is, strongest first.
    Confidence {
        /// The content is what the call's arguments predict, or git's own record says so.
        Certain = "certain",
        /// Exactly one call was open in which it could happen.
        Window = "window",
        /// Several calls were open; all are kept as candidates.
        Shared = "shared",
        /// After the call ended, with evidence.
        Late = "late",
        /// No rule claims it for an agent, so it is the user's.
        Assumed = "assumed",
    }
}

text_enum! {
    /// What happened to the path (C-20).
    ChangeType {
        /// It came to be.
        Create = "create",
        /// Its content or its kind changed.
        Modify = "modify",
        /// It went away.
        Delete = "delete",
        /// It moved from `old_path`, perhaps with an edit.
        Rename = "rename",
        /// Only its permissions changed.
        Mode = "mode",
    }
}

text_enum! {
    /// How it happened (C-20).
    ChangeMethod {
        /// A tool wrote the whole file.
        Write = "write",
        /// A tool replaced a part of the file.
        Patch = "patch",
        /// A tool deleted the file.
        Delete = "delete",
        /// A shell command or an unknown tool.
        Command = "command",
        /// Outside of any tool call.
        External = "external",
        /// Found when Retake caught up after a time in which it saw nothing.
        Reconcile = "reconcile",
    }
}

text_enum! {
    /// The review status of a change.
    ChangeStatus {
        /// Not looked at.
        Pending = "pending",
        /// Looked at and kept.
        Accepted = "accepted",
        /// Looked at and taken back.
        Rejected = "rejected",
        /// Taken back by an operation.
        Reverted = "reverted",
    }
}
