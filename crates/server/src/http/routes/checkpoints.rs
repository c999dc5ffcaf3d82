//! States that can be restored, and the dialogs and rounds of approval that they belong to.

use axum::extract::State;
use axum::{Extension, Json};
use retake_service::documents::{
    CheckpointDocument, CheckpointList, DialogDocument, DialogList, WorkSessionList,
};
use retake_service::request::MakeCheckpoint;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{OptionalJsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, EVERYONE_SHOWING_CONTENT};
use super::{find_dialog, masking, page_size, unknown_dialog};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(checkpoints, make)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(checkpoint)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(sessions)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(dialogs)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(one_dialog)))
}

/// Which checkpoints.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CheckpointsQuery {
    /// Of this dialog.
    dialog: Option<String>,
    /// At most so many; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The states that can be restored, the newest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/checkpoints", tag = "checkpoints",
    params(("project" = String, Path, description = "The project's id."), CheckpointsQuery),
    responses((status = 200, description = "The checkpoints.", body = CheckpointList))
)]
async fn checkpoints(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<CheckpointsQuery>,
) -> Result<Json<CheckpointList>, ErrorResponse> {
    state
        .read(id, move |project| {
            let dialog = query.dialog.as_deref().map(|id| find_dialog(project, id)).transpose()?;
            let limit = page_size(query.limit, 100)?;
            let found = project.checkpoints(dialog.as_ref(), limit)?;
            Ok(Json(CheckpointList::new(&found, masking(project))))
        })
        .await
}

/// A checkpoint to be.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = NewCheckpoint)]
struct CheckpointBody {
    /// What it is called.
    message: Option<String>,
    /// The dialog that it belongs to; an agent's own one.
    dialog: Option<String>,
}

/// Makes a checkpoint of everything.
#[utoipa::path(
    post, path = "/api/projects/{project}/checkpoints", tag = "checkpoints",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = Option<CheckpointBody>,
    responses((status = 200, description = "The checkpoint.", body = CheckpointDocument))
)]
async fn make(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(new): OptionalJsonBody<CheckpointBody>,
) -> Result<Json<CheckpointDocument>, ErrorResponse> {
    if let Some(dialog) = &new.dialog {
        caller.check_speaks_for(&dialog.as_str().into())?;
    }
    state
        .with_project(id, move |handle| {
            let dialog = handle.read(|project| {
                new.dialog.as_deref().map(|id| find_dialog(project, id)).transpose()
            })?;
            let made = handle.run(MakeCheckpoint { message: new.message, dialog })?.checkpoint;
            Ok(Json(handle.read(|project| Ok(CheckpointDocument::new(&made, masking(project))))?))
        })
        .await
}

/// One checkpoint.
#[utoipa::path(
    get, path = "/api/projects/{project}/checkpoints/{checkpoint}", tag = "checkpoints",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("checkpoint" = String, Path, description = "Its id; four digits or more are enough."),
    ),
    responses((status = 200, description = "The checkpoint.", body = CheckpointDocument))
)]
async fn checkpoint(
    State(state): State<AppState>,
    PathParams((id, checkpoint)): PathParams<(String, String)>,
) -> Result<Json<CheckpointDocument>, ErrorResponse> {
    state
        .read(id, move |project| {
            Ok(Json(CheckpointDocument::new(
                &project.find_checkpoint(&checkpoint)?,
                masking(project),
            )))
        })
        .await
}

/// Whose rounds of approval.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SessionsQuery {
    /// The dialog.
    dialog: String,
}

/// The rounds of approval of a dialog, the oldest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/sessions", tag = "checkpoints",
    params(("project" = String, Path, description = "The project's id."), SessionsQuery),
    responses((status = 200, description = "The work sessions.", body = WorkSessionList))
)]
async fn sessions(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<SessionsQuery>,
) -> Result<Json<WorkSessionList>, ErrorResponse> {
    state
        .read(id, move |project| {
            let dialog = find_dialog(project, &query.dialog)?;
            let found = project.work_sessions(&dialog)?;
            Ok(Json(WorkSessionList::new(&dialog, &found, masking(project))))
        })
        .await
}

/// Every dialog with its agents, the latest activity first.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs", tag = "dialogs",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The dialogs.", body = DialogList))
)]
async fn dialogs(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
) -> Result<Json<DialogList>, ErrorResponse> {
    state.read(id, |project| Ok(Json(DialogList::read(project, masking(project))?))).await
}

/// One dialog with its agents.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
    ),
    responses((status = 200, description = "The dialog.", body = DialogDocument))
)]
async fn one_dialog(
    State(state): State<AppState>,
    PathParams((id, dialog)): PathParams<(String, String)>,
) -> Result<Json<DialogDocument>, ErrorResponse> {
    state
        .read(id, move |project| {
            let id = dialog.as_str().into();
            let found = project.dialog(&id)?.ok_or_else(|| unknown_dialog(&id))?;
            let agents = project.agents(&id)?;
            Ok(Json(DialogDocument::new(&found, &agents, masking(project))))
        })
        .await
}
