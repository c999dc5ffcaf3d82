//! Upkeep of the record: collection, purge, export, and files that are brought back into a new
//! folder.
//!
//! Long work has a connection of its own, so that agents' events do not wait behind it.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use retake_engine::model::{ErrorCode, ProjectPath};
use retake_engine::{Project, PurgeError, PurgeScope, PurgeTarget, RescueOptions, SnapshotOptions};
use retake_service::ApiError;
use retake_service::documents::{
    CollectedDocument, ExportedSnapshots, ForecastDocument, PurgeDocument, PurgeForecast,
    RescueDocument,
};
use retake_service::request::{CollectGarbage, PurgeContent, RefreshProject};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, OptionalJsonBody, PathParams};
use super::super::route_policy::HUMANS;
use super::{find_dialog, resolve_path};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(HUMANS.guard_route(routes!(collect)))
        .routes(HUMANS.guard_route(routes!(purge)))
        .routes(HUMANS.guard_route(routes!(export)))
        .routes(HUMANS.guard_route(routes!(rescue)))
}

/// Whether to collect.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Collect)]
struct CollectBody {
    /// Only tell what would go, and when.
    dry_run: bool,
}

/// What went, or would go.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum CollectAnswer {
    /// It was done.
    Collected(CollectedDocument),
    /// With `dry_run`.
    Forecast(ForecastDocument),
}

/// Removes what the retention limits no longer keep, as `retake gc` does.
#[utoipa::path(
    post, path = "/api/projects/{project}/gc", tag = "maintenance",
    request_body = Option<CollectBody>,
    params(("project" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, description = "What went, or with `dry_run` what would.",
            body = CollectAnswer),
    )
)]
async fn collect(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<CollectBody>,
) -> Result<Json<CollectAnswer>, ErrorResponse> {
    let now = state.projects.now();
    state
        .with_project(id, move |handle| {
            if body.dry_run {
                let project = handle.reader()?;
                let forecast = project.retention_forecast(now, true).map_err(ApiError::from)?;
                let meter = project.disk_usage().map_err(ApiError::from)?;
                let forecast = ForecastDocument::new(&forecast, &meter, now);
                return Ok(Json(CollectAnswer::Forecast(forecast)));
            }
            let done = handle.run(CollectGarbage {})?;
            Ok(Json(CollectAnswer::Collected(CollectedDocument::from(&done))))
        })
        .await
}

/// What to purge: either a path or a content.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Purge)]
struct PurgeBody {
    /// Every version of this file, or of the files beneath this folder.
    path: Option<String>,
    /// The content with this object id.
    content: Option<String>,
    /// Only tell what would go.
    dry_run: bool,
    /// Yes: the bytes cannot be restored afterwards.
    yes: bool,
    /// What a dry run answered: only that very set is purged.
    plan_digest: Option<String>,
}

/// What purging would remove, with its digest.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PurgePlan)]
struct PurgePlanDocument {
    #[serde(flatten)]
    forecast: PurgeForecast,
    /// What this set is known by: sent back, nothing but it is purged.
    plan_digest: String,
}

/// What went, or would go.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum PurgeAnswer {
    /// With `dry_run`.
    Plan(PurgePlanDocument),
    /// It was done.
    Purged(PurgeDocument),
}

/// Removes bytes from the record for good, as `retake purge` does. Files are not touched.
///
/// Without `yes` it is `409 needs_yes`; a dry run shows the set, and its `plan_digest` makes sure
/// that it is the one that was seen.
#[utoipa::path(
    post, path = "/api/projects/{project}/purge", tag = "maintenance", request_body = PurgeBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, description = "What went, or with `dry_run` what would.",
            body = PurgeAnswer),
    )
)]
async fn purge(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<PurgeBody>,
) -> Result<Json<PurgeAnswer>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            // The present content is a version, too; what is on record counts if it is unreadable.
            let _ = handle.run(RefreshProject {});
            let (target, scope) = handle.read(|project| {
                let target = purge_target(project, &body)?;
                let scope = project.purge_scope(&target)?;
                Ok((target, scope))
            })?;
            if scope.contents.is_empty() {
                return Err(ApiError::from(PurgeError::Nothing(describe(&target))).into());
            }
            let digest = scope_digest(&scope)?;
            if body.dry_run {
                let forecast = PurgeForecast::from(&scope);
                let plan = PurgePlanDocument { forecast, plan_digest: digest };
                return Ok(Json(PurgeAnswer::Plan(plan)));
            }
            check_purge_consent(&body, &scope, &digest)?;
            let seen = body.plan_digest.is_some().then(|| scope.content_ids());
            let done = handle.run(PurgeContent { target, seen })?;
            Ok(Json(PurgeAnswer::Purged(PurgeDocument::from(&done))))
        })
        .await
}

fn purge_target(project: &Project, body: &PurgeBody) -> Result<PurgeTarget, ApiError> {
    match (&body.path, &body.content) {
        (Some(path), None) => Ok(PurgeTarget::Path(resolve_path(project, path)?)),
        (None, Some(text)) => text.parse().map(PurgeTarget::Content).map_err(|_| {
            let message = format!("'{text}' is no object id");
            ApiError::new(ErrorCode::BadValue, message, "they have 40 hexadecimal digits")
        }),
        _ => Err(ApiError::new(
            ErrorCode::BadValue,
            "either `path` or `content` says what to purge",
            "send one of them",
        )),
    }
}

fn describe(target: &PurgeTarget) -> String {
    match target {
        PurgeTarget::Path(path) => path.to_string(),
        PurgeTarget::Content(oid) => oid.to_string(),
    }
}

fn scope_digest(scope: &PurgeScope) -> Result<String, ApiError> {
    let bytes = serde_json::to_vec(&PurgeForecast::from(scope)).map_err(|error| {
        let message = format!("the plan cannot be written: {error}");
        ApiError::new(ErrorCode::Internal, message, "report it")
    })?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)))
}

fn check_purge_consent(
    body: &PurgeBody,
    scope: &PurgeScope,
    digest: &str,
) -> Result<(), ErrorResponse> {
    if body.plan_digest.as_deref().is_some_and(|seen| seen != digest) {
        return Err(ErrorResponse::new(
            ErrorCode::PlanChanged,
            "what would be purged is not what was seen",
            "look at it with `dry_run`, and send its digest",
        ));
    }
    if body.yes {
        return Ok(());
    }
    let bytes: u64 = scope.contents.iter().map(|(_, size)| size).sum();
    let message = format!(
        "nothing was purged, since this needs your confirmation: {} contents ({bytes} bytes) of {} paths \
         cannot be restored afterwards",
        scope.contents.len(),
        scope.paths.len()
    );
    Err(ErrorResponse::new(ErrorCode::NeedsYes, message, "`dry_run` shows them; send `yes`"))
}

/// Where to export to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Export)]
struct ExportBody {
    /// The folder's absolute path; made if it is not there.
    #[schema(value_type = String, example = "/home/me/export")]
    folder: PathBuf,
    /// Only this dialog.
    #[serde(default)]
    dialog: Option<String>,
    /// Write into a folder that is not empty.
    #[serde(default)]
    force: bool,
    /// Also write the contents of files that usually hold secrets.
    #[serde(default)]
    with_secrets: bool,
}

/// Writes the record as plain JSON files into a folder, as `retake export` does.
#[utoipa::path(
    post, path = "/api/projects/{project}/export", tag = "maintenance", request_body = ExportBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was written.", body = ExportedSnapshots))
)]
async fn export(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<ExportBody>,
) -> Result<Json<ExportedSnapshots>, ErrorResponse> {
    check_absolute(&body.folder)?;
    state
        .with_project(id, move |handle| {
            let project = handle.reader()?;
            let dialog = body.dialog.as_deref().map(|text| find_dialog(&project, text));
            let options = SnapshotOptions {
                dialog: dialog.transpose()?,
                force: body.force,
                with_secrets: body.with_secrets,
            };
            let done = project.export_snapshots(&body.folder, &options, &mut |_, _| {});
            Ok(Json(ExportedSnapshots::new(&body.folder, &done.map_err(ApiError::from)?)))
        })
        .await
}

/// Which files to bring back, and where to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Rescue)]
struct RescueBody {
    /// The absolute path of a folder that does not exist yet, or is empty.
    #[schema(value_type = String, example = "/home/me/rescued")]
    into: PathBuf,
    /// The checkpoint; without one it is the last state on record.
    #[serde(default)]
    checkpoint: Option<String>,
    /// Only these files, and what is beneath these folders; none means everything.
    #[serde(default)]
    paths: Vec<String>,
}

/// Writes the files of a checkpoint into a new folder, also if the project's own folder is gone.
///
/// Nothing is ever written over: the folder must be absent or empty. What could not be written is
/// listed with the reason.
#[utoipa::path(
    post, path = "/api/projects/{project}/rescue", tag = "maintenance", request_body = RescueBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was written.", body = RescueDocument))
)]
async fn rescue(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<RescueBody>,
) -> Result<Json<RescueDocument>, ErrorResponse> {
    check_absolute(&body.into)?;
    state
        .with_project(id, move |handle| {
            let project = handle.reader()?;
            let checkpoint = body.checkpoint.as_deref().map(|id| project.find_checkpoint(id));
            let checkpoint = checkpoint.transpose().map_err(ApiError::from)?;
            let id = checkpoint.as_ref().map(|checkpoint| checkpoint.id.to_string());
            let paths: Result<Vec<ProjectPath>, _> =
                body.paths.iter().map(|path| resolve_path(&project, path)).collect();
            let options = RescueOptions { checkpoint, paths: paths? };
            let done = project.rescue(&body.into, &options, &mut |_, _| {});
            Ok(Json(RescueDocument::new(&body.into, id, &done.map_err(ApiError::from)?)))
        })
        .await
}

fn check_absolute(path: &std::path::Path) -> Result<(), ApiError> {
    if path.is_absolute() {
        return Ok(());
    }
    let message = format!("'{}' is not an absolute path", path.display());
    Err(ApiError::new(ErrorCode::BadValue, message, "write the whole path of the folder"))
}
