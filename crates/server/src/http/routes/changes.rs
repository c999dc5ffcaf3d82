//! What was changed, by whom, and what differs.

use axum::Json;
use axum::extract::State;
use retake_engine::model::{Actor, Change as Recorded, ChangeId, ChangeStatus, ErrorCode, Millis};
use retake_engine::{BlameBody, ChangeFilter, Project};
use retake_service::ApiError;
use retake_service::documents::{
    BlameDocument, ChangeDocument, DiffForm, DiffList, DiffRenderer, FileDiffDocument, ShownChange,
    enum_schemas,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{PathParams, QueryParams};
use super::super::route_policy::EVERYONE;
use super::{
    check_seq, find_agent, find_dialog, masking, page_size, parse_change_id, resolve_path,
};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(changes)))
        .routes(EVERYONE.guard_route(routes!(change)))
        .routes(EVERYONE.guard_route(routes!(change_diff)))
        .routes(EVERYONE.guard_route(routes!(diff)))
        .routes(EVERYONE.guard_route(routes!(blame)))
}

/// Which changes; what is given all must hold.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ChangesQuery {
    /// Of this dialog.
    dialog: Option<String>,
    /// Of this agent.
    agent: Option<String>,
    /// Of this file, or of everything in this folder.
    path: Option<String>,
    /// With this review status, which only what agents did has.
    #[param(schema_with = enum_schemas::change_status, required = false)]
    status: Option<ChangeStatus>,
    /// By this actor.
    #[param(schema_with = enum_schemas::actor, required = false)]
    actor: Option<Actor>,
    /// Recorded at this time or later, in milliseconds since the epoch.
    since: Option<Millis>,
    /// Older than the change with this `seq`: the `next` of the page before.
    before: Option<u64>,
    /// At most so many; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl ChangesQuery {
    fn filter(&self, project: &Project) -> Result<ChangeFilter, ApiError> {
        Ok(ChangeFilter {
            dialog: self.dialog.as_deref().map(|id| find_dialog(project, id)).transpose()?,
            agent: self.agent.as_deref().map(|id| find_agent(project, id)).transpose()?,
            path: self.path.as_deref().map(|path| resolve_path(project, path)).transpose()?,
            status: self.status,
            actor: self.actor,
            since: self.since,
            before: self.before.map(check_seq).transpose()?.map(ChangeId),
            ..ChangeFilter::default()
        })
    }
}

/// A page of changes.
#[derive(Debug, Serialize, ToSchema)]
struct ChangesPage {
    /// The changes, newest first.
    changes: Vec<ChangeDocument>,
    /// What to send as `before` for the next page; null if this was the last.
    next: Option<u64>,
}

/// What was changed, the newest first, page by page.
#[utoipa::path(
    get, path = "/api/projects/{project}/changes", tag = "changes",
    params(("project" = String, Path, description = "The project's id."), ChangesQuery),
    responses((status = 200, description = "A page of changes.", body = ChangesPage))
)]
async fn changes(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ChangesQuery>,
) -> Result<Json<ChangesPage>, ErrorResponse> {
    state
        .read(id, move |project| {
            let limit = page_size(query.limit, 100)?;
            let filter = ChangeFilter { limit: Some(limit + 1), ..query.filter(project)? };
            let mut found = project.changes(&filter)?;
            let is_last = found.len() <= limit;
            found.truncate(limit);
            let next = found.last().filter(|_| !is_last).map(|change| change.id.0);
            Ok(Json(ChangesPage {
                changes: found.iter().map(ChangeDocument::from).collect(),
                next,
            }))
        })
        .await
}

/// A change of the project.
fn find_change(project: &Project, id: &str) -> Result<Recorded, ApiError> {
    project.change(parse_change_id(id)?)?.ok_or_else(|| {
        let message = format!("there is no change {id}");
        ApiError::new(
            ErrorCode::UnknownChange,
            message,
            "GET /api/projects/{project}/changes lists them",
        )
    })
}

/// What a difference is written as.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DiffQuery {
    /// As text alone, or also by lines with changed words and highlighting.
    #[param(inline)]
    form: DiffForm,
}

/// One change, the difference that it made, and what was said.
#[utoipa::path(
    get, path = "/api/projects/{project}/changes/{change}", tag = "changes",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("change" = String, Path, description = "The change's id.", example = "c12"),
        DiffQuery,
    ),
    responses((status = 200, description = "The change.", body = ShownChange))
)]
async fn change(
    State(state): State<AppState>,
    PathParams((id, change)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<DiffQuery>,
) -> Result<Json<ShownChange>, ErrorResponse> {
    state
        .read(id, move |project| {
            let change = find_change(project, &change)?;
            Ok(Json(ShownChange::read(project, &change, query.form, masking(project))?))
        })
        .await
}

/// The difference that one change made.
#[utoipa::path(
    get, path = "/api/projects/{project}/changes/{change}/diff", tag = "changes",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("change" = String, Path, description = "The change's id.", example = "c12"),
        DiffQuery,
    ),
    responses((status = 200, description = "The difference.", body = FileDiffDocument))
)]
async fn change_diff(
    State(state): State<AppState>,
    PathParams((id, change)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<DiffQuery>,
) -> Result<Json<FileDiffDocument>, ErrorResponse> {
    state
        .read(id, move |project| {
            let diff = project.diff(&find_change(project, &change)?)?;
            Ok(Json(DiffRenderer::new(project, query.form, masking(project)).render_file(&diff)?))
        })
        .await
}

/// Which changes a difference is of; what is given all must hold.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct NetDiffQuery {
    /// Of this dialog.
    dialog: Option<String>,
    /// Of this agent.
    agent: Option<String>,
    /// Of this file, or of everything in this folder.
    path: Option<String>,
    /// By this actor.
    #[param(schema_with = enum_schemas::actor, required = false)]
    actor: Option<Actor>,
    /// From this change on.
    from: Option<String>,
    /// Up to this change, and with it.
    to: Option<String>,
    /// As text alone, or also by lines with changed words and highlighting.
    #[param(inline)]
    form: DiffForm,
}

/// The difference that several changes made in all, file by file.
///
/// What was taken back since is left out.
#[utoipa::path(
    get, path = "/api/projects/{project}/diff", tag = "changes",
    params(("project" = String, Path, description = "The project's id."), NetDiffQuery),
    responses((status = 200, description = "The differences.", body = DiffList))
)]
async fn diff(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<NetDiffQuery>,
) -> Result<Json<DiffList>, ErrorResponse> {
    state
        .read(id, move |project| {
            let after = query.from.as_deref().map(parse_change_id).transpose()?;
            let until = query.to.as_deref().map(parse_change_id).transpose()?;
            let filter = ChangeFilter {
                dialog: query.dialog.as_deref().map(|id| find_dialog(project, id)).transpose()?,
                agent: query.agent.as_deref().map(|id| find_agent(project, id)).transpose()?,
                path: query.path.as_deref().map(|path| resolve_path(project, path)).transpose()?,
                actor: query.actor,
                after: after.map(|id| id.0.saturating_sub(1)),
                before: until.map(|id| ChangeId(id.0.saturating_add(1))),
                oldest_first: true,
                ..ChangeFilter::default()
            };
            let mut changes = project.changes(&filter)?;
            let by_git = project.taken_back_by_git(&changes)?;
            changes.retain(|change| Recorded::is_effective(change) && !by_git.contains(&change.id));
            let diffs = project.net_diff(&changes)?;
            Ok(Json(DiffRenderer::new(project, query.form, masking(project)).render_files(&diffs)?))
        })
        .await
}

/// Which file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct BlameQuery {
    /// The file.
    #[param(example = "src/main.rs")]
    path: String,
}

/// Who wrote each line of a file.
#[utoipa::path(
    get, path = "/api/projects/{project}/blame", tag = "changes",
    params(("project" = String, Path, description = "The project's id."), BlameQuery),
    responses(
        (status = 200, description = "The lines. A file without lines to tell of (binary, too \
            large, not captured) has none.", body = BlameDocument),
    )
)]
async fn blame(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<BlameQuery>,
) -> Result<Json<BlameDocument>, ErrorResponse> {
    state
        .read(id, move |project| {
            let path = resolve_path(project, &query.path)?;
            let Some(blame) = project.blame(&path)? else {
                let message = format!("'{}' is no file on record", query.path);
                return Err(ApiError::new(
                    ErrorCode::UnknownFile,
                    message,
                    "name a file that is tracked",
                ));
            };
            let lines = match &blame.body {
                BlameBody::Lines(lines) => lines.as_slice(),
                BlameBody::Binary | BlameBody::TooLarge | BlameBody::NotCaptured => &[],
            };
            Ok(Json(BlameDocument::new(&blame, lines, masking(project))))
        })
        .await
}
