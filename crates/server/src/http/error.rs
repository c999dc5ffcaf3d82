//! Error responses: one shape, and an HTTP status for each code.

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use retake_engine::model::ErrorCode;
use retake_service::documents::ReviewFilesDocument;
use retake_service::{ApiError, ApiErrorCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::guard::add_security_headers;
use super::routes::OperationResponse;

/// Seconds after which a client that was told to come back does so.
const RETRY_AFTER_SECONDS: u16 = 1;

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
    /// With `stale_hunk` and `needs_digest`: the hunks of the files concerned as they are now. A file
    /// that was named and is not among them has none, unless there are `more`.
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<Box<ReviewFilesDocument>>,
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

    /// The hunks as they are now, beside the reason.
    pub(super) fn with_review(mut self, review: ReviewFilesDocument) -> Self {
        self.review = Some(Box::new(review));
        self
    }

    /// Returns true if hunks were named that are others now.
    pub(super) fn is_stale(&self) -> bool {
        self.code == ErrorCode::StaleHunk || self.code == ErrorCode::NeedsDigest
    }

    /// The failure of a body that is being sent: the connection is cut.
    pub(super) fn into_io_error(self) -> std::io::Error {
        std::io::Error::other(self.message)
    }

    /// More is asked for than can be done at once.
    pub(super) fn busy() -> Self {
        Self::new(ErrorCode::Busy, "too much is asked for at once", "try again in a moment")
    }

    /// A caller has too many connections, or an unknown client makes room for another one.
    pub(super) fn busy_connections() -> Self {
        let hint = "close some, or try again in a moment";
        Self::new(ErrorCode::Busy, "too many connections are open", hint)
    }

    /// A caller has too many requests in flight.
    pub(super) fn busy_requests() -> Self {
        let hint = "wait for answers before you ask for more";
        Self::new(ErrorCode::Busy, "too many requests with this token are in flight", hint)
    }

    /// A connection on which no request with a token came in time.
    pub(super) fn slow_request() -> Self {
        Self::new(
            ErrorCode::SlowRequest,
            "no request with a valid token came in time",
            "connect again, and send the request at once",
        )
    }

    /// The bytes of the answer, for a connection whose request was not read.
    pub(super) fn as_http(&self) -> Vec<u8> {
        let body = serde_json::to_string(self).unwrap_or_default();
        let reason = self.status.canonical_reason().unwrap_or_default();
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", self.status.as_u16());
        let mut headers = HeaderMap::new();
        add_security_headers(&mut headers);
        self.add_headers(&mut headers);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        for (name, value) in &headers {
            head.extend([name.as_str(), ": ", value.to_str().unwrap_or_default(), "\r\n"]);
        }
        format!("{head}\r\n{body}").into_bytes()
    }

    /// Adds the headers that belong to the status.
    fn add_headers(&self, headers: &mut HeaderMap) {
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        }
    }
}

impl From<ApiError> for ErrorResponse {
    fn from(failure: ApiError) -> Self {
        let ApiError { code, message, hint } = failure;
        let status = code.known().map_or(StatusCode::INTERNAL_SERVER_ERROR, status_of);
        Self { code, message, hint, outcome: None, review: None, status }
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let mut headers = HeaderMap::new();
        self.add_headers(&mut headers);
        (self.status, headers, Json(self)).into_response()
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
        | ErrorCode::OtherDialog
        | ErrorCode::OtherProject
        | ErrorCode::TooManyCodes
        | ErrorCode::Secret
        | ErrorCode::UnboundToken
        | ErrorCode::WrongCode => StatusCode::FORBIDDEN,
        ErrorCode::NotFound
        | ErrorCode::DidNotExist
        | ErrorCode::UnknownAgent
        | ErrorCode::UnknownCall
        | ErrorCode::UnknownTurn
        | ErrorCode::UnknownChange
        | ErrorCode::UnknownCheckpoint
        | ErrorCode::UnknownComment
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
        | ErrorCode::UnknownToken
        | ErrorCode::NotAProject
        | ErrorCode::NoCheckpoint
        | ErrorCode::NoCheckpoints
        | ErrorCode::NothingOnRecord => StatusCode::NOT_FOUND,
        ErrorCode::SlowRequest => StatusCode::REQUEST_TIMEOUT,
        ErrorCode::BadRange => StatusCode::RANGE_NOT_SATISFIABLE,
        ErrorCode::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::AmbiguousCheckpoint
        | ErrorCode::AmbiguousDialog
        | ErrorCode::Approved
        | ErrorCode::Cancelled
        | ErrorCode::CommentState
        | ErrorCode::Decided
        | ErrorCode::Diverges
        | ErrorCode::Gone
        | ErrorCode::Locked
        | ErrorCode::Moved
        | ErrorCode::NoMessage
        | ErrorCode::NeedsDialog
        | ErrorCode::NeedsDigest
        | ErrorCode::NeedsYes
        | ErrorCode::NotCaptured
        | ErrorCode::NotEmpty
        | ErrorCode::NotQueued
        | ErrorCode::NotRunning
        | ErrorCode::NothingHidden
        | ErrorCode::NothingInterrupted
        | ErrorCode::NothingToDo
        | ErrorCode::Partial
        | ErrorCode::PlanChanged
        | ErrorCode::Purged
        | ErrorCode::ReadOnly
        | ErrorCode::Replaced
        | ErrorCode::Settings
        | ErrorCode::StaleCursor
        | ErrorCode::StaleHunk
        | ErrorCode::Summary
        | ErrorCode::SummarySettings
        | ErrorCode::TooManyTokens
        | ErrorCode::TooLate
        | ErrorCode::Unfinished => StatusCode::CONFLICT,
        ErrorCode::BadValue
        | ErrorCode::Folder
        | ErrorCode::InProject
        | ErrorCode::NoHunks
        | ErrorCode::NotAnAgents
        | ErrorCode::OutsideProject
        | ErrorCode::GitDirectory
        | ErrorCode::TooBroad
        | ErrorCode::UnknownLines
        | ErrorCode::UnreadableHistory => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::Busy | ErrorCode::NoSpace | ErrorCode::TooManyStreams => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
