//! Routes of the files in agents' contexts.
//!
//! An agent itself may report what it saw; a context that another program kept is imported only
//! with the person's token.

use axum::extract::State;
use axum::{Extension, Json};
use retake_engine::model::{AgentId, ContextSource, ErrorCode, LineSpan, MAIN_AGENT};
use retake_engine::{Project, TaskMetadata};
use retake_service::ApiError;
use retake_service::documents::{
    self, ContextChoice, ContextDocument, ContextImported, LocatePaths as _, MarkedFiles,
};
use retake_service::request::{ImportContext, MarkSeen, RefreshProject};
use serde::Deserialize;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{BodyLimit, JsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, HUMANS, OWN_DIALOG, RoutePolicy};
use super::{check_seq, find_agent, find_dialog, page_size, resolve_path};

/// Maximum bytes of an imported context: a long conversation has many entries.
const MAX_METADATA_BYTES: usize = 16 * 1024 * 1024;

pub(super) fn router() -> OpenApiRouter<AppState> {
    let large = RoutePolicy { limit: BodyLimit(MAX_METADATA_BYTES), ..HUMANS };
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(context)))
        .routes(OWN_DIALOG.guard_route(routes!(mark)))
        .routes(EVERYONE.guard_route(routes!(export)))
        .routes(large.guard_route(routes!(import)))
}

/// Whose files, and which.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ContextQuery {
    /// The dialog.
    dialog: String,
    /// Of this agent; of all agents of the dialog unless told otherwise.
    agent: Option<String>,
    /// Only files that are not as the agent last saw them.
    #[serde(default)]
    stale: bool,
    /// Every entry of each file instead of its newest one.
    #[serde(default)]
    timeline: bool,
    /// What the page before this one gave as `cursor`.
    cursor: Option<u64>,
    /// At most so many; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl ContextQuery {
    fn read(&self, project: &Project) -> Result<ContextDocument, ApiError> {
        let dialog = find_dialog(project, &self.dialog)?;
        let agents = match &self.agent {
            Some(id) => vec![find_agent(project, id)?],
            None => project.agents(&dialog)?.into_iter().map(|agent| agent.id).collect(),
        };
        let choice = ContextChoice { stale: self.stale, timeline: self.timeline };
        let cursor = self.cursor.map(check_seq).transpose()?;
        let all = ContextDocument::read(project, &dialog, &agents, choice)?;
        Ok(all.page(cursor.unwrap_or(0), page_size(self.limit, 100)?))
    }
}

/// The files that a dialog's agents know, and whether they know them as they are.
#[utoipa::path(
    get, path = "/api/projects/{project}/context", tag = "context",
    params(("project" = String, Path, description = "The project's id."), ContextQuery),
    responses((status = 200, description = "A page of entries.", body = ContextDocument))
)]
async fn context(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ContextQuery>,
) -> Result<Json<ContextDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            // What is on record is worth telling even if nothing can be added to it.
            let _ = handle.run(RefreshProject {});
            Ok(Json(handle.read(|project| query.read(project))?))
        })
        .await
}

/// What an agent has seen.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Seen)]
struct SeenFilesBody {
    /// The dialog.
    dialog: String,
    /// The agent; the main one unless told otherwise.
    agent: Option<String>,
    /// The files.
    paths: Vec<SeenPath>,
    /// How they came into its context.
    #[serde(default)]
    #[schema(schema_with = seen_source_schema)]
    source: SeenSource,
}

/// A file that an agent has seen, or lines of it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SeenPath {
    /// The file.
    #[schema(example = "src/main.rs")]
    path: String,
    /// Its first and last line that were seen, from 1; all of it unless told otherwise.
    #[schema(value_type = Option<Vec<u32>>, example = json!([1, 40]))]
    lines: Option<(u32, u32)>,
}

impl SeenPath {
    fn lines(&self) -> Result<Option<LineSpan>, ApiError> {
        match self.lines {
            Some((first, last)) if first == 0 || last < first => {
                let message = format!("there are no lines {first} to {last}");
                Err(ApiError::new(ErrorCode::BadValue, message, "lines are [first, last], from 1"))
            }
            lines => Ok(lines.map(LineSpan::from)),
        }
    }
}

/// How somebody shows a file to an agent.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SeenSource {
    #[default]
    ReadTool,
    FileMentioned,
}

fn seen_source_schema() -> Object {
    let names = [ContextSource::ReadTool, ContextSource::FileMentioned].map(ContextSource::as_str);
    let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
    word.default(Some(ContextSource::ReadTool.as_str().into())).build()
}

/// Records that an agent has seen files as they are now.
///
/// For hosts that read files themselves. What an agent changes is known by its events.
#[utoipa::path(
    post, path = "/api/projects/{project}/context/mark", tag = "context", request_body = SeenFilesBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was recorded.", body = MarkedFiles))
)]
async fn mark(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    Extension(caller): Extension<HttpCaller>,
    JsonBody(seen): JsonBody<SeenFilesBody>,
) -> Result<Json<MarkedFiles>, ErrorResponse> {
    caller.check_speaks_for(&seen.dialog.as_str().into())?;
    state
        .with_project(id, move |handle| {
            let source = match seen.source {
                SeenSource::ReadTool => ContextSource::ReadTool,
                SeenSource::FileMentioned => ContextSource::FileMentioned,
            };
            let verb = handle.read(|project| {
                let file = |one: &SeenPath| Ok((resolve_path(project, &one.path)?, one.lines()?));
                let files = seen.paths.iter().map(file).collect::<Result<Vec<_>, ApiError>>()?;
                let dialog = find_dialog(project, &seen.dialog)?;
                Ok(MarkSeen { dialog, agent: main_or(seen.agent.as_deref()), files, source })
            })?;
            let named = verb.files.len();
            let marked = MarkedFiles::new(named, &handle.run(verb)?);
            Ok(Json(handle.read(|project| Ok(marked.located(project.root())))?))
        })
        .await
}

fn main_or(agent: Option<&str>) -> AgentId {
    AgentId::from(agent.unwrap_or(MAIN_AGENT))
}

/// Whose context.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ContextExportQuery {
    /// The dialog.
    dialog: String,
    /// The agent; the main one unless told otherwise.
    agent: Option<String>,
}

/// An agent's context as other programs keep it.
///
/// Like the file `task_metadata.json`: `files_in_context` has every entry of every file, in order.
#[utoipa::path(
    get, path = "/api/projects/{project}/context/export", tag = "context",
    params(("project" = String, Path, description = "The project's id."), ContextExportQuery),
    responses((status = 200, description = "The document.", body = documents::TaskMetadataDocument))
)]
async fn export(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ContextExportQuery>,
) -> Result<Json<documents::TaskMetadataDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let _ = handle.run(RefreshProject {});
            Ok(Json(handle.read(|project| {
                let dialog = find_dialog(project, &query.dialog)?;
                let agent = main_or(query.agent.as_deref());
                Ok(documents::TaskMetadataDocument::from(&project.export_context(&dialog, &agent)?))
            })?))
        })
        .await
}

/// What another program kept of an agent's context.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = KeptContext)]
struct ContextImportBody {
    /// The dialog.
    dialog: String,
    /// The agent; the main one unless told otherwise.
    agent: Option<String>,
    /// The content of its `task_metadata.json`.
    #[schema(value_type = documents::TaskMetadataDocument)]
    metadata: TaskMetadata,
}

/// Takes in an agent's context as another program kept it.
///
/// What is on record already is not added again.
#[utoipa::path(
    post, path = "/api/projects/{project}/context/import", tag = "context",
    request_body = ContextImportBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was imported.", body = ContextImported))
)]
async fn import(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<ContextImportBody>,
) -> Result<Json<ContextImported>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            if let Err(error) = body.metadata.check() {
                let hint = "send what GET …/context/export gives";
                return Err(ErrorResponse::new(
                    ErrorCode::BadValue,
                    format!("`metadata`: {error}"),
                    hint,
                ));
            }
            let dialog = handle.read(|project| find_dialog(project, &body.dialog))?;
            let (agent, metadata) = (main_or(body.agent.as_deref()), body.metadata);
            let imported = handle.run(ImportContext { dialog, agent, metadata })?;
            Ok(Json(ContextImported::from(&imported)))
        })
        .await
}
