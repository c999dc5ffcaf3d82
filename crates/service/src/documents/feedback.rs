//! What the person says to agents about their work: rejections that wait, comments, feedback.

use std::path::Path;

use retake_engine::model::{
    CommentAnchor, CommentKind, CommentState, Millis, QueueState, QueuedRejection, ReviewComment,
};
use retake_engine::{FeedbackItems, LocatedComment, ReviewedHunks, SettledRejection, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::hunk::change_names;
use super::path::{LocatePaths, PathName};
use super::{CallerDocument, enum_schemas};
use crate::Masking;

/// What keeping or marking hunks did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewedHunks)]
pub struct ReviewedHunksDocument {
    /// The hunks.
    pub hunks: Vec<String>,
    /// Changes that are accepted with it, since all that they did is seen.
    pub accepted: Vec<String>,
}

impl From<&ReviewedHunks> for ReviewedHunksDocument {
    fn from(done: &ReviewedHunks) -> Self {
        let hunks = done.hunks.iter().map(ToString::to_string).collect();
        Self { hunks, accepted: change_names(&done.accepted) }
    }
}

/// A rejection that waits for the end of a turn, or waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = QueuedRejection)]
pub struct QueuedRejectionDocument {
    /// Its number.
    pub id: u64,
    /// The file.
    #[serde(flatten)]
    pub path: PathName,
    /// The hunk.
    #[schema(example = "h3f9a2c81d0e4")]
    pub hunk: String,
    /// Why, as the person said.
    pub reason: Option<String>,
    /// The dialogs whose turns it waits for.
    pub dialogs: Vec<String>,
    /// How far it is.
    #[schema(schema_with = enum_schemas::queue_state)]
    pub state: QueueState,
    /// Why it was dropped; null if it was not.
    pub outcome: Option<String>,
    /// The operation that carried it out; null if none did.
    pub operation: Option<String>,
    /// When it was queued.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// The same in milliseconds since the epoch.
    pub at: Millis,
    /// Who asked for it.
    pub said_by: Option<CallerDocument>,
}

impl QueuedRejectionDocument {
    /// An entry of the queue.
    pub fn new(entry: &QueuedRejection, masking: Masking) -> Self {
        Self {
            id: entry.id,
            path: PathName::from(&entry.path),
            hunk: entry.hunk.to_string(),
            reason: masking.mask_optional(entry.reason.as_deref()),
            dialogs: entry.dialogs.iter().map(|id| id.0.clone()).collect(),
            state: entry.state,
            outcome: entry.outcome.clone(),
            operation: entry.operation.map(|id| id.to_string()),
            timestamp: iso_8601(entry.at),
            at: entry.at,
            said_by: entry.said_by.as_ref().map(CallerDocument::from),
        }
    }
}

impl LocatePaths for QueuedRejectionDocument {
    fn locate(&mut self, root: &Path) {
        self.path.locate(root);
    }
}

/// Rejections that wait, or waited, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RejectionQueue {
    /// The entries.
    pub entries: Vec<QueuedRejectionDocument>,
}

impl RejectionQueue {
    /// These entries.
    pub fn new(entries: &[QueuedRejection], masking: Masking) -> Self {
        let entries = entries.iter().map(|entry| QueuedRejectionDocument::new(entry, masking));
        Self { entries: entries.collect() }
    }
}

/// Rejections that waited and were settled now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SettledRejections {
    /// The entries that were settled now.
    pub settled: Vec<SettledRejectionDocument>,
}

/// A rejection that waited and was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SettledRejection)]
pub struct SettledRejectionDocument {
    /// Its number.
    pub id: u64,
    /// What it is now.
    #[schema(schema_with = enum_schemas::queue_state)]
    pub state: QueueState,
    /// Why it was dropped; null if it was not.
    pub outcome: Option<String>,
}

impl From<&[SettledRejection]> for SettledRejections {
    fn from(settled: &[SettledRejection]) -> Self {
        let one = |entry: &SettledRejection| SettledRejectionDocument {
            id: entry.id,
            state: entry.state,
            outcome: entry.outcome.clone(),
        };
        Self { settled: settled.iter().map(one).collect() }
    }
}

/// A comment of the person on an agent's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewComment)]
pub struct CommentDocument {
    /// Its number.
    pub id: u64,
    /// The file; null if it is about the work as a whole.
    pub path: Option<PathName>,
    /// The dialog whose agent it is for; null if that is not decided yet.
    pub dialog: Option<String>,
    /// What it asks.
    #[schema(schema_with = enum_schemas::comment_kind)]
    pub kind: CommentKind,
    /// How far it is.
    #[schema(schema_with = enum_schemas::comment_state)]
    pub state: CommentState,
    /// The person's words.
    pub text: String,
    /// The agent's answer.
    pub answer: Option<String>,
    /// The lines that it is about, as they were; null if it is about no lines.
    pub lines: Option<CommentLines>,
    /// The batch that it was sent in.
    pub batch: Option<u64>,
    /// The event at which the agent was told of it; null if it was not told yet.
    pub heard: Option<u64>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// The same in milliseconds since the epoch.
    pub at: Millis,
    /// Who made it.
    pub said_by: Option<CallerDocument>,
}

impl LocatePaths for CommentDocument {
    fn locate(&mut self, root: &Path) {
        self.path.locate(root);
    }
}

/// The lines that a comment is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommentLines {
    /// Whether they are lines that were removed.
    pub removed: bool,
    /// Their text, as it was.
    pub text: Vec<String>,
    /// The number of the first of them now, from 1; null if they are gone, or were removed.
    pub first: Option<u64>,
    /// The number of the last of them now.
    pub last: Option<u64>,
    /// Whether they are gone from the file since.
    pub gone: bool,
}

impl CommentDocument {
    /// A comment, and where its lines are now.
    pub fn located(located: &LocatedComment, masking: Masking) -> Self {
        let mut document = Self::new(&located.comment, masking);
        if let Some(lines) = &mut document.lines {
            lines.first = located.lines.as_ref().map(|now| now.start as u64 + 1);
            lines.last = located.lines.as_ref().map(|now| now.end as u64);
            lines.gone = located.is_gone();
        }
        document
    }

    /// A comment whose lines were just there.
    pub fn new(comment: &ReviewComment, masking: Masking) -> Self {
        let lines = |anchor: &CommentAnchor| {
            let first = (!anchor.removed).then_some(u64::from(anchor.first_line));
            let last = first.map(|first| (first + anchor.lines.len() as u64).saturating_sub(1));
            let text = anchor.lines.iter().map(|line| masking.mask_text(line).into_owned());
            CommentLines { removed: anchor.removed, text: text.collect(), first, last, gone: false }
        };
        Self {
            id: comment.id,
            path: comment.path.as_ref().map(PathName::from),
            dialog: comment.dialog.as_ref().map(|id| id.0.clone()),
            kind: comment.kind,
            state: comment.state,
            text: masking.mask_text(&comment.text).into_owned(),
            answer: masking.mask_optional(comment.answer.as_deref()),
            lines: comment.anchor.as_ref().map(lines),
            batch: comment.batch,
            heard: comment.heard,
            timestamp: iso_8601(comment.at),
            at: comment.at,
            said_by: comment.said_by.as_ref().map(CallerDocument::from),
        }
    }
}

/// Comments, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewComments)]
pub struct CommentList {
    /// The comments.
    pub comments: Vec<CommentDocument>,
}

/// What the agent of a dialog was not told of yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Feedback)]
pub struct FeedbackDocument {
    /// The dialog.
    pub dialog: String,
    /// The numbers of the comments.
    pub comments: Vec<u64>,
    /// The rejections.
    pub rejections: Vec<String>,
    /// The words for the agent, as Markdown; empty if there is nothing to tell.
    pub text: String,
    /// Whether it counts as told from here on.
    pub taken: bool,
}

impl FeedbackDocument {
    /// Feedback that counts as told from here on.
    #[must_use]
    pub fn taken(self) -> Self {
        Self { taken: !self.text.is_empty(), ..self }
    }

    /// Feedback that waits.
    pub fn waiting(dialog: &str, items: &FeedbackItems, text: &str, masking: Masking) -> Self {
        Self {
            dialog: dialog.to_owned(),
            comments: items.comments.iter().map(|comment| comment.id).collect(),
            rejections: items.rejections.iter().map(ToString::to_string).collect(),
            text: masking.mask_text(text).into_owned(),
            taken: false,
        }
    }
}

/// What was forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Forgotten)]
pub struct ForgottenDocument {
    /// Number of rejected places that are no longer known again.
    pub forgotten: u64,
}

/// The place up to which the person has seen everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewSeen)]
pub struct ReviewSeenDocument {
    /// The place in the project's order.
    pub seen: u64,
}
