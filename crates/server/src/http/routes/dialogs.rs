//! One dialog, wherever it is: its messages, checkpoints, session and approval (API-6…API-11).
//!
//! The answers have exactly the fields of the requirements, so they cannot say "in part": what
//! these routes cannot do whole they do not do, and say why.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use retake_engine::model::{DialogId, ErrorCode, RewindScope};
use retake_engine::{GoToOptions, Project, TakeBackOptions};
use retake_service::ApiError;
use retake_service::documents::{
    ApproveDialogBody, ApproveResult, DialogCheckpoints, DialogHistory, HistoryPage, ResetResult,
    RestoreDialogBody, RestoreResult, SessionStatusDocument,
};
use retake_service::request::{self, RefreshProject};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, OptionalJsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE_SHOWING_CONTENT, HUMANS};
use super::apply::{Consent, apply_plan_whole};
use super::{MAX_PAGE_TEXT_BYTES, check_seq, masking, page_size};
use crate::ProjectHandle;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(history)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(dialog_checkpoints)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(session)))
        .routes(HUMANS.guard_route(routes!(approve_dialog)))
        .routes(HUMANS.guard_route(routes!(reset_dialog)))
        .routes(HUMANS.guard_route(routes!(restore_dialog)))
}

/// Which project.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ProjectQuery {
    /// The project's id, if several projects have the dialog.
    pub(super) project: Option<String>,
}

/// Which page of a dialog.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct HistoryQuery {
    /// At most so many; 20 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// What the page after this one gave as `cursor`.
    cursor: Option<u64>,
    /// Also what is hidden since the conversation was rewound.
    whole: bool,
    /// The project's id, if several projects have the dialog.
    project: Option<String>,
}

/// What was said in a dialog: the newest page first, each page from old to new.
#[utoipa::path(
    get, path = "/api/dialogs/{dialog_id}/history", tag = "dialogs",
    params(("dialog_id" = String, Path, description = "The dialog's id."), HistoryQuery),
    responses((status = 200, description = "A page.", body = DialogHistory))
)]
async fn history(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<HistoryQuery>,
) -> Result<Response, ErrorResponse> {
    let limit = page_size(query.limit, 20)?;
    let cursor = query.cursor.map(check_seq).transpose()?;
    state
        .read_heavy_of_dialog(dialog, query.project, move |handle, dialog| {
            Ok(handle.read(|project| {
                let max_bytes = MAX_PAGE_TEXT_BYTES;
                let page = HistoryPage { cursor, limit, whole: query.whole, max_bytes };
                Ok(DialogHistory::read(project, dialog, page, masking(project))?)
            })?)
        })
        .await
}

/// The checkpoints of a dialog, the oldest first.
#[utoipa::path(
    get, path = "/api/dialogs/{dialog_id}/checkpoints", tag = "dialogs",
    params(("dialog_id" = String, Path, description = "The dialog's id."), ProjectQuery),
    responses((status = 200, description = "The checkpoints.", body = DialogCheckpoints))
)]
async fn dialog_checkpoints(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Json<DialogCheckpoints>, ErrorResponse> {
    state
        .with_dialog(dialog, query.project, |handle, dialog| {
            Ok(Json(
                handle.read(|project| {
                    Ok(DialogCheckpoints::read(project, dialog, masking(project))?)
                })?,
            ))
        })
        .await
}

/// Where a dialog stands since its last approval.
#[utoipa::path(
    get, path = "/api/dialogs/{dialog_id}/session", tag = "dialogs",
    params(("dialog_id" = String, Path, description = "The dialog's id."), ProjectQuery),
    responses((status = 200, description = "The session.", body = SessionStatusDocument))
)]
async fn session(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Response, ErrorResponse> {
    state
        .with_dialog(dialog.clone(), query.project.clone(), |handle, _| {
            // What is on record is worth telling even if nothing can be added to it.
            let _ = handle.run(RefreshProject {});
            Ok(())
        })
        .await?;
    state
        .read_heavy_of_dialog(dialog, query.project, |handle, dialog| {
            let read =
                |project: &Project| SessionStatusDocument::read(project, dialog, masking(project));
            Ok(handle.read(read)?)
        })
        .await
}

/// Locks in what a dialog did.
#[utoipa::path(
    post, path = "/api/dialogs/{dialog_id}/approve", tag = "dialogs",
    request_body = Option<ApproveDialogBody>,
    params(("dialog_id" = String, Path, description = "The dialog's id."), ProjectQuery),
    responses((status = 200, description = "What was approved.", body = ApproveResult))
)]
async fn approve_dialog(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<ProjectQuery>,
    OptionalJsonBody(body): OptionalJsonBody<ApproveDialogBody>,
) -> Result<Json<ApproveResult>, ErrorResponse> {
    state
        .with_dialog(dialog, query.project, move |handle, dialog| {
            let approve = request::ApproveDialog { dialog: dialog.clone(), message: body.message };
            Ok(Json(ApproveResult::from(&handle.run(approve)?)))
        })
        .await
}

/// What is agreed to by asking for it: files that agents made are deleted. Edits of the person
/// and of other dialogs are never touched here.
fn consent() -> Consent {
    Consent { agreed: vec!["deletes_files".to_owned()], ..Consent::default() }
}

/// Takes back what a dialog did since its last approval, whole or not at all.
///
/// Edits of the person or of other dialogs are never touched; where that is needed (409), the
/// project's `reset` shows what is asked.
#[utoipa::path(
    post, path = "/api/dialogs/{dialog_id}/reset", tag = "dialogs",
    params(("dialog_id" = String, Path, description = "The dialog's id."), ProjectQuery),
    responses((status = 200, description = "What was done.", body = ResetResult))
)]
async fn reset_dialog(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Json<ResetResult>, ErrorResponse> {
    state
        .with_dialog(dialog, query.project, |handle, dialog| {
            let taking = TakeBackOptions::default();
            let plan =
                handle.run(request::PlanReset { dialog: dialog.clone(), exact: false, taking })?;
            apply_plan_whole(handle, plan, &consent())?;
            Ok(Json(active_session(handle, dialog)?))
        })
        .await
}

fn active_session(handle: &ProjectHandle, dialog: &DialogId) -> Result<ResetResult, ApiError> {
    handle.read(|project| {
        let session = project.active_session(dialog)?.ok_or_else(|| {
            let message = format!("dialog {dialog} has no session yet");
            ApiError::new(
                ErrorCode::UnknownSession,
                message,
                "it has one once an agent changed a file",
            )
        })?;
        Ok(ResetResult { reset_to: session.base.to_string(), new_session: session.name() })
    })
}

/// Puts the files into the state of a checkpoint, whole or not at all.
///
/// Edits of the person or of other dialogs are never touched; where that is needed (409), the
/// project's `restore` shows what is asked.
#[utoipa::path(
    post, path = "/api/dialogs/{dialog_id}/restore", tag = "dialogs",
    request_body = RestoreDialogBody,
    params(("dialog_id" = String, Path, description = "The dialog's id."), ProjectQuery),
    responses((status = 200, description = "What was done.", body = RestoreResult))
)]
async fn restore_dialog(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<ProjectQuery>,
    JsonBody(body): JsonBody<RestoreDialogBody>,
) -> Result<Json<RestoreResult>, ErrorResponse> {
    state
        .with_dialog(dialog, query.project, move |handle, dialog| {
            let checkpoint =
                handle.read(|project| Ok(project.find_checkpoint(&body.checkpoint_id)?))?;
            if checkpoint.dialog.as_ref() != Some(dialog) {
                let message = format!("dialog '{dialog}' has no checkpoint {}", body.checkpoint_id);
                let hint = "/api/projects/{project}/restore takes any checkpoint";
                return Err(ErrorResponse::new(ErrorCode::UnknownCheckpoint, message, hint));
            }
            let restored_to = checkpoint.id.to_string();
            let options = GoToOptions::default();
            let plan = handle.run(request::PlanRestore {
                checkpoint,
                options,
                title: None,
                what: RewindScope::Files,
            })?;
            let done = apply_plan_whole(handle, plan, &consent())?;
            Ok(Json(RestoreResult { restored_to, new_checkpoint: done.outcome.checkpoint }))
        })
        .await
}
