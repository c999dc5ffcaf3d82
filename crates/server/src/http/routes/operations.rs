//! The steps of undo and redo, and long verbs while they run: how far they are, and cancelling
//! them. The person cancels.

use axum::Json;
use axum::extract::State;
use retake_engine::StepPage;
use retake_service::documents::{RunningList, RunningOperation, StepList};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, HUMANS};
use super::{check_seq, masking, page_size};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(steps)))
        .routes(EVERYONE.guard_route(routes!(running)))
        .routes(HUMANS.guard_route(routes!(cancel)))
}

/// Which steps.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StepsQuery {
    /// Only steps before this place: `next` of the page before.
    before: Option<u64>,
    /// At most so many of undo, and of redo; 50 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The steps that undo and redo go through, newest first.
///
/// The one whose `state` is `next` is what `undo` or `redo` would do now, as far as the files are
/// as they were last seen.
#[utoipa::path(
    get, path = "/api/projects/{project}/steps", tag = "review",
    params(("project" = String, Path, description = "The project's id."), StepsQuery),
    responses((status = 200, description = "The steps.", body = StepList))
)]
async fn steps(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<StepsQuery>,
) -> Result<Json<StepList>, ErrorResponse> {
    state
        .read(id, move |project| {
            let limit = page_size(query.limit, 50)?;
            let before = query.before.map(check_seq).transpose()?;
            let steps = project.steps(StepPage { before, limit })?;
            Ok(Json(StepList::new(&steps, masking(project))))
        })
        .await
}

/// The long verbs that run or wait, the oldest first.
///
/// The event stream tells how far they are as `operation_progress`.
#[utoipa::path(
    get, path = "/api/projects/{project}/operations/running", tag = "review",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The verbs.", body = RunningList))
)]
async fn running(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
) -> Result<Json<RunningList>, ErrorResponse> {
    let listed = move |handle: &crate::ProjectHandle| {
        Ok(Json(RunningList { running: handle.running_operations() }))
    };
    state.with_project(id, listed).await
}

/// Cancels a long verb that has not begun to write files.
///
/// Nothing of it is done then, and its own request is answered with 409 `cancelled`; `gc` ends
/// after what it is removing. Once files are written (409 `too_late`) it is finished, and undo
/// takes it back.
#[utoipa::path(
    post, path = "/api/projects/{project}/operations/{operation}/cancel", tag = "review",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("operation" = String, Path,
            description = "The operation, or the name of the run (`r3`) before it has one."),
    ),
    responses((status = 200, description = "What is cancelled.", body = RunningOperation))
)]
async fn cancel(
    State(state): State<AppState>,
    PathParams((id, operation)): PathParams<(String, String)>,
) -> Result<Json<RunningOperation>, ErrorResponse> {
    state.with_project(id, move |handle| Ok(Json(handle.cancel_operation(&operation)?))).await
}
