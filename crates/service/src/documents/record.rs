//! The reply to an event.

use retake_engine::model::ErrorCode;
use retake_engine::{self as engine, Notice, NoticeCode, Project, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ChangeDocument, LoadRepeats, StaleContextDocument};
use crate::{ApiError, Masking};

/// What came of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Recorded)]
pub struct EventReply {
    /// Whether nothing is wrong with it.
    pub ok: bool,
    /// Its place in the project's order; null if it waits to be taken in, or says nothing new.
    pub seq: Option<u64>,
    /// The changes that were found on its occasion.
    pub changes: Vec<ChangeDocument>,
    /// The checkpoint that was made before it, if it asks for one.
    pub checkpoint: Option<String>,
    /// What the sender should know.
    pub warnings: Vec<RecordWarning>,
    /// What its agent should know of files that changed since it saw them, if there is anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<StaleContextDocument>,
    /// What is wrong with it; what changed is recorded all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ApiError>,
    /// Where it came from, if it came as a line of several and something is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Something that the sender of an event should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Warning)]
pub struct RecordWarning {
    /// A stable name.
    #[schema(example = "gap")]
    pub code: String,
    /// In words.
    pub message: String,
}

impl LoadRepeats for EventReply {
    fn load_repeats(&mut self, project: &Project, masking: Masking) -> Result<(), StoreError> {
        self.changes.load_repeats(project, masking)
    }
}

impl From<&engine::RecordOutcome> for EventReply {
    fn from(recorded: &engine::RecordOutcome) -> Self {
        let (mut error, mut warnings) = (None, Vec::new());
        for notice in &recorded.notices {
            if error.is_none()
                && let Some(found) = error_of(notice)
            {
                error = Some(found);
                continue;
            }
            let code = notice.code.as_str().to_owned();
            warnings.push(RecordWarning { code, message: notice.message.clone() });
        }
        Self {
            ok: error.is_none(),
            seq: recorded.seq,
            changes: recorded.changes.iter().map(ChangeDocument::from).collect(),
            checkpoint: recorded.checkpoint.map(|id| id.to_string()),
            warnings,
            stale: recorded.stale.as_ref().map(StaleContextDocument::from),
            error,
            line: None,
        }
    }
}

/// Returns the error if the notice makes the event one, although it is recorded.
fn error_of(notice: &Notice) -> Option<ApiError> {
    let (code, hint) = match notice.code {
        NoticeCode::UnknownCall => (
            ErrorCode::UnknownCall,
            "send tool_begin first, or give `tool` and `input` in tool_end; what changed is recorded",
        ),
        NoticeCode::OutsideProject => (
            ErrorCode::OutsideProject,
            "Retake protects files of the project only; what changed inside is recorded",
        ),
        _ => return None,
    };
    Some(ApiError::new(code, &notice.message, hint))
}
