//! The reply to an event.

use retake_engine::{self as engine, Notice, NoticeCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ChangeDocument, StaleContextDocument};
use crate::ApiError;

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

impl From<&engine::RecordOutcome> for EventReply {
    fn from(recorded: &engine::RecordOutcome) -> Self {
        let at = recorded.notices.iter().position(is_error);
        let (mut error, mut warnings) = (None, Vec::new());
        for (number, notice) in recorded.notices.iter().enumerate() {
            let (code, message) = (notice.code.as_str(), notice.message.clone());
            if at == Some(number) {
                error = Some(ApiError::new(code, message, hint(notice.code)));
            } else {
                warnings.push(RecordWarning { code: code.to_owned(), message });
            }
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

/// Whether a notice makes a recorded event an error all the same.
fn is_error(notice: &Notice) -> bool {
    matches!(notice.code, NoticeCode::UnknownCall | NoticeCode::OutsideProject)
}

fn hint(code: NoticeCode) -> &'static str {
    match code {
        NoticeCode::UnknownCall => {
            "send tool_begin first, or give `tool` and `input` in tool_end; what changed is recorded"
        }
        _ => "Retake protects files of the project only; what changed inside is recorded",
    }
}
