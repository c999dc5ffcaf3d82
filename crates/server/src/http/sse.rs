//! `GET /api/projects/{project}/events`: a project's events as they are recorded.
//!
//! `id:` is the place in the project's order. A client that was cut off sends the last one that it
//! has as `Last-Event-ID` and misses nothing; without one it gets what is recorded from now on.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State, rejection::QueryRejection};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_core::Stream;
use retake_engine::model::{AgentId, DialogId, ProjectPath};
use serde::Deserialize;

use crate::stream::{Filter, Follower, MOST_STREAMS, Outlet, Pace, Seat, Start, pump, queue};
use crate::{Failure, Hall, Room};

/// What streams need.
#[derive(Clone, Debug)]
struct Streams {
    hall: Arc<Hall>,
    pace: Pace,
}

/// The route of the event streams.
pub fn route(hall: Arc<Hall>, pace: Pace) -> Router {
    let streams = Streams { hall, pace };
    Router::new().route("/api/projects/{project}/events", get(events)).with_state(streams)
}

/// From where on, and what, a client follows.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// Events after this place; `now`, as if it is absent: what is recorded from now on. The header
    /// `Last-Event-ID` goes before it.
    after: Option<String>,
    /// Only events of this dialog.
    dialog: Option<DialogId>,
    /// Only events of this agent.
    agent: Option<AgentId>,
    /// Only events with these names, separated by commas.
    kinds: Option<String>,
    /// Only events about this file, or about files in this folder.
    path: Option<String>,
    /// Also tell each change of a file as `file:changed` and `file_edit`.
    #[serde(default)]
    compat: bool,
}

/// Follows a project's events.
async fn events(
    State(streams): State<Streams>,
    Path(project): Path<String>,
    follow: Result<Query<Follow>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let opened = tokio::task::spawn_blocking(move || {
        let Query(follow) = follow.map_err(|error| bad("bad_query", error.body_text()))?;
        let start = follow.start(&headers)?;
        let filter = follow.filter()?;
        let room = streams.hall.room(&project)?;
        open(&room, start, filter, follow.compat, streams.pace)
    });
    let opened = opened.await.unwrap_or_else(|error| {
        Err(Failure::new("internal", format!("the stream was not opened: {error}"), "try again"))
    });
    match opened {
        Ok(outlet) => stream(outlet),
        Err(failure) => refuse(&failure),
    }
}

impl Follow {
    fn start(&self, headers: &HeaderMap) -> Result<Start, Failure> {
        let last = headers.get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()));
        let text = last.as_deref().or(self.after.as_deref());
        match text {
            None | Some("now" | "") => Ok(Start::Now),
            Some(id) if id.bytes().all(|byte| byte.is_ascii_digit()) => {
                id.parse().map(Start::After).map_err(|_| bad_id(id))
            }
            Some(id) => Err(bad_id(id)),
        }
    }

    fn filter(&self) -> Result<Filter, Failure> {
        let names = self.kinds.as_deref().map(Filter::names).transpose()?;
        let path = self.path.as_deref().map(|path| path.trim_end_matches('/'));
        let path = path.filter(|path| !path.is_empty()).map(ProjectPath::new).transpose();
        let path = path.map_err(|error| bad("bad_path", error.to_string()))?;
        Ok(Filter { dialog: self.dialog.clone(), agent: self.agent.clone(), names, path })
    }
}

fn bad_id(id: &str) -> Failure {
    let message = format!("'{id}' is no event id");
    Failure::new("bad_event_id", message, "send the last `id:` that you have, or none")
}

fn bad(code: &'static str, message: String) -> Failure {
    Failure::new(code, message, "see /docs")
}

/// Starts the thread that follows; it ends with the connection.
fn open(
    room: &Arc<Room>,
    start: Start,
    filter: Filter,
    compat: bool,
    pace: Pace,
) -> Result<Outlet, Failure> {
    let busy = |message: String| Failure::new("too_many_streams", message, "close one, or wait");
    let seat: Seat = room.seats().take().ok_or_else(|| {
        busy(format!("{MOST_STREAMS} streams follow {} already", room.root().display()))
    })?;
    let follower = Follower::new(Arc::clone(room), start, filter, compat)?;
    let (inlet, outlet) = queue(pace.patience);
    let follow = move || {
        let _seat = seat;
        pump(follower, &inlet, pace);
    };
    let started = thread::Builder::new().name("events".to_owned()).spawn(follow);
    started.map_err(|error| busy(format!("no thread for a stream: {error}")))?;
    Ok(outlet)
}

fn stream(outlet: Outlet) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // For proxies that would wait for more.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(Frames(outlet))).into_response()
}

struct Frames(Outlet);

impl Stream for Frames {
    type Item = Result<String, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_frame(context).map(|frame| frame.map(Ok))
    }
}

fn refuse(failure: &Failure) -> Response {
    let status = match failure.code.as_ref() {
        "bad_event_id" | "bad_kind" | "bad_path" | "bad_query" => StatusCode::BAD_REQUEST,
        "unknown_project" => StatusCode::NOT_FOUND,
        "too_many_streams" => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let body = serde_json::to_string(failure).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
