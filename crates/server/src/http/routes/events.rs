//! Recording what happens, for agents that speak HTTP instead of hooks.
//!
//! Invariant: an agent records events of the dialog that its token is bound to, and of no other
//! one; if one event of a request is of another dialog, none is recorded.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use retake_engine::model::Event;
use retake_engine::{EventRelay, ReplySupport};
use retake_service::ApiError;
use retake_service::documents::EventReply;
use retake_service::request::Submission;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{BodyLimit, JsonBody, PathParams};
use super::super::route_policy::{OWN_DIALOG, RoutePolicy};
use super::super::token::Secret;
use crate::projects::ProjectPool;

/// Maximum bytes of a body of events: they carry a tool's input, not its output.
const MAX_EVENTS_BYTES: usize = 16 * 1024 * 1024;

pub(super) fn router() -> OpenApiRouter<AppState> {
    let large = RoutePolicy { limit: BodyLimit(MAX_EVENTS_BYTES), ..OWN_DIALOG };
    OpenApiRouter::new().routes(large.guard_route(routes!(record)))
}

/// Events to be recorded.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEvents)]
struct EventsBody {
    /// In the order in which they happened; see docs/event.schema.json.
    #[schema(value_type = Vec<Object>)]
    #[serde(deserialize_with = "deserialize_events")]
    events: Vec<Event>,
    /// What this request is known by: sent again with the same key, it counts once.
    key: Option<String>,
    /// What the sender does with `stale` in the answer: `nothing`, `notes` (tells its model what it
    /// says), or `denials` (also does not run a call that is denied).
    #[serde(default, alias = "hears")]
    #[schema(schema_with = reply_support_schema)]
    reply_support: ReplySupport,
}

/// Deserializes events by the names of their kinds; serde would also take numbers for them.
fn deserialize_events<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Event>, D::Error> {
    let read = |event: Value| {
        if event.get("event").is_some_and(|kind| !kind.is_string()) {
            return Err(D::Error::custom("`event` is no name"));
        }
        serde_json::from_value(event).map_err(D::Error::custom)
    };
    Vec::<Value>::deserialize(input)?.into_iter().map(read).collect()
}

fn reply_support_schema() -> Object {
    let names = ["nothing", "notes", "denials"];
    let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
    word.default(Some("notes".into())).build()
}

/// What came of events.
#[derive(Debug, Serialize, ToSchema)]
struct RecordedEvents {
    /// For each event, in the same order.
    replies: Vec<EventReply>,
}

/// Records events, in order.
///
/// An event that cannot be recorded is answered with `ok: false`; the others are recorded. Send
/// the begin of a call before the tool runs, and wait for the answer: then what it may destroy
/// is safe, and the agent can be told what changed since it looked (`stale`).
///
/// An agent sends events of one dialog: the first one, of a dialog that is not on record, binds
/// its token to it.
#[utoipa::path(
    post, path = "/api/projects/{project}/events", tag = "events",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = EventsBody,
    responses((status = 200, description = "The outcome of each event.", body = RecordedEvents))
)]
async fn record(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(new): JsonBody<EventsBody>,
) -> Result<Json<RecordedEvents>, ErrorResponse> {
    let key = match new.key {
        // Each sender counts by itself: another one's key says nothing about this event.
        Some(key) => format!("http.{}.{key}", caller.account().key()),
        None => Secret::new::<16>()?.text().to_owned(),
    };
    let (pool, access) = (Arc::clone(&state.projects), Arc::clone(&state.access));
    let at = pool.now();
    state
        .with_project(id, move |handle| {
            let dialogs = new.events.iter().map(|event| &event.dialog);
            access.bind_dialogs(&pool, &caller, dialogs)?;
            let said_by = caller.as_caller();
            let submission = |(number, event)| {
                let key = format!("{key}.{number}");
                Submission::new(key, event, at)
                    .with_reply_support(new.reply_support)
                    .said_by(said_by.clone())
            };
            let submissions: Vec<_> = new.events.into_iter().enumerate().map(submission).collect();
            let done = handle.record(submissions.clone())?;
            // What an agent's token says is recorded in its own project only.
            let relayed = if caller.only_project().is_none() { &submissions[..] } else { &[] };
            for (submission, recorded) in relayed.iter().zip(&done) {
                if let Some(relay) = recorded.as_ref().ok().and_then(|it| it.relay.as_ref()) {
                    relay_to_others(&pool, relay, submission);
                }
            }
            Ok(Json(RecordedEvents { replies: done.iter().map(event_reply).collect() }))
        })
        .await
}

/// Records an event in the other projects that it concerns. A project that fails does not stop
/// the others.
fn relay_to_others(pool: &ProjectPool, relay: &EventRelay, submission: &Submission) {
    for other in &relay.to {
        let recorded = pool.open(&other.root).and_then(|handle| {
            let recorded = handle.record(vec![relay.relayed_submission(submission)])?;
            handle.commits().notify();
            recorded.into_iter().collect::<Result<Vec<_>, _>>()
        });
        if let Err(failure) = recorded {
            tracing::warn!("not recorded in {}: {}", other.root.display(), failure.message);
        }
    }
}

/// An event that could not be recorded is answered like any other.
fn event_reply(done: &Result<retake_engine::RecordOutcome, ApiError>) -> EventReply {
    match done {
        Ok(recorded) => recorded.into(),
        Err(failure) => EventReply {
            ok: false,
            seq: None,
            changes: Vec::new(),
            checkpoint: None,
            warnings: Vec::new(),
            stale: None,
            error: Some(failure.clone()),
            line: None,
        },
    }
}
