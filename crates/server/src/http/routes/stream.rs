//! Events as they are recorded: of one project, or of all in one stream.
//!
//! `id:` is the place in the project's order, or a place in each of several. A client that was cut
//! off sends the last one that it has as `Last-Event-ID` and misses nothing; without one it gets what
//! is recorded from now on.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use retake_engine::KnownProject;
use retake_engine::model::{AgentId, DialogId, ErrorCode, ProjectPath};
use retake_service::ApiError;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{PathParams, QueryParams};
use super::super::route_policy::EVERYONE;
use crate::stream::{
    EventFollower, FrameReceiver, MAX_FOLLOWED_PROJECTS, MAX_STREAMS, ProjectFeed,
    ProjectPredicate, SeveralFeed, SeveralStart, StreamChoice, StreamFilter, StreamPermit,
    StreamStart, frame_queue, pump,
};
use crate::{BusyGuard, ProjectPool};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(follow)))
        .routes(EVERYONE.filtered().guard_route(routes!(follow_several)))
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
    /// Also tell all hints, which are not on record and have no `id:`: `operation_progress`, too.
    #[serde(default)]
    hints: bool,
    /// Also under the names of older designs: fields, and `file:changed` and `file_edit` for each
    /// change of a file.
    #[serde(default)]
    compat: bool,
}

/// From where on, and what, a client follows of several projects.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct FollowSeveralQuery {
    /// Only these projects, separated by commas; they are opened and watched. Else all of them.
    projects: Option<String>,
    /// Events after this `id:`; `0`, all there are; `now`, as if it is absent: what is recorded from
    /// now on. The header `Last-Event-ID` goes before it.
    after: Option<String>,
    /// Only events of this dialog.
    #[param(value_type = Option<String>)]
    dialog: Option<DialogId>,
    /// Only events of this agent.
    #[param(value_type = Option<String>)]
    agent: Option<AgentId>,
    /// Only events with these names, separated by commas.
    kinds: Option<String>,
    /// Only events about this file, or about files in this folder, in any project.
    path: Option<String>,
    /// Also tell all hints, which are not on record and have no `id:`: `operation_progress`, too.
    #[serde(default)]
    hints: bool,
    /// Also under the names of older designs.
    #[serde(default)]
    compat: bool,
}

/// Follows a project's events, as server-sent events.
///
/// `id:` is the place in the project's order: a client that was cut off sends the last one as
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
    let after = start_text(&headers, follow.after.as_deref());
    let (start, choice) = (parse_start(after.as_deref())?, follow.choice()?);
    let timing = state.timing;
    let opened = state.run_blocking(move |pool| {
        let handle = pool.handle(&project)?;
        handle.start_watching();
        let permit = handle.stream_limit().acquire().ok_or_else(|| {
            too_many(format!("{MAX_STREAMS} streams follow {} already", handle.root().display()))
        })?;
        let known = KnownProject {
            id: handle.id().to_owned(),
            root: handle.root(),
            presence: pool.locate(&project)?.presence(),
            created_at: pool.now(),
        };
        let (sender, receiver) = frame_queue(timing.read_timeout);
        let subscription = pool.streams().subscribe(sender.waker(), false);
        subscription.follow(BTreeSet::from([known.id.clone()]));
        let filter = Arc::clone(&choice.filter);
        let follower = EventFollower::new(pool.retake().clone(), known, start, choice);
        let feed = ProjectFeed::start(follower, filter)?;
        spawn_stream(pool, permit, move || pump(feed, &sender, &subscription))?;
        Ok(receiver)
    });
    Ok(stream_response(opened.await?))
}

/// Follows the events of all projects, as server-sent events.
///
/// `id:` holds a place for each project, and is opaque. Every event names its project. Projects that
/// come and go are told as `project_added` and `project_removed`. docs/events.md tells which events
/// there are.
#[utoipa::path(
    get, path = "/api/events", tag = "events",
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "The last `id:` that was seen."),
        FollowSeveralQuery,
    ),
    responses((
        status = 200, description = "Events, until one side ends the connection.",
        content_type = "text/event-stream", body = String,
    ))
)]
async fn follow_several(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    QueryParams(follow): QueryParams<FollowSeveralQuery>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let after = start_text(&headers, follow.after.as_deref());
    let (start, choice) = (parse_several_start(after.as_deref())?, follow.choice()?);
    let named = follow.named_projects()?;
    let timing = state.timing;
    let opened = state.run_blocking(move |pool| {
        let limit = pool.streams().common_limit();
        let permit = limit.acquire().ok_or_else(|| {
            too_many(format!("{MAX_STREAMS} streams follow several projects already"))
        })?;
        for project in named.iter().flatten() {
            caller.check_project(project)?;
            pool.handle(project)?.start_watching();
        }
        let (sender, receiver) = frame_queue(timing.read_timeout);
        let subscription = pool.streams().subscribe(sender.waker(), named.is_none());
        let is_wanted = wanted_projects(caller, named);
        let retake = pool.retake().clone();
        let feed = SeveralFeed::start(retake, &start, choice, is_wanted, &subscription)?;
        spawn_stream(pool, permit, move || pump(feed, &sender, &subscription))?;
        Ok(receiver)
    });
    Ok(stream_response(opened.await?))
}

/// The projects of a stream: those that are named, as far as the caller may reach them.
fn wanted_projects(caller: HttpCaller, named: Option<BTreeSet<String>>) -> ProjectPredicate {
    Box::new(move |project| {
        let is_named = named.as_ref().is_none_or(|named| named.contains(project));
        is_named && caller.may_reach(project)
    })
}

impl FollowQuery {
    fn choice(&self) -> Result<StreamChoice, ApiError> {
        let (kinds, path) = (self.kinds.as_deref(), self.path.as_deref());
        let filter = StreamFilter {
            dialog: self.dialog.clone(),
            agent: self.agent.clone(),
            kinds: kinds.map(StreamFilter::parse_kinds).transpose()?,
            hints: self.hints,
            path: path.map(parse_filter_path).transpose()?.flatten(),
        };
        Ok(StreamChoice { filter: Arc::new(filter), compat: self.compat })
    }
}

impl FollowSeveralQuery {
    fn choice(&self) -> Result<StreamChoice, ApiError> {
        let one = FollowQuery {
            after: None,
            dialog: self.dialog.clone(),
            agent: self.agent.clone(),
            kinds: self.kinds.clone(),
            path: self.path.clone(),
            hints: self.hints,
            compat: self.compat,
        };
        one.choice()
    }

    /// The projects that are named; none if all are wanted.
    fn named_projects(&self) -> Result<Option<BTreeSet<String>>, ApiError> {
        let Some(list) = &self.projects else { return Ok(None) };
        let named: BTreeSet<_> = list.split(',').map(|id| id.trim().to_owned()).collect();
        if named.len() > MAX_FOLLOWED_PROJECTS {
            let message =
                format!("{} projects are named, not 1 to {MAX_FOLLOWED_PROJECTS}", named.len());
            return Err(ApiError::new(ErrorCode::BadValue, message, "open several streams"));
        }
        Ok(Some(named))
    }
}

/// What a client says about where it was: the header goes before the query.
fn start_text(headers: &HeaderMap, after: Option<&str>) -> Option<String> {
    let last = headers.get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()));
    last.as_deref().or(after).map(ToOwned::to_owned)
}

fn parse_start(text: Option<&str>) -> Result<StreamStart, ApiError> {
    match text {
        None | Some("now" | "") => Ok(StreamStart::Now),
        Some(id) if id.bytes().all(|byte| byte.is_ascii_digit()) => {
            id.parse().map(StreamStart::After).map_err(|_| bad_event_id(id))
        }
        Some(id) => Err(bad_event_id(id)),
    }
}

fn parse_several_start(text: Option<&str>) -> Result<SeveralStart, ApiError> {
    match text {
        None | Some("now" | "") => Ok(SeveralStart::Now),
        Some("0") => Ok(SeveralStart::Beginning),
        Some(id) => id.parse().map(SeveralStart::Cursor).map_err(|_| bad_event_id(id)),
    }
}

fn parse_filter_path(text: &str) -> Result<Option<ProjectPath>, ApiError> {
    let path = Some(text.trim_end_matches('/')).filter(|path| !path.is_empty());
    let path = path.map(ProjectPath::new).transpose();
    path.map_err(|error| bad_request(ErrorCode::BadPath, error.to_string()))
}

fn bad_event_id(id: &str) -> ApiError {
    let message = format!("'{id}' is no event id");
    ApiError::new(ErrorCode::BadEventId, message, "send the last `id:` that you have, or none")
}

fn bad_request(code: ErrorCode, message: String) -> ApiError {
    ApiError::new(code, message, "docs/events.md says what is understood here")
}

fn too_many(message: String) -> ApiError {
    ApiError::new(ErrorCode::TooManyStreams, message, "close one, or wait")
}

/// Starts the thread that follows; it ends with the connection. Until then the daemon is busy.
fn spawn_stream(
    pool: &ProjectPool,
    permit: StreamPermit,
    stream: impl FnOnce() + Send + 'static,
) -> Result<(), ErrorResponse> {
    let busy: BusyGuard = pool.idle().start_work().ok_or_else(ErrorResponse::busy)?;
    let follow = move || {
        let _both = (permit, busy);
        stream();
    };
    let started = thread::Builder::new().name("events".to_owned()).spawn(follow);
    started.map_err(|error| too_many(format!("no thread for a stream: {error}")))?;
    Ok(())
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
