//! The daemon itself and all projects at once: attention, health, and how it is stopped.

use axum::extract::State;
use axum::{Extension, Json};
use retake_service::documents::{AttentionDocument, HealthDocument};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{OptionalJsonBody, QueryParams};
use super::super::route_policy::{EVERYONE, HUMANS};
use super::page_size;

/// Projects in an answer, unless the client says otherwise.
const DEFAULT_PROJECTS: usize = 100;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(attention)))
        // An agent is told of no project, so it is harmless for each of them.
        .routes(EVERYONE.filtered().guard_route(routes!(health)))
        .routes(HUMANS.guard_route(routes!(stop)))
}

/// How many projects.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AttentionQuery {
    /// At most so many, those that were recorded to last; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// What asks for a person's attention, over all projects: open calls, unreviewed changes, stale
/// agents, conflicts, gaps, interrupted operations, and the size of each record.
///
/// Nothing is scanned. A project that cannot be read is listed with the reason.
#[utoipa::path(
    get, path = "/api/attention", tag = "projects", params(AttentionQuery),
    responses((status = 200, description = "The summary.", body = AttentionDocument))
)]
async fn attention(
    State(state): State<AppState>,
    QueryParams(query): QueryParams<AttentionQuery>,
) -> Result<Json<AttentionDocument>, ErrorResponse> {
    let limit = page_size(query.limit, DEFAULT_PROJECTS)?;
    state.run_blocking(move |pool| Ok(Json(pool.attention(limit)?))).await
}

/// How the daemon is: its version, how each project is watched and why not more, what waits, and
/// what failed last. An agent's token gets the counts alone.
#[utoipa::path(
    get, path = "/api/health", tag = "interface",
    responses((status = 200, description = "How it is.", body = HealthDocument))
)]
async fn health(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
) -> Result<Json<HealthDocument>, ErrorResponse> {
    let (url, note) = (state.names.url(), state.port_note.clone());
    state
        .run_blocking(move |pool| {
            let mut health = pool.health(Some(url))?;
            health.http_note = note;
            if !caller.is_person() {
                health.projects = None;
            }
            Ok(Json(health))
        })
        .await
}

/// Why the daemon is to end.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Stop)]
struct StopBody {
    /// For the daemon's log.
    because: Option<String>,
}

/// That the daemon is about to end.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Stopping)]
struct StoppingDocument {
    /// The process that ends.
    pid: u32,
}

/// Ends the daemon, once the requests under way are answered; commands do their work without it.
#[utoipa::path(
    post, path = "/api/stop", tag = "interface", request_body = Option<StopBody>,
    responses((status = 200, description = "It is about to end.", body = StoppingDocument))
)]
async fn stop(
    State(state): State<AppState>,
    OptionalJsonBody(body): OptionalJsonBody<StopBody>,
) -> Json<StoppingDocument> {
    let because = body.because.as_deref().unwrap_or("it was asked to stop over HTTP");
    // The connection is finished before the process ends, so this answer arrives.
    state.projects.idle().request_shutdown(because);
    Json(StoppingDocument { pid: std::process::id() })
}
