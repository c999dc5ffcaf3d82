//! Hunks of a review: places that a person keeps or takes back, and who is behind them.

use retake_engine::model::{
    Actor, ChangeId, ChangeStatus, Confidence, HunkKind, Millis, OperationId,
};
use retake_engine::{Project, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::diff_hunks::DiffHunk;
use super::path::PathName;
use super::{CandidateDocument, SideDocument, enum_schemas};
use crate::Masking;

/// The files of a review, without their hunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewList)]
pub struct ReviewListDocument {
    /// The scope, as it is named.
    #[schema(example = "last-turn")]
    pub scope: String,
    /// The same changes by a name that does not depend on the moment.
    #[schema(example = "dialog:d1:3")]
    pub resolved: String,
    /// The place in the project's order that this is of.
    pub seq: u64,
    /// The place up to which the person has seen everything.
    pub seen: u64,
    /// The files, in the order of their paths.
    pub files: Vec<ReviewEntryDocument>,
    /// Changes that are left out, since an agent outside of the scope may have made them.
    pub shared: Vec<String>,
    /// Rejections that wait for the end of a turn.
    pub queued: u64,
    /// Comments that are not sent yet.
    pub drafts: u64,
    /// What to send as `after` for the files that follow; null if these are the last.
    pub next: Option<String>,
}

/// A file of a review, as far as it is known without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewEntry)]
pub struct ReviewEntryDocument {
    /// Where it is, or was before it was deleted.
    #[serde(flatten)]
    pub path: PathName,
    /// Where it was before the changes, if that is elsewhere.
    pub old_path: Option<String>,
    /// The changes, oldest first.
    pub changes: Vec<String>,
    /// The dialogs of the changes.
    pub dialogs: Vec<DialogName>,
    /// Lines that the changes added, each counted by itself.
    pub added: u64,
    /// Lines that they removed.
    pub removed: u64,
    /// When the newest of them was recorded.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// The same in milliseconds since the epoch.
    pub at: Millis,
}

/// A dialog and the name by which people know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DialogName {
    /// Its id.
    pub id: String,
    /// Its short name.
    #[schema(example = "claude-2")]
    pub name: String,
}

/// The hunks of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewFile)]
pub struct ReviewFileDocument {
    /// Where it is; the old path if it is gone.
    #[serde(flatten)]
    pub path: PathName,
    /// Where it would be without the changes.
    pub old_path: String,
    /// The old path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path_hex: Option<String>,
    /// What the hunks are of: an act on one of several equal hunks needs it.
    pub digest: String,
    /// The state without the changes; null if the file would not exist.
    pub before: Option<SideDocument>,
    /// The state now; null if the file is gone.
    pub after: Option<SideDocument>,
    /// Number of hunks, on all pages.
    pub count: u64,
    /// Number of hunks that the person has not seen, on all pages.
    pub unreviewed: u64,
    /// Lines added, in all hunks.
    pub added: u64,
    /// Lines removed, in all hunks.
    pub removed: u64,
    /// Whether the lines have tokens.
    pub highlighted: bool,
    /// The hunks, in the order of the file's lines.
    pub hunks: Vec<ReviewHunkDocument>,
}

/// A file of a review, with its hunks and those of the files that are taken back with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewFiles)]
pub struct ReviewFilesDocument {
    /// The scope, as it is named.
    #[schema(example = "last-turn")]
    pub scope: String,
    /// The same changes by a name that does not depend on the moment.
    #[schema(example = "dialog:d1:3")]
    pub resolved: String,
    /// The place in the project's order that this is of.
    pub seq: u64,
    /// The files. Each has those of its hunks that are on this page.
    pub files: Vec<ReviewFileDocument>,
    /// What to send as `from` for the hunks that follow; null if these are the last. If a file's
    /// `digest` is another one there, the file has changed in between.
    pub next: Option<u64>,
    /// Files that are left out; ask for them one by one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

/// A place that a person keeps or takes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewHunk)]
pub struct ReviewHunkDocument {
    /// Its name; it stays the same while other places change.
    #[schema(example = "h3f9a2c81d0e4")]
    pub id: String,
    /// What it is.
    #[schema(schema_with = enum_schemas::hunk_kind)]
    pub kind: HunkKind,
    /// Where it is, with its lines: those that were removed, then those that were added.
    #[serde(flatten)]
    pub place: DiffHunk,
    /// Lines of it that are left out here; the diff of the file has them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// The changes behind it, oldest first.
    pub changes: Vec<HunkChange>,
    /// Why it cannot be taken out by itself; null if it can.
    pub entangled: Option<Entanglement>,
    /// Whether the person has seen all of it.
    pub reviewed: bool,
    /// The rejections whose lines it brings again.
    pub again: Vec<AddedAgainDocument>,
    /// The lines of it that the person has seen, if not all of it.
    #[schema(example = "+1-3,-2")]
    pub seen_lines: Option<String>,
    /// The number of the rejection of it that waits, or of lines of it; null if none does.
    pub queued: Option<u64>,
    /// The lines that wait; null if all of it does, or nothing.
    #[schema(example = "+4")]
    pub queued_lines: Option<String>,
    /// The numbers of the comments on its lines.
    pub comments: Vec<u64>,
}

/// What stands in the way of taking a place out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Entanglement {
    /// In words.
    pub reason: String,
    /// The later changes that would have to go, too.
    pub blockers: Vec<HunkChange>,
}

/// A rejection whose lines came again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AddedAgain)]
pub struct AddedAgainDocument {
    /// The operation.
    #[schema(example = "o7")]
    pub operation: String,
    /// The reason that the person gave.
    pub reason: Option<String>,
}

impl AddedAgainDocument {
    /// These rejections, with their reasons.
    pub fn read<'a>(
        project: &Project,
        operations: impl IntoIterator<Item = &'a OperationId>,
        masking: Masking,
    ) -> Result<Vec<Self>, StoreError> {
        let mut again = Vec::new();
        for operation in operations {
            let reason = project.rejection_reason(*operation)?;
            let reason = masking.mask_optional(reason.as_deref());
            again.push(Self { operation: operation.to_string(), reason });
        }
        Ok(again)
    }
}

/// A change behind a hunk, and who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HunkChange {
    /// The change.
    #[schema(example = "c12")]
    pub id: String,
    /// Who made it.
    #[schema(schema_with = enum_schemas::actor)]
    pub actor: Actor,
    /// The same in words: `claude-2`, `you`.
    pub maker: String,
    /// How sure that is.
    #[schema(schema_with = enum_schemas::confidence)]
    pub confidence: Confidence,
    /// The dialog.
    pub dialog: Option<String>,
    /// The message of the dialog that it is an answer to, from 1.
    pub turn: Option<u64>,
    /// The agent within the dialog.
    pub agent: Option<String>,
    /// The product of the agent.
    pub kind: Option<String>,
    /// The model that asked for the call.
    pub model: Option<String>,
    /// The tool call.
    pub call: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// Every call that can have made it.
    pub candidates: Vec<CandidateDocument>,
    /// What was decided about it; null for what no agent did.
    #[schema(schema_with = enum_schemas::review_status)]
    pub status: Option<ChangeStatus>,
    /// When it was recorded, in milliseconds since the epoch.
    pub at: Millis,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A list of changes by their names.
pub(super) fn change_names(ids: &[ChangeId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}
