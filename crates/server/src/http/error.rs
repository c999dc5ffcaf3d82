//! Error responses: one shape, and an HTTP status for each code.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use retake_engine::model::ErrorCode;
use retake_service::{ApiError, ApiErrorCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::routes::OperationResponse;

/// A failure with what there is beside it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ErrorResponse {
    /// A stable name for programs.
    #[schema(value_type = String, example = "unknown_change")]
    code: ApiErrorCode,
    /// What went wrong, naming the thing and the reason.
    message: String,
    /// What to do about it.
    hint: Option<String>,
    /// With `needs_yes` and `plan_changed`: the plan that was not carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Box<OperationResponse>>,
    #[serde(skip)]
    #[schema(ignore)]
    status: StatusCode,
}

impl ErrorResponse {
    /// A problem with the status of its code.
    pub(super) fn new(
        code: ErrorCode,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        ApiError::new(code, message, hint).into()
    }

    /// The plan that was not carried out, beside the reason.
    pub(super) fn with_outcome(mut self, outcome: OperationResponse) -> Self {
        self.outcome = Some(Box::new(outcome));
        self
    }

    /// More is asked for than can be done at once.
    pub(super) fn busy() -> Self {
        Self::new(ErrorCode::Busy, "too much is asked for at once", "try again in a moment")
    }
}

impl From<ApiError> for ErrorResponse {
    fn from(failure: ApiError) -> Self {
        let ApiError { code, message, hint } = failure;
        let status = code.known().map_or(StatusCode::INTERNAL_SERVER_ERROR, status_of);
        Self { code, message, hint, outcome: None, status }
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(self)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

/// Returns the status of a code; a code that is not listed is an internal error.
fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::BadJson
        | ErrorCode::BadQuery
        | ErrorCode::BadPath
        | ErrorCode::BadBody
        | ErrorCode::BadEventId
        | ErrorCode::BadKind
        | ErrorCode::SlowBody => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorCode::ForeignHost
        | ErrorCode::ForeignOrigin
        | ErrorCode::HumanOnly
        | ErrorCode::TooManyCodes
        | ErrorCode::WrongCode => StatusCode::FORBIDDEN,
        ErrorCode::NotFound
        | ErrorCode::UnknownAgent
        | ErrorCode::UnknownCall
        | ErrorCode::UnknownChange
        | ErrorCode::UnknownCheckpoint
        | ErrorCode::UnknownDialog
        | ErrorCode::UnknownEdit
        | ErrorCode::UnknownFile
        | ErrorCode::UnknownHunk
        | ErrorCode::UnknownMessage
        | ErrorCode::UnknownOperation
        | ErrorCode::UnknownPath
        | ErrorCode::UnknownProject
        | ErrorCode::UnknownRecord
        | ErrorCode::UnknownSession
        | ErrorCode::NotAProject
        | ErrorCode::NoCheckpoint
        | ErrorCode::NoCheckpoints
        | ErrorCode::NothingOnRecord => StatusCode::NOT_FOUND,
        ErrorCode::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::AmbiguousCheckpoint
        | ErrorCode::AmbiguousDialog
        | ErrorCode::Approved
        | ErrorCode::Decided
        | ErrorCode::Diverges
        | ErrorCode::Gone
        | ErrorCode::Locked
        | ErrorCode::Moved
        | ErrorCode::NoMessage
        | ErrorCode::NeedsDialog
        | ErrorCode::NeedsYes
        | ErrorCode::NotCaptured
        | ErrorCode::NothingHidden
        | ErrorCode::NothingInterrupted
        | ErrorCode::NothingToDo
        | ErrorCode::Partial
        | ErrorCode::PlanChanged
        | ErrorCode::ReadOnly
        | ErrorCode::Replaced
        | ErrorCode::Settings
        | ErrorCode::Summary
        | ErrorCode::SummarySettings
        | ErrorCode::Unfinished => StatusCode::CONFLICT,
        ErrorCode::BadValue
        | ErrorCode::Folder
        | ErrorCode::NoHunks
        | ErrorCode::NotAnAgents
        | ErrorCode::OutsideProject
        | ErrorCode::GitDirectory
        | ErrorCode::TooBroad
        | ErrorCode::UnreadableHistory => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::Busy | ErrorCode::NoSpace | ErrorCode::TooManyStreams => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
