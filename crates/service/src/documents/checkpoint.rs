//! Checkpoints: named states of the whole project.

use retake_engine::model::{self, CheckpointKind, DialogId};
use retake_engine::{Project, StoreError, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::session::session_name;
use super::{CallerDocument, enum_schemas};
use crate::Masking;

/// A named, durable state of the whole project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Checkpoint)]
pub struct CheckpointDocument {
    /// Its id, which is a git commit's.
    pub id: String,
    /// Its place in the project's order: it holds everything recorded before it.
    pub seq: u64,
    /// The tree of all files.
    pub tree: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// Why it was made.
    #[schema(schema_with = enum_schemas::checkpoint_kind)]
    pub kind: CheckpointKind,
    /// What it is called.
    pub message: String,
    /// The dialog that it belongs to.
    pub dialog: Option<String>,
    /// The work session that it belongs to.
    #[schema(example = "session_1")]
    pub session: Option<String>,
    /// Files in it.
    pub files: u64,
    /// Files that were being written or could not be captured, and are not in it as they were.
    pub unstable: u64,
    /// Who asked for it, or said what it was made for; null for what earlier versions recorded.
    pub said_by: Option<CallerDocument>,
}

impl CheckpointDocument {
    /// A checkpoint.
    pub fn new(checkpoint: &model::Checkpoint, masking: Masking) -> Self {
        Self {
            id: checkpoint.id.to_string(),
            seq: checkpoint.seq,
            tree: checkpoint.tree.to_string(),
            timestamp: iso_8601(checkpoint.at),
            kind: checkpoint.kind,
            message: masking.mask_text(&checkpoint.message).into_owned(),
            dialog: checkpoint.dialog.as_ref().map(|id| id.0.clone()),
            session: checkpoint.session.map(session_name),
            files: checkpoint.files,
            unstable: checkpoint.unstable,
            said_by: checkpoint.said_by.as_ref().map(CallerDocument::from),
        }
    }
}

/// Checkpoints, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Checkpoints)]
pub struct CheckpointList {
    /// The checkpoints.
    pub checkpoints: Vec<CheckpointDocument>,
}

impl CheckpointList {
    /// These checkpoints.
    pub fn new(checkpoints: &[model::Checkpoint], masking: Masking) -> Self {
        let document = |one: &model::Checkpoint| CheckpointDocument::new(one, masking);
        Self { checkpoints: checkpoints.iter().map(document).collect() }
    }
}

/// The checkpoints of a dialog, the oldest first (API-7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DialogCheckpoints {
    /// The dialog.
    pub dialog_id: String,
    /// Its checkpoints.
    pub checkpoints: Vec<DialogCheckpoint>,
    /// The one that was made when the dialog began.
    pub initial_checkpoint: Option<String>,
}

/// A checkpoint of a dialog (API-7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DialogCheckpoint {
    /// Its id.
    pub commit_id: String,
    /// What it is called.
    pub message: String,
}

impl DialogCheckpoints {
    /// The checkpoints of a dialog.
    pub fn read(
        project: &Project,
        dialog: &DialogId,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let checkpoints = project.checkpoints(Some(dialog), i64::MAX as usize)?;
        let is_initial = |one: &&model::Checkpoint| one.kind == CheckpointKind::Initial;
        let initial = checkpoints.iter().rev().find(is_initial).map(|one| one.id.to_string());
        let document = |one: &model::Checkpoint| DialogCheckpoint {
            commit_id: one.id.to_string(),
            message: masking.mask_text(&one.message).into_owned(),
        };
        Ok(Self {
            dialog_id: dialog.0.clone(),
            checkpoints: checkpoints.iter().rev().map(document).collect(),
            initial_checkpoint: initial,
        })
    }
}
