//! Contents of files: by id, of a change, of a checkpoint or of now; and the tree of a checkpoint.
//!
//! A content is streamed in pieces, so that memory does not grow with it. Ranges are of what is
//! given: of the masked text, if secrets are masked.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use retake_engine::model::{ErrorCode, FileState, ObjectId, PathState, ProjectPath};
use retake_engine::{Project, StoreError, TreeQuery};
use retake_service::ApiError;
use retake_service::contents::{ContentReader, NamedContent};
use retake_service::documents::{CheckpointTreePage, LocatePaths as _};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::content_response::{ContentResponses, FoundContent, respond};
use super::super::error::ErrorResponse;
use super::super::extract::{PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, EVERYONE_SHOWING_CONTENT};
use super::changes::find_change;
use super::{masking, page_size, resolve_path};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(content)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(before)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(after)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(file)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(checkpoint_file)))
        .routes(EVERYONE.guard_route(routes!(checkpoint_tree)))
}

/// A content that was asked for.
struct RequestedContent {
    named: NamedContent,
    path: ProjectPath,
    state: Option<FileState>,
}

impl RequestedContent {
    /// A state of a path; others that have the content may say that it holds secrets.
    fn of_state(project: &Project, path: &ProjectPath, state: FileState) -> Result<Self, ApiError> {
        let mut names = project.content_names(&state.oid)?;
        names.retain(|name| name != path);
        names.insert(0, path.clone());
        let content = NamedContent { oid: state.oid, names };
        Ok(Self { named: content, path: path.clone(), state: Some(state) })
    }

    /// A side of a change, or what a path is now; `what` says so.
    fn of_side(
        project: &Project,
        path: &ProjectPath,
        side: &PathState,
        what: &str,
    ) -> Result<Self, ApiError> {
        match side {
            PathState::Known(state) => Self::of_state(project, path, *state),
            PathState::Unknown => Err(StoreError::NotCaptured.into()),
            PathState::Absent => {
                let message = format!("there is no file '{path}' {what}");
                let hint = "the other side, or an earlier state, may have it";
                Err(ApiError::new(ErrorCode::DidNotExist, message, hint))
            }
        }
    }
}

impl AppState {
    /// Answers with a content, as far as this token may have it.
    async fn give_content(
        self,
        project: String,
        caller: &HttpCaller,
        headers: HeaderMap,
        find: impl FnOnce(&Project) -> Result<RequestedContent, ApiError> + Send + 'static,
    ) -> Result<Response, ErrorResponse> {
        let reader = if caller.is_person() { ContentReader::Person } else { ContentReader::Agent };
        let slot = self.heavy.slot().await?;
        let found = self.run_heavy(slot.clone(), project.clone(), move |project| {
            let RequestedContent { named, path, state } = find(project)?;
            let content = named.give(project, masking(project), reader)?;
            Ok(FoundContent { content, path, state })
        });
        let answer = respond(self.clone(), project, &headers, found.await?).await;
        drop(slot);
        answer
    }
}

/// A content by its id, if the project's record names it.
#[utoipa::path(
    get, path = "/api/projects/{project}/contents/{oid}", tag = "contents",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("oid" = String, Path, description = "The content's id, 40 hexadecimal digits."),
    ),
    responses(ContentResponses)
)]
async fn content(
    State(state): State<AppState>,
    PathParams((id, oid)): PathParams<(String, String)>,
    Extension(caller): Extension<HttpCaller>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    state
        .give_content(id, &caller, headers, move |project| {
            let parsed = oid.parse::<ObjectId>().map_err(|_| {
                let message = format!("'{oid}' is not the id of a content");
                ApiError::new(ErrorCode::BadValue, message, "it has 40 hexadecimal digits")
            })?;
            let named = NamedContent::find(project, parsed)?;
            Ok(RequestedContent { path: named.names[0].clone(), named, state: None })
        })
        .await
}

/// The content of a file before a change.
#[utoipa::path(
    get, path = "/api/projects/{project}/changes/{change}/before", tag = "contents",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("change" = String, Path, description = "The change's id.", example = "c12"),
    ),
    responses(ContentResponses)
)]
async fn before(
    State(state): State<AppState>,
    PathParams((id, change)): PathParams<(String, String)>,
    Extension(caller): Extension<HttpCaller>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    state
        .give_content(id, &caller, headers, move |project| {
            let change = find_change(project, &change)?;
            let what = format!("before {}", change.id);
            RequestedContent::of_side(project, change.from_path(), &change.before, &what)
        })
        .await
}

/// The content of a file after a change.
#[utoipa::path(
    get, path = "/api/projects/{project}/changes/{change}/after", tag = "contents",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("change" = String, Path, description = "The change's id.", example = "c12"),
    ),
    responses(ContentResponses)
)]
async fn after(
    State(state): State<AppState>,
    PathParams((id, change)): PathParams<(String, String)>,
    Extension(caller): Extension<HttpCaller>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    state
        .give_content(id, &caller, headers, move |project| {
            let change = find_change(project, &change)?;
            let what = format!("after {}", change.id);
            RequestedContent::of_side(project, &change.path, &change.after, &what)
        })
        .await
}

/// Which file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct FileQuery {
    /// The file.
    #[param(example = "src/main.rs")]
    path: String,
}

/// The content of a file as it was last recorded.
#[utoipa::path(
    get, path = "/api/projects/{project}/file", tag = "contents",
    params(("project" = String, Path, description = "The project's id."), FileQuery),
    responses(ContentResponses)
)]
async fn file(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<FileQuery>,
    Extension(caller): Extension<HttpCaller>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    state
        .give_content(id, &caller, headers, move |project| {
            let path = resolve_path(project, &query.path)?;
            match project.recorded_state(&path)? {
                PathState::Absent => Err(unknown_file(&query.path, "that is tracked")),
                side => RequestedContent::of_side(project, &path, &side, "now"),
            }
        })
        .await
}

/// The content of a file in a checkpoint.
#[utoipa::path(
    get, path = "/api/projects/{project}/checkpoints/{checkpoint}/file", tag = "contents",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("checkpoint" = String, Path, description = "Its id; four digits or more are enough."),
        FileQuery,
    ),
    responses(ContentResponses)
)]
async fn checkpoint_file(
    State(state): State<AppState>,
    PathParams((id, checkpoint)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<FileQuery>,
    Extension(caller): Extension<HttpCaller>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    state
        .give_content(id, &caller, headers, move |project| {
            let path = resolve_path(project, &query.path)?;
            let checkpoint = project.find_checkpoint(&checkpoint)?;
            let Some(found) = project.checkpoint_file(&checkpoint, &path)? else {
                return Err(unknown_file(&query.path, "of the checkpoint; its `tree` lists them"));
            };
            RequestedContent::of_state(project, &path, found)
        })
        .await
}

fn unknown_file(path: &str, which: &str) -> ApiError {
    let message = format!("'{path}' is no file on record");
    ApiError::new(ErrorCode::UnknownFile, message, format!("name a file {which}"))
}

/// Which folder, and how much of it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CheckpointTreeQuery {
    /// The folder; the root unless told otherwise.
    path: Option<String>,
    /// The files of all folders beneath it instead of its own entries.
    recursive: bool,
    /// At most so many entries; 1000 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// The files and folders of a checkpoint, by name, in pages.
#[utoipa::path(
    get, path = "/api/projects/{project}/checkpoints/{checkpoint}/tree", tag = "contents",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("checkpoint" = String, Path, description = "Its id; four digits or more are enough."),
        CheckpointTreeQuery,
    ),
    responses((status = 200, description = "A page of entries.", body = CheckpointTreePage))
)]
async fn checkpoint_tree(
    State(state): State<AppState>,
    PathParams((id, checkpoint)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<CheckpointTreeQuery>,
) -> Result<Response, ErrorResponse> {
    state
        .read_heavy(id, move |project| {
            let limit = page_size(query.limit, 1000)?;
            let after = query.cursor.as_deref().map(parse_cursor).transpose()?;
            let path = query.path.as_deref().map(|path| resolve_path(project, path)).transpose()?;
            let checkpoint = project.find_checkpoint(&checkpoint)?;
            let asked = TreeQuery {
                folder: path.as_ref(),
                recursive: query.recursive,
                after: after.as_deref(),
                limit,
            };
            let Some(tree) = project.checkpoint_tree(&checkpoint, &asked)? else {
                let path = query.path.as_deref().unwrap_or_default();
                let message = format!("'{path}' is no folder of the checkpoint");
                let hint = "the `tree` of the folder above lists what is there";
                return Err(ApiError::new(ErrorCode::UnknownPath, message, hint));
            };
            let next = tree.next.as_deref().map(|place| BASE64_URL_SAFE_NO_PAD.encode(place));
            let page = CheckpointTreePage::new(&checkpoint, path.as_ref(), &tree.entries, next);
            Ok(page.located(project.root()))
        })
        .await
}

fn parse_cursor(text: &str) -> Result<Vec<u8>, ApiError> {
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| {
        let message = format!("'{text}' is not a cursor of this list");
        ApiError::new(ErrorCode::BadValue, message, "send the `next` of the page before")
    })
}
