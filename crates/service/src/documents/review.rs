//! Decisions on changes.

use retake_engine as engine;
use retake_engine::model::{ChangeId, DialogId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What accepting did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Accepted)]
pub struct AcceptedDocument {
    /// The changes that were accepted.
    pub accepted: Vec<String>,
    /// Those that were accepted before.
    pub already: Vec<String>,
    /// The places of the change, if only some of them were accepted.
    pub hunks: Vec<u32>,
}

impl AcceptedDocument {
    /// What accepting did; `hunks` are the places that it was about, if it was about places.
    pub fn new(accepted: &engine::AcceptedChanges, hunks: &[u32]) -> Self {
        let ids = |ids: &[ChangeId]| ids.iter().map(ToString::to_string).collect();
        Self {
            accepted: ids(&accepted.changes),
            already: ids(&accepted.already),
            hunks: hunks.to_vec(),
        }
    }
}

/// What approving did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Approved)]
pub struct ApprovedDocument {
    /// The dialog.
    pub dialog: String,
    /// The approval, a commit on `main`.
    pub commit: String,
    /// The work session that was approved.
    #[schema(example = "session_2")]
    pub session: String,
    /// The work session that is active now.
    #[schema(example = "session_3")]
    pub new_session: String,
    /// Checkpoints in the approved session.
    pub commits: u64,
    /// The changes that were approved.
    pub changes: u64,
    /// Changes that wait for the approval of another dialog that may have made them.
    pub shared: u64,
    /// What the person said to it.
    pub message: Option<String>,
}

impl ApprovedDocument {
    /// What approving a dialog did.
    pub fn new(dialog: &DialogId, approved: &engine::Approval, message: Option<&str>) -> Self {
        Self {
            dialog: dialog.0.clone(),
            commit: approved.commit.to_string(),
            session: approved.session.name(),
            new_session: approved.new_session.clone(),
            commits: approved.checkpoints,
            changes: approved.changes,
            shared: approved.shared,
            message: message.map(ToOwned::to_owned),
        }
    }
}
