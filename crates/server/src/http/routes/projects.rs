//! Projects, and where they stand.

use std::path::PathBuf;

use axum::extract::State;
use axum::{Extension, Json};
use retake_engine::InitOptions;
use retake_engine::model::ErrorCode;
use retake_service::ApiError;
use retake_service::documents::{CheckUpDocument, ProjectDocument, ProjectList, StatusDocument};
use retake_service::request::{RefreshProject, RescanProject};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, EVERYONE_SHOWING_CONTENT, HUMANS};
use super::masking;
use crate::ProjectPool;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.filtered().guard_route(routes!(projects)))
        .routes(HUMANS.guard_route(routes!(create)))
        .routes(EVERYONE.guard_route(routes!(project)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(status)))
        .routes(EVERYONE.guard_route(routes!(doctor)))
}

/// Every project on record, whether its folder is there or not; for an agent with a minted token
/// that one project.
#[utoipa::path(
    get, path = "/api/projects", tag = "projects",
    responses((status = 200, description = "The projects.", body = ProjectList))
)]
async fn projects(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
) -> Result<Json<ProjectList>, ErrorResponse> {
    state
        .run_blocking(move |pool| {
            let mut known = pool.known_projects()?;
            known.retain(|project| caller.may_reach(&project.id));
            Ok(Json(ProjectList::from(known.as_slice())))
        })
        .await
}

/// A folder that becomes a project.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewProject)]
struct ProjectBody {
    /// The folder's absolute path.
    #[schema(value_type = String, example = "/home/me/project")]
    root: PathBuf,
}

/// Makes a folder a project, as `retake init` does; one that is a project already is looked at.
#[utoipa::path(
    post, path = "/api/projects", tag = "projects", request_body = ProjectBody,
    responses(
        (status = 200, description = "The project.", body = ProjectDocument),
        (status = 409, description = "Another folder stands where a project was: `replaced`.",
            body = ErrorResponse),
    )
)]
async fn create(
    State(state): State<AppState>,
    JsonBody(new): JsonBody<ProjectBody>,
) -> Result<Json<ProjectDocument>, ErrorResponse> {
    state
        .run_blocking(move |pool| {
            if !new.root.is_absolute() {
                let message = format!("'{}' is not an absolute path", new.root.display());
                return Err(ErrorResponse::new(
                    ErrorCode::BadValue,
                    message,
                    "write the whole path of the folder",
                ));
            }
            let init =
                pool.retake().init(&new.root, InitOptions::default(), pool.now(), &mut |_, _| {});
            let id = init.map_err(ApiError::from)?.project.id().to_owned();
            Ok(Json(find_project(pool, &id)?))
        })
        .await
}

fn find_project(pool: &ProjectPool, id: &str) -> Result<ProjectDocument, ApiError> {
    let known = pool.known_projects()?.into_iter().find(|project| project.id == id);
    known.as_ref().map(ProjectDocument::from).ok_or_else(|| {
        let message = format!("there is no project '{id}'");
        ApiError::new(ErrorCode::UnknownProject, message, "GET /api/projects lists them")
    })
}

/// One project.
#[utoipa::path(
    get, path = "/api/projects/{project}", tag = "projects",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The project.", body = ProjectDocument))
)]
async fn project(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
) -> Result<Json<ProjectDocument>, ErrorResponse> {
    state.run_blocking(move |pool| Ok(Json(find_project(pool, &id)?))).await
}

/// What a status says.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StatusQuery {
    /// Whether to look at the files first; otherwise this is what was last recorded.
    look: bool,
    /// Whether to list what rules leave out.
    ignored: bool,
}

impl Default for StatusQuery {
    fn default() -> Self {
        Self { look: true, ignored: false }
    }
}

/// What agents did that nobody has decided on, and what is not protected.
#[utoipa::path(
    get, path = "/api/projects/{project}/status", tag = "projects",
    params(("project" = String, Path, description = "The project's id."), StatusQuery),
    responses((status = 200, description = "The status.", body = StatusDocument))
)]
async fn status(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<StatusQuery>,
) -> Result<Json<StatusDocument>, ErrorResponse> {
    let now = state.projects.now();
    state
        .with_project(id, move |handle| {
            // What is on record is worth telling even if nothing can be added to it.
            let refreshed = match (query.look, query.ignored) {
                (true, true) => handle.run(RescanProject {}).ok(),
                (true, false) => handle.run(RefreshProject {}).ok(),
                (false, _) => None,
            };
            let status = handle.read(|project| {
                StatusDocument::read(
                    project,
                    now,
                    refreshed.as_ref(),
                    query.ignored,
                    masking(project),
                )
            })?;
            Ok(Json(status))
        })
        .await
}

/// How thorough a check-up is.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DoctorQuery {
    /// Whether to read every byte on record.
    read_data: bool,
}

/// Whether everything that was recorded can be restored. Repairs nothing.
#[utoipa::path(
    get, path = "/api/projects/{project}/doctor", tag = "projects",
    params(("project" = String, Path, description = "The project's id."), DoctorQuery),
    responses((status = 200, description = "What was found.", body = CheckUpDocument))
)]
async fn doctor(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<DoctorQuery>,
) -> Result<Json<CheckUpDocument>, ErrorResponse> {
    state
        .read(id, move |project| {
            let found = project.check_health(query.read_data, &mut |_, _| {})?;
            Ok(Json(CheckUpDocument::new(project, &found, query.read_data, masking(project))))
        })
        .await
}
