//! Recording what happens, for agents that speak HTTP instead of hooks.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use retake_engine::model::Event;
use retake_engine::{EventRelay, ReplySupport};
use retake_service::ApiError;
use retake_service::documents::EventReply;
use retake_service::request::{RecordEvents, Submission};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{BodyLimit, JsonBody, PathParams};
use super::super::route_policy::{EVERYONE, RoutePolicy};
use super::super::token::Secret;
use crate::projects::ProjectPool;

/// Maximum bytes of a body of events: they carry a tool's input, not its output.
const MAX_EVENTS_BYTES: usize = 16 * 1024 * 1024;

pub(super) fn router() -> OpenApiRouter<AppState> {
    let large = RoutePolicy { limit: BodyLimit(MAX_EVENTS_BYTES), ..EVERYONE };
    OpenApiRouter::new().routes(large.guard_route(routes!(record)))
}

/// Events to be recorded.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEvents)]
struct EventsBody {
    /// In the order in which they happened; see docs/event.schema.json.
    #[schema(value_type = Vec<Object>)]
    events: Vec<Event>,
    /// What this request is known by: sent again with the same key, it counts once.
    key: Option<String>,
    /// What the sender does with `stale` in the answer: `nothing`, `notes` (tells its model what it
    /// says), or `denials` (also does not run a call that is denied).
    #[serde(default, alias = "hears")]
    #[schema(schema_with = reply_support_schema)]
    reply_support: ReplySupport,
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
#[utoipa::path(
    post, path = "/api/projects/{project}/events", tag = "events",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = EventsBody,
    responses((status = 200, description = "What came of each event.", body = RecordedEvents))
)]
async fn record(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(new): JsonBody<EventsBody>,
) -> Result<Json<RecordedEvents>, ErrorResponse> {
    let key = match new.key {
        Some(key) => format!("http.{key}"),
        None => Secret::new::<16>()?.text().to_owned(),
    };
    let pool = Arc::clone(&state.projects);
    let at = pool.now();
    state
        .with_project(id, move |handle| {
            let submission = |(number, event)| {
                let key = format!("{key}.{number}");
                Submission::new(key, event, at).with_reply_support(new.reply_support)
            };
            let submissions: Vec<_> = new.events.into_iter().enumerate().map(submission).collect();
            let done = handle.run(RecordEvents { submissions: submissions.clone() })?;
            for (submission, recorded) in submissions.iter().zip(&done) {
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
