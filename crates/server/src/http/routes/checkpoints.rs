//! States that can be restored, and the dialogs and rounds of approval that they belong to.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::Desk;
use super::super::error::Problem;
use super::super::input::{Asked, Named, OptionalBody};
use super::super::operation::EVERYONE;
use super::{dialog, limit, masking, unknown_dialog};
use crate::documents::{Checkpoint, Checkpoints, Dialog, Dialogs, WorkSessions};
use crate::door::MakeCheckpoint;

pub(super) fn router() -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .routes(EVERYONE.keep(routes!(checkpoints, make)))
        .routes(EVERYONE.keep(routes!(checkpoint)))
        .routes(EVERYONE.keep(routes!(sessions)))
        .routes(EVERYONE.keep(routes!(dialogs)))
        .routes(EVERYONE.keep(routes!(one_dialog)))
}

/// Which checkpoints.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CheckpointsAsked {
    /// Of this dialog.
    dialog: Option<String>,
    /// At most so many; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The states that can be restored, the newest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/checkpoints", tag = "checkpoints",
    params(("project" = String, Path, description = "The project's id."), CheckpointsAsked),
    responses((status = 200, description = "The checkpoints.", body = Checkpoints))
)]
async fn checkpoints(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    Asked(asked): Asked<CheckpointsAsked>,
) -> Result<Json<Checkpoints>, Problem> {
    desk.read(id, move |project| {
        let dialog = asked.dialog.as_deref().map(|id| dialog(project, id)).transpose()?;
        let limit = limit(asked.limit, 100)?;
        let found = project.checkpoints(dialog.as_ref(), limit)?;
        Ok(Json(Checkpoints::new(&found, masking(project))))
    })
    .await
}

/// A checkpoint to be.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct NewCheckpoint {
    /// What it is called.
    message: Option<String>,
    /// The dialog that it belongs to.
    dialog: Option<String>,
}

/// Makes a checkpoint of everything.
#[utoipa::path(
    post, path = "/api/projects/{project}/checkpoints", tag = "checkpoints",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = Option<NewCheckpoint>,
    responses((status = 200, description = "The checkpoint.", body = Checkpoint))
)]
async fn make(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    OptionalBody(new): OptionalBody<NewCheckpoint>,
) -> Result<Json<Checkpoint>, Problem> {
    desk.enter(id, move |room| {
        let dialog =
            room.read(|project| new.dialog.as_deref().map(|id| dialog(project, id)).transpose())?;
        let made = room.ask(MakeCheckpoint { message: new.message, dialog })?.checkpoint;
        Ok(Json(room.read(|project| Ok(Checkpoint::new(&made, masking(project))))?))
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
    responses((status = 200, description = "The checkpoint.", body = Checkpoint))
)]
async fn checkpoint(
    State(desk): State<Desk>,
    Named((id, checkpoint)): Named<(String, String)>,
) -> Result<Json<Checkpoint>, Problem> {
    desk.read(id, move |project| {
        Ok(Json(Checkpoint::new(&project.find_checkpoint(&checkpoint)?, masking(project))))
    })
    .await
}

/// Whose rounds of approval.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SessionsAsked {
    /// The dialog.
    dialog: String,
}

/// The rounds of approval of a dialog, the oldest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/sessions", tag = "checkpoints",
    params(("project" = String, Path, description = "The project's id."), SessionsAsked),
    responses((status = 200, description = "The work sessions.", body = WorkSessions))
)]
async fn sessions(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    Asked(asked): Asked<SessionsAsked>,
) -> Result<Json<WorkSessions>, Problem> {
    desk.read(id, move |project| {
        let dialog = dialog(project, &asked.dialog)?;
        let found = project.store().work_sessions(&dialog)?;
        Ok(Json(WorkSessions::new(&dialog, &found, masking(project))))
    })
    .await
}

/// Every dialog with its agents, the latest activity first.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs", tag = "dialogs",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The dialogs.", body = Dialogs))
)]
async fn dialogs(
    State(desk): State<Desk>,
    Named(id): Named<String>,
) -> Result<Json<Dialogs>, Problem> {
    desk.read(id, |project| Ok(Json(Dialogs::read(project, masking(project))?))).await
}

/// One dialog with its agents.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
    ),
    responses((status = 200, description = "The dialog.", body = Dialog))
)]
async fn one_dialog(
    State(desk): State<Desk>,
    Named((id, dialog)): Named<(String, String)>,
) -> Result<Json<Dialog>, Problem> {
    desk.read(id, move |project| {
        let id = dialog.as_str().into();
        let found = project.dialog(&id)?.ok_or_else(|| unknown_dialog(&id))?;
        let agents = project.store().agents(&id)?;
        Ok(Json(Dialog::new(&found, &agents, masking(project))))
    })
    .await
}
