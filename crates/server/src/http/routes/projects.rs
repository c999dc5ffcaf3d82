//! Projects, and where they stand.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use retake_engine::InitOptions;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::Desk;
use super::super::error::Problem;
use super::super::input::{Asked, Body, Named};
use super::super::operation::{EVERYONE, HUMANS};
use super::masking;
use crate::documents::{CheckUp, Project, Projects, Status};
use crate::door::{Look, LookThrough};
use crate::{Failure, Hall};

pub(super) fn router() -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .routes(EVERYONE.keep(routes!(projects)))
        .routes(HUMANS.keep(routes!(create)))
        .routes(EVERYONE.keep(routes!(project)))
        .routes(EVERYONE.keep(routes!(status)))
        .routes(EVERYONE.keep(routes!(doctor)))
}

/// Every project on record, whether its folder is there or not.
#[utoipa::path(
    get, path = "/api/projects", tag = "projects",
    responses((status = 200, description = "The projects.", body = Projects))
)]
async fn projects(State(desk): State<Desk>) -> Result<Json<Projects>, Problem> {
    desk.work(|hall| Ok(Json(Projects::from(hall.projects()?.as_slice())))).await
}

/// A folder that becomes a project.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewProject {
    /// The folder's absolute path.
    #[schema(value_type = String, example = "/home/me/project")]
    root: PathBuf,
}

/// Makes a folder a project, as `retake init` does; one that is a project already is looked at.
#[utoipa::path(
    post, path = "/api/projects", tag = "projects", request_body = NewProject,
    responses(
        (status = 200, description = "The project.", body = Project),
        (status = 409, description = "Another folder stands where a project was: `replaced`.",
            body = Problem),
    )
)]
async fn create(
    State(desk): State<Desk>,
    Body(new): Body<NewProject>,
) -> Result<Json<Project>, Problem> {
    desk.work(move |hall| {
        if !new.root.is_absolute() {
            let message = format!("'{}' is not an absolute path", new.root.display());
            return Err(Problem::new("bad_value", message, "write the whole path of the folder"));
        }
        let init =
            hall.retake().init(&new.root, InitOptions::default(), hall.now(), &mut |_, _| {});
        let id = init.map_err(Failure::from)?.project.id().to_owned();
        Ok(Json(known(hall, &id)?))
    })
    .await
}

fn known(hall: &Hall, id: &str) -> Result<Project, Failure> {
    let known = hall.projects()?.into_iter().find(|project| project.id == id);
    known.as_ref().map(Project::from).ok_or_else(|| {
        let message = format!("there is no project '{id}'");
        Failure::new("unknown_project", message, "GET /api/projects lists them")
    })
}

/// One project.
#[utoipa::path(
    get, path = "/api/projects/{project}", tag = "projects",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The project.", body = Project))
)]
async fn project(
    State(desk): State<Desk>,
    Named(id): Named<String>,
) -> Result<Json<Project>, Problem> {
    desk.work(move |hall| Ok(Json(known(hall, &id)?))).await
}

/// What a status says.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StatusAsked {
    /// Whether to look at the files first; otherwise this is what was last recorded.
    look: bool,
    /// Whether to list what rules leave out.
    ignored: bool,
}

impl Default for StatusAsked {
    fn default() -> Self {
        Self { look: true, ignored: false }
    }
}

/// What agents did that nobody has decided on, and what is not protected.
#[utoipa::path(
    get, path = "/api/projects/{project}/status", tag = "projects",
    params(("project" = String, Path, description = "The project's id."), StatusAsked),
    responses((status = 200, description = "The status.", body = Status))
)]
async fn status(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    Asked(asked): Asked<StatusAsked>,
) -> Result<Json<Status>, Problem> {
    let now = desk.hall.now();
    desk.enter(id, move |room| {
        // What is on record is worth telling even if nothing can be added to it.
        let looked = match (asked.look, asked.ignored) {
            (true, true) => room.ask(LookThrough {}).ok(),
            (true, false) => room.ask(Look {}).ok(),
            (false, _) => None,
        };
        let status = room.read(|project| {
            Status::read(project, now, looked.as_ref(), asked.ignored, masking(project))
        })?;
        Ok(Json(status))
    })
    .await
}

/// How thorough a check-up is.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DoctorAsked {
    /// Whether to read every byte on record.
    read_data: bool,
}

/// Whether everything that was recorded can be restored. Repairs nothing.
#[utoipa::path(
    get, path = "/api/projects/{project}/doctor", tag = "projects",
    params(("project" = String, Path, description = "The project's id."), DoctorAsked),
    responses((status = 200, description = "What was found.", body = CheckUp))
)]
async fn doctor(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    Asked(asked): Asked<DoctorAsked>,
) -> Result<Json<CheckUp>, Problem> {
    desk.read(id, move |project| {
        let found = project.check_up(asked.read_data, &mut |_, _| {})?;
        Ok(Json(CheckUp::new(project, &found, asked.read_data, masking(project))))
    })
    .await
}
