//! Which agents have Retake's hooks.

use axum::Json;
use axum::extract::State;
use retake_service::documents::SetupDocument;
use retake_service::setup::{SetupEnvironment, SetupStatus, named_home};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::QueryParams;
use super::super::route_policy::EVERYONE;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(EVERYONE.guard_route(routes!(setup)))
}

/// Which project.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SetupQuery {
    /// The project's id: also tell of the hooks in its own settings.
    project: Option<String>,
}

/// Which agents are installed and have Retake's hooks, and when each was last heard, as
/// `retake setup --status` tells it.
///
/// Programs are looked for on the `PATH` that the daemon was started with.
#[utoipa::path(
    get, path = "/api/setup", tag = "maintenance", params(SetupQuery),
    responses(
        (status = 200, description = "The agents.", body = SetupDocument),
        (status = 404, description = "There is no such project: `unknown_project`.",
            body = ErrorResponse),
    )
)]
async fn setup(
    State(state): State<AppState>,
    QueryParams(query): QueryParams<SetupQuery>,
) -> Result<Json<SetupDocument>, ErrorResponse> {
    state
        .run_blocking(move |pool| {
            let root = query.project.as_deref().map(|id| pool.locate(id)).transpose()?;
            let root = root.map(|located| located.root());
            let home = pool.retake().folder();
            // Without a project there are no settings beside those for all.
            let start = root.as_deref().unwrap_or(home);
            let machine = SetupEnvironment::detect(start, named_home(home))?;
            let status = SetupStatus::read(pool.retake(), &machine, &[])?;
            Ok(Json(SetupDocument::new(&status, root.is_some())))
        })
        .await
}
