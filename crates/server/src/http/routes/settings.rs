//! Reads and changes the settings.
//!
//! A running daemon compares the files before each request, so a change counts at once, but for
//! what it reads at its start.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use retake_service::documents::SettingsDocument;
use retake_service::settings::{SettingsChange, SettingsFiles};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, PathParams};
use super::super::route_policy::{EVERYONE, HUMANS};
use crate::ProjectPool;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(home_settings)))
        .routes(HUMANS.guard_route(routes!(change_home_settings)))
        .routes(EVERYONE.guard_route(routes!(project_settings)))
        .routes(HUMANS.guard_route(routes!(change_project_settings)))
}

/// A change of settings.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangeSettings)]
struct SettingsBody {
    /// The new value of each dotted key; null takes the key out of the file.
    #[schema(value_type = Object, example = json!({ "retention.max_dialogs": 50 }))]
    set: BTreeMap<String, Value>,
    /// The version that was seen; if the file is another one by now, it is left alone.
    #[serde(default)]
    version: Option<String>,
}

impl From<SettingsBody> for SettingsChange {
    fn from(body: SettingsBody) -> Self {
        Self { set: body.set, version: body.version }
    }
}

/// The settings of all projects that have no file of their own.
#[utoipa::path(
    get, path = "/api/settings", tag = "maintenance",
    responses((status = 200, description = "The settings in force.", body = SettingsDocument))
)]
async fn home_settings(
    State(state): State<AppState>,
) -> Result<Json<SettingsDocument>, ErrorResponse> {
    let read = |pool: &ProjectPool| Ok(Json(home_files(pool).read()));
    state.run_blocking(read).await
}

/// Changes the settings of all projects that have no file of their own. Comments in the file stay.
#[utoipa::path(
    patch, path = "/api/settings", tag = "maintenance", request_body = SettingsBody,
    responses(
        (status = 200, description = "The settings in force.", body = SettingsDocument),
        (status = 409, description = "The file cannot be used: `settings`. Or it is not the one \
            that was seen: `plan_changed`.", body = ErrorResponse),
    )
)]
async fn change_home_settings(
    State(state): State<AppState>,
    JsonBody(body): JsonBody<SettingsBody>,
) -> Result<Json<SettingsDocument>, ErrorResponse> {
    state
        .run_blocking(move |pool| {
            let files = home_files(pool);
            files.write(&body.into())?;
            Ok(Json(files.read()))
        })
        .await
}

/// The settings in force for a project, and where each comes from.
#[utoipa::path(
    get, path = "/api/projects/{project}/settings", tag = "maintenance",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The settings in force.", body = SettingsDocument))
)]
async fn project_settings(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
) -> Result<Json<SettingsDocument>, ErrorResponse> {
    state.run_blocking(move |pool| Ok(Json(project_files(pool, &id)?.read()))).await
}

/// Changes the settings of one project. Without a file of its own it gets one that begins with
/// what the home's says.
#[utoipa::path(
    patch, path = "/api/projects/{project}/settings", tag = "maintenance",
    request_body = SettingsBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The settings in force.", body = SettingsDocument))
)]
async fn change_project_settings(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<SettingsBody>,
) -> Result<Json<SettingsDocument>, ErrorResponse> {
    state
        .run_blocking(move |pool| {
            let files = project_files(pool, &id)?;
            files.write(&body.into())?;
            Ok(Json(files.read()))
        })
        .await
}

fn home_files(pool: &ProjectPool) -> SettingsFiles {
    SettingsFiles::of_home(pool.retake().folder())
}

fn project_files(pool: &ProjectPool, id: &str) -> Result<SettingsFiles, ErrorResponse> {
    let located = pool.locate(id)?;
    Ok(SettingsFiles::of_project(pool.retake().folder(), located.folder()))
}
