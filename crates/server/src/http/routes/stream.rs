//! A project's events, as they are recorded.
//!
//! `id:` is the place in the project's order. A client that was cut off sends the last one that it
//! has as `Last-Event-ID` and misses nothing; without one it gets what is recorded from now on.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use retake_engine::model::{AgentId, DialogId, ErrorCode, ProjectPath};
use retake_service::ApiError;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{PathParams, QueryParams};
use super::super::route_policy::EVERYONE;
use crate::stream::{
    EventFollower, FrameReceiver, MAX_STREAMS, StreamFilter, StreamPermit, StreamStart,
    StreamTiming, frame_queue, pump,
};
use crate::{BusyGuard, ProjectHandle};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(EVERYONE.guard_route(routes!(follow)))
}

/// From where on, and what, a client follows.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct FollowQuery {
    /// Events after this place; `now`, as if it is absent: what is recorded from now on. The header
    /// `Last-Event-ID` goes before it.
    #[param(pattern = "^([0-9]{1,18}|now)$")]
    after: Option<String>,
    /// Only events of this dialog.
    #[param(value_type = Option<String>)]
    dialog: Option<DialogId>,
    /// Only events of this agent.
    #[param(value_type = Option<String>)]
    agent: Option<AgentId>,
    /// Only events with these names, separated by commas.
    kinds: Option<String>,
    /// Only events about this file, or about files in this folder.
    path: Option<String>,
    /// Also tell each change of a file as `file:changed` and `file_edit`.
    #[serde(default)]
    compat: bool,
}

/// Follows a project's events, as server-sent events.
///
/// `id:` is the place in the project's order: whoever was cut off sends the last one as
/// `Last-Event-ID` and misses nothing. docs/events.md tells which events there are.
#[utoipa::path(
    get, path = "/api/projects/{project}/events", tag = "events",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("Last-Event-ID" = Option<String>, Header, description = "The last `id:` that was seen."),
        FollowQuery,
    ),
    responses((
        status = 200, description = "Events, until one side ends the connection.",
        content_type = "text/event-stream", body = String,
    ))
)]
async fn follow(
    State(state): State<AppState>,
    PathParams(project): PathParams<String>,
    QueryParams(follow): QueryParams<FollowQuery>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let (start, filter) = (follow.start(&headers)?, follow.filter()?);
    let timing = state.timing;
    let opened = state.run_blocking(move |pool| {
        let handle = pool.handle(&project)?;
        let busy = pool.idle().start_work().ok_or_else(ErrorResponse::busy)?;
        Ok(spawn_pump(
            &handle,
            EventFollower::new(Arc::clone(&handle), start, filter, follow.compat)?,
            timing,
            busy,
        )?)
    });
    Ok(stream_response(opened.await?))
}

impl FollowQuery {
    fn start(&self, headers: &HeaderMap) -> Result<StreamStart, ApiError> {
        let last = headers.get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()));
        let text = last.as_deref().or(self.after.as_deref());
        match text {
            None | Some("now" | "") => Ok(StreamStart::Now),
            Some(id) if id.bytes().all(|byte| byte.is_ascii_digit()) => {
                id.parse().map(StreamStart::After).map_err(|_| bad_event_id(id))
            }
            Some(id) => Err(bad_event_id(id)),
        }
    }

    fn filter(&self) -> Result<StreamFilter, ApiError> {
        let kinds = self.kinds.as_deref().map(StreamFilter::parse_kinds).transpose()?;
        let path = self.path.as_deref().map(|path| path.trim_end_matches('/'));
        let path = path.filter(|path| !path.is_empty()).map(ProjectPath::new).transpose();
        let path = path.map_err(|error| bad_request(ErrorCode::BadPath, error.to_string()))?;
        Ok(StreamFilter { dialog: self.dialog.clone(), agent: self.agent.clone(), kinds, path })
    }
}

fn bad_event_id(id: &str) -> ApiError {
    let message = format!("'{id}' is no event id");
    ApiError::new(ErrorCode::BadEventId, message, "send the last `id:` that you have, or none")
}

fn bad_request(code: ErrorCode, message: String) -> ApiError {
    ApiError::new(code, message, "docs/events.md says what is understood here")
}

/// Starts the thread that follows; it ends with the connection. Until then the daemon is busy.
fn spawn_pump(
    handle: &ProjectHandle,
    follower: EventFollower,
    timing: StreamTiming,
    busy: BusyGuard,
) -> Result<FrameReceiver, ApiError> {
    let full =
        |message: String| ApiError::new(ErrorCode::TooManyStreams, message, "close one, or wait");
    let seat: StreamPermit = handle.stream_limit().acquire().ok_or_else(|| {
        full(format!("{MAX_STREAMS} streams follow {} already", handle.root().display()))
    })?;
    let (sender, receiver) = frame_queue(timing.read_timeout);
    let follow = move || {
        let _both = (seat, busy);
        pump(follower, &sender, timing);
    };
    let started = thread::Builder::new().name("events".to_owned()).spawn(follow);
    started.map_err(|error| full(format!("no thread for a stream: {error}")))?;
    Ok(receiver)
}

fn stream_response(receiver: FrameReceiver) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // For proxies that would wait for more.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(FrameStream(receiver))).into_response()
}

struct FrameStream(FrameReceiver);

impl Stream for FrameStream {
    type Item = Result<String, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_frame(context).map(|frame| frame.map(Ok))
    }
}
