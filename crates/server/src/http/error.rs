//! Error responses: one shape, and an HTTP status for each code.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use retake_service::ApiError;
use serde::Serialize;
use utoipa::ToSchema;

use super::routes::OperationResponse;

/// A failure with what there is beside it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ErrorResponse {
    /// A stable name for programs.
    #[schema(value_type = String, example = "unknown_change")]
    code: std::borrow::Cow<'static, str>,
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
        code: &'static str,
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
        Self::new("busy", "too much is asked for at once", "try again in a moment")
    }
}

impl From<ApiError> for ErrorResponse {
    fn from(failure: ApiError) -> Self {
        let ApiError { code, message, hint } = failure;
        let status = status_of(&code);
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
fn status_of(code: &str) -> StatusCode {
    match code {
        "bad_json" | "bad_query" | "bad_path" | "bad_body" | "bad_event_id" | "bad_kind"
        | "slow_body" => StatusCode::BAD_REQUEST,
        "unauthorized" => StatusCode::UNAUTHORIZED,
        "foreign_host" | "foreign_origin" | "human_only" | "too_many_codes" | "wrong_code" => {
            StatusCode::FORBIDDEN
        }
        "not_found" | "not_a_project" | "no_checkpoint" | "no_checkpoints"
        | "nothing_on_record" => StatusCode::NOT_FOUND,
        "wrong_method" => StatusCode::METHOD_NOT_ALLOWED,
        "too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        "ambiguous_checkpoint"
        | "ambiguous_dialog"
        | "approved"
        | "decided"
        | "diverges"
        | "gone"
        | "locked"
        | "moved"
        | "no_message"
        | "needs_dialog"
        | "needs_yes"
        | "not_captured"
        | "nothing_hidden"
        | "nothing_interrupted"
        | "nothing_to_do"
        | "partial"
        | "plan_changed"
        | "read_only"
        | "replaced"
        | "settings"
        | "summary"
        | "summary_settings"
        | "unfinished" => StatusCode::CONFLICT,
        "bad_value" | "folder" | "no_hunks" | "not_an_agents" | "outside_project"
        | "git_directory" | "too_broad" | "unreadable_history" => StatusCode::UNPROCESSABLE_ENTITY,
        "busy" | "no_space" | "too_many_streams" => StatusCode::SERVICE_UNAVAILABLE,
        code if code.starts_with("unknown_") => StatusCode::NOT_FOUND,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
