//! Comments on an agent's work, and what agents are told of it.
//!
//! Invariants: an agent sees the comments that were sent to its own dialog and no others, answers
//! only those, and reads and takes only its own feedback.

use axum::extract::State;
use axum::response::Response;
use axum::{Extension, Json};
use retake_engine::model::{CommentKind, ReviewComment};
use retake_engine::{CommentPlace, FeedbackChannel, NewComment, OperationError, Project};
use retake_service::ApiError;
use retake_service::documents::{
    CommentDocument, CommentList, FeedbackDocument, LocatePaths as _, enum_schemas,
};
use retake_service::request::{AddComment, ChangeComment, CommentAct, SendComments, TakeFeedback};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, OptionalJsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE_SHOWING_CONTENT, HUMANS, OWN_DIALOG};
use super::bodies::bad_value;
use super::hunk_bodies::{FileWords, HunkBody, ScopeWords};
use super::stale_hunks::NamedHunks;
use super::{find_dialog, masking};
use crate::ProjectHandle;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(comments)))
        .routes(HUMANS.guard_route(routes!(add_comment)))
        .routes(HUMANS.guard_route(routes!(edit_comment, remove_comment)))
        .routes(HUMANS.guard_route(routes!(send_comments)))
        .routes(OWN_DIALOG.guard_route(routes!(answer_comment)))
        .routes(HUMANS.guard_route(routes!(resolve_comment)))
        .routes(OWN_DIALOG.showing_content().guard_route(routes!(feedback)))
        .routes(OWN_DIALOG.showing_content().guard_route(routes!(take_feedback)))
}

/// All comments with the lines where they are now, the oldest first. An agent is told of those that
/// were sent to its dialog.
#[utoipa::path(
    get, path = "/api/projects/{project}/comments", tag = "review",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The comments.", body = CommentList))
)]
async fn comments(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
) -> Result<Response, ErrorResponse> {
    state.refresh(id.clone()).await?;
    state
        .read_heavy(id, move |project| {
            let (reader, masking) = (caller.comment_reader(), masking(project));
            let mut located = project.comments()?;
            located.retain(|located| reader.sees(&located.comment));
            let comments = located.iter().map(|one| CommentDocument::located(one, masking));
            Ok(CommentList { comments: comments.collect() }.located(project.root()))
        })
        .await
}

/// A comment, and what it is about: a hunk, lines, a file, or, with none of them, the work as a
/// whole.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewComment)]
struct CommentBody {
    /// The words.
    text: String,
    /// What it asks; an order unless told otherwise.
    #[serde(default)]
    #[schema(schema_with = enum_schemas::comment_kind)]
    kind: Option<CommentKind>,
    /// The dialog whose agent it is for; the one that changed the place last unless told otherwise.
    dialog: Option<String>,
    /// The file.
    path: Option<String>,
    /// The same in hexadecimal digits, if it is not UTF-8.
    path_hex: Option<String>,
    /// The first and the last line of the file as it is, from 1.
    #[schema(value_type = Option<Vec<u32>>, example = json!([12, 14]))]
    lines: Option<(u32, u32)>,
    /// Instead of a file: a hunk, or some of its lines.
    hunk: Option<HunkBody>,
    /// The scope in which it is a hunk; `all` unless told otherwise.
    scope: Option<String>,
}

impl CommentBody {
    fn scope_words(&self) -> ScopeWords<'_> {
        ScopeWords { name: self.scope.as_deref(), ..ScopeWords::default() }
    }

    /// What that is in the project.
    fn comment(&self, project: &Project) -> Result<NewComment, ApiError> {
        Ok(NewComment {
            place: self.place(project)?,
            kind: self.kind.unwrap_or(CommentKind::Order),
            text: check_text(&self.text)?.to_owned(),
            dialog: self.dialog.as_deref().map(|id| find_dialog(project, id)).transpose()?,
        })
    }

    fn place(&self, project: &Project) -> Result<CommentPlace, ApiError> {
        let words = FileWords { path: self.path.as_deref(), path_hex: self.path_hex.as_deref() };
        match (&self.hunk, words.resolve(project)?, self.lines) {
            (Some(hunk), None, None) => {
                let (scope, hunk) = (self.scope_words().resolve(project)?, hunk.choice(project)?);
                Ok(CommentPlace::Hunk { scope: Box::new(scope), hunk })
            }
            (Some(_), ..) => {
                Err(bad_value("a hunk and a file are named", "name one of them; a hunk has `path`"))
            }
            (None, ..) if self.scope.is_some() => {
                Err(bad_value("`scope` is of a hunk", "name one in `hunk`"))
            }
            (None, Some(path), Some((first, last))) => {
                Ok(CommentPlace::Lines { path, first, last })
            }
            (None, None, Some(_)) => Err(bad_value("`lines` are of a file", "name it in `path`")),
            (None, Some(path), None) => Ok(CommentPlace::File(path)),
            (None, None, None) => Ok(CommentPlace::Work),
        }
    }
}

fn check_text(text: &str) -> Result<&str, ApiError> {
    if text.trim().is_empty() {
        return Err(bad_value("the text is empty", "say something"));
    }
    Ok(text)
}

/// Comments on a place, as a draft: no agent sees it until it is sent.
#[utoipa::path(
    post, path = "/api/projects/{project}/comments", tag = "review", request_body = CommentBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The comment.", body = CommentDocument))
)]
async fn add_comment(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<CommentBody>,
) -> Result<Json<CommentDocument>, ErrorResponse> {
    let scope = body.scope_words().name();
    let comment = state.read(id.clone(), move |project| body.comment(project)).await?;
    let hunks = NamedHunks::of_comment(scope, &comment);
    let add = move |handle: &ProjectHandle| {
        comment_document(handle, &handle.run(AddComment { comment })?).map(Json)
    };
    let added = state.with_project(id.clone(), add).await;
    match hunks {
        Some(hunks) => state.explain_stale(&caller, id, hunks, added).await,
        None => added,
    }
}

/// A comment whose lines were just there, as the client sees it.
fn comment_document(
    handle: &ProjectHandle,
    comment: &ReviewComment,
) -> Result<CommentDocument, ErrorResponse> {
    let document = |project: &Project| {
        Ok(CommentDocument::new(comment, masking(project)).located(project.root()))
    };
    Ok(handle.read(document)?)
}

/// Runs an act on a comment; returns the comment as it is then.
fn change_comment(
    handle: &ProjectHandle,
    id: u64,
    act: CommentAct,
) -> Result<Json<CommentDocument>, ErrorResponse> {
    handle.run(ChangeComment { id, act })?;
    let document = |project: &Project| {
        let all = project.comments()?;
        let found = all.iter().find(|located| located.id == id);
        let found = found.ok_or(OperationError::UnknownComment(id))?;
        Ok(CommentDocument::located(found, masking(project)).located(project.root()))
    };
    Ok(Json(handle.read(document)?))
}

/// Words.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CommentText)]
struct TextBody {
    /// The words.
    text: String,
}

/// Gives a draft other words.
#[utoipa::path(
    patch, path = "/api/projects/{project}/comments/{comment}", tag = "review",
    request_body = TextBody,
    params(
        ("project" = String, Path, description = "The project's id."),
        ("comment" = u64, Path, description = "The comment's number."),
    ),
    responses((status = 200, description = "The comment.", body = CommentDocument))
)]
async fn edit_comment(
    State(state): State<AppState>,
    PathParams((id, comment)): PathParams<(String, u64)>,
    JsonBody(body): JsonBody<TextBody>,
) -> Result<Json<CommentDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let text = check_text(&body.text)?.to_owned();
            change_comment(handle, comment, CommentAct::Edit(text))
        })
        .await
}

/// A comment that is gone.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
struct RemovedComment {
    /// Its number.
    removed: u64,
}

/// Removes a comment.
#[utoipa::path(
    delete, path = "/api/projects/{project}/comments/{comment}", tag = "review",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("comment" = u64, Path, description = "The comment's number."),
    ),
    responses((status = 200, description = "What was removed.", body = RemovedComment))
)]
async fn remove_comment(
    State(state): State<AppState>,
    PathParams((id, comment)): PathParams<(String, u64)>,
) -> Result<Json<RemovedComment>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            handle.run(ChangeComment { id: comment, act: CommentAct::Remove })?;
            Ok(Json(RemovedComment { removed: comment }))
        })
        .await
}

/// Which drafts.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Drafts)]
struct DraftsBody {
    /// These; all drafts unless told otherwise.
    ids: Option<Vec<u64>>,
}

/// Sends drafts to their agents, in one batch: all of them or, if one is no draft, none.
#[utoipa::path(
    post, path = "/api/projects/{project}/comments/send", tag = "review",
    request_body = Option<DraftsBody>,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was sent.", body = CommentList))
)]
async fn send_comments(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<DraftsBody>,
) -> Result<Json<CommentList>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let sent = match body.ids {
                // To the request no ids are all drafts.
                Some(ids) if ids.is_empty() => Vec::new(),
                ids => handle.run(SendComments { ids: ids.unwrap_or_default() })?,
            };
            let document = |project: &Project| {
                let masking = masking(project);
                let comments = sent.iter().map(|comment| CommentDocument::new(comment, masking));
                Ok(CommentList { comments: comments.collect() }.located(project.root()))
            };
            Ok(Json(handle.read(document)?))
        })
        .await
}

/// Answers a comment, as the agent that it was sent to.
#[utoipa::path(
    post, path = "/api/projects/{project}/comments/{comment}/answer", tag = "review",
    request_body = TextBody,
    params(
        ("project" = String, Path, description = "The project's id."),
        ("comment" = u64, Path, description = "The comment's number."),
    ),
    responses((status = 200, description = "The comment.", body = CommentDocument))
)]
async fn answer_comment(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams((id, comment)): PathParams<(String, u64)>,
    JsonBody(body): JsonBody<TextBody>,
) -> Result<Json<CommentDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let found = handle.read(|project| Ok(project.comment(comment)?))?;
            // To an agent there are no drafts.
            let found = found.filter(|found| caller.is_person() || found.batch.is_some());
            let found = found.ok_or(OperationError::UnknownComment(comment));
            if let Some(dialog) = &found.map_err(ApiError::from)?.dialog {
                caller.check_speaks_for(dialog)?;
            }
            let text = check_text(&body.text)?.to_owned();
            change_comment(handle, comment, CommentAct::Answer(text))
        })
        .await
}

/// Settles a comment.
#[utoipa::path(
    post, path = "/api/projects/{project}/comments/{comment}/resolve", tag = "review",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("comment" = u64, Path, description = "The comment's number."),
    ),
    responses((status = 200, description = "The comment.", body = CommentDocument))
)]
async fn resolve_comment(
    State(state): State<AppState>,
    PathParams((id, comment)): PathParams<(String, u64)>,
) -> Result<Json<CommentDocument>, ErrorResponse> {
    state.with_project(id, move |handle| change_comment(handle, comment, CommentAct::Resolve)).await
}

/// Whose feedback.
#[derive(Clone, Debug, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[schema(as = FeedbackOf)]
struct FeedbackDialog {
    /// The dialog.
    dialog: String,
}

/// What the agent of a dialog was not told of yet: comments that were sent, and rejections.
#[utoipa::path(
    get, path = "/api/projects/{project}/feedback", tag = "review",
    params(("project" = String, Path, description = "The project's id."), FeedbackDialog),
    responses((status = 200, description = "What waits.", body = FeedbackDocument))
)]
async fn feedback(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<FeedbackDialog>,
) -> Result<Json<FeedbackDocument>, ErrorResponse> {
    caller.check_speaks_for(&query.dialog.as_str().into())?;
    state
        .read(id, move |project| {
            let dialog = find_dialog(project, &query.dialog)?;
            let (items, text) = project.unheard_feedback(&dialog)?;
            Ok(Json(FeedbackDocument::waiting(&dialog.0, &items, &text, masking(project))))
        })
        .await
}

/// Takes what the agent of a dialog was not told of: from here on it counts as told.
#[utoipa::path(
    post, path = "/api/projects/{project}/feedback", tag = "review",
    request_body = FeedbackDialog,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What it is told.", body = FeedbackDocument))
)]
async fn take_feedback(
    State(state): State<AppState>,
    Extension(caller): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<FeedbackDialog>,
) -> Result<Json<FeedbackDocument>, ErrorResponse> {
    caller.check_speaks_for(&body.dialog.as_str().into())?;
    let channel =
        if caller.is_person() { FeedbackChannel::Clipboard } else { FeedbackChannel::Asked };
    state
        .with_project(id, move |handle| {
            let dialog = handle.read(|project| find_dialog(project, &body.dialog))?;
            let taken = handle.run(TakeFeedback { dialog: dialog.clone(), channel })?;
            let (items, text) = taken.unwrap_or_default();
            let masking = handle.read(|project| Ok(masking(project)))?;
            Ok(Json(FeedbackDocument::waiting(&dialog.0, &items, &text, masking).taken()))
        })
        .await
}
