//! Deciding on changes, and going back. Agents may see what would be done, and no more.

use axum::extract::State;
use axum::{Extension, Json};
use retake_engine::CascadePolicy;
use retake_engine::model::{ErrorCode, OperationKind};
use retake_service::documents::{
    AcceptedDocument, ApprovedDocument, LocatePaths as _, OperationList, OperationOutcome,
    RecoverableOperation,
};
use retake_service::request;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, OptionalJsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, EVERYONE_SHOWING_CONTENT, HUMANS, HUMANS_OR_DRY_RUNS};
use super::apply::{OperationResponse, apply_plan, nothing_to_apply};
use super::bodies::{
    AcceptBody, ApproveBody, RecoverBody, ResetBody, RestoreBody, StepBody, TakeBackBody,
};
use super::{find_dialog, masking, page_size};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(HUMANS.guard_route(routes!(accept)))
        .routes(HUMANS_OR_DRY_RUNS.guard_route(routes!(reject)))
        .routes(HUMANS_OR_DRY_RUNS.guard_route(routes!(rollback)))
        .routes(HUMANS_OR_DRY_RUNS.guard_route(routes!(undo)))
        .routes(HUMANS_OR_DRY_RUNS.guard_route(routes!(redo)))
        .routes(HUMANS_OR_DRY_RUNS.guard_route(routes!(restore)))
        .routes(HUMANS_OR_DRY_RUNS.guard_route(routes!(reset)))
        .routes(HUMANS.guard_route(routes!(approve)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(operations)))
        .routes(EVERYONE.guard_route(routes!(interrupted)))
        .routes(HUMANS.guard_route(routes!(recover)))
}

/// Keeps what agents changed. Writes no file: the change is in it already.
#[utoipa::path(
    post, path = "/api/projects/{project}/accept", tag = "review", request_body = AcceptBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was accepted.", body = AcceptedDocument))
)]
async fn accept(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(keep): JsonBody<AcceptBody>,
) -> Result<Json<AcceptedDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let scope = handle.read(|project| keep.scope(project))?;
            let accepted = handle.run(request::AcceptChanges { scope })?;
            Ok(Json(AcceptedDocument::new(&accepted, &keep.hunks)))
        })
        .await
}

/// Takes back changes that the person does not want.
///
/// Later changes of agents that build on them go with them, once that is agreed to.
#[utoipa::path(
    post, path = "/api/projects/{project}/reject", tag = "review", request_body = TakeBackBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or would be.", body = OperationResponse))
)]
async fn reject(
    State(state): State<AppState>,
    Extension(by): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<TakeBackBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = body.consent().check_caller(&by)?;
    state
        .with_project(id, move |handle| {
            let scope = handle.read(|project| body.scope(project))?;
            let taking = body.take_back_options(CascadePolicy::Agents);
            let plan = handle.run(request::PlanReject { scope, taking })?;
            apply_plan(handle, plan.because(body.reason), &consent).map(Json)
        })
        .await
}

/// Takes back changes, approved or not.
#[utoipa::path(
    post, path = "/api/projects/{project}/rollback", tag = "review", request_body = TakeBackBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or would be.", body = OperationResponse))
)]
async fn rollback(
    State(state): State<AppState>,
    Extension(by): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<TakeBackBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = body.consent().check_caller(&by)?;
    state
        .with_project(id, move |handle| {
            body.check_no_reason()?;
            let scope = handle.read(|project| body.scope(project))?;
            let taking = body.take_back_options(CascadePolicy::Leave);
            let plan = handle.run(request::PlanRollback { scope, taking })?;
            apply_plan(handle, plan, &consent).map(Json)
        })
        .await
}

/// Takes back the newest step: a turn, or what Retake did.
#[utoipa::path(
    post, path = "/api/projects/{project}/undo", tag = "review", request_body = Option<StepBody>,
    params(("project" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, description = "What was done, or would be; `operation` is null if there \
            is nothing to undo.", body = OperationResponse),
    )
)]
async fn undo(
    State(state): State<AppState>,
    Extension(by): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<StepBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = body.consent().check_caller(&by)?;
    state
        .with_project(id, move |handle| {
            let undo =
                request::PlanUndo { taking: body.take_back_options(), what: body.rewind.into() };
            if let Some((plan, _)) = handle.run(undo)? {
                return apply_plan(handle, plan, &consent).map(Json);
            }
            let considered = handle.read(|project| Ok(project.nothing_to_undo()?))?;
            nothing_to_apply(OperationOutcome::nothing_to_undo(&considered), &consent).map(Json)
        })
        .await
}

/// Brings back what was undone last.
#[utoipa::path(
    post, path = "/api/projects/{project}/redo", tag = "review", request_body = Option<StepBody>,
    params(("project" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, description = "What was done, or would be; `operation` is null if there \
            is nothing to redo.", body = OperationResponse),
    )
)]
async fn redo(
    State(state): State<AppState>,
    Extension(by): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<StepBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = body.consent().check_caller(&by)?;
    state
        .with_project(id, move |handle| {
            match handle.run(request::PlanRedo {
                taking: body.take_back_options(),
                what: body.rewind.into(),
            })? {
                Some((plan, _)) => apply_plan(handle, plan, &consent).map(Json),
                None => nothing_to_apply(OperationOutcome::nothing(OperationKind::Redo), &consent)
                    .map(Json),
            }
        })
        .await
}

/// Puts the files into the state of a checkpoint.
#[utoipa::path(
    post, path = "/api/projects/{project}/restore", tag = "review", request_body = RestoreBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or would be.", body = OperationResponse))
)]
async fn restore(
    State(state): State<AppState>,
    Extension(by): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<RestoreBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = body.consent().check_caller(&by)?;
    state
        .with_project(id, move |handle| {
            let (checkpoint, options) = handle.read(|project| {
                let id = body.checkpoint(project)?;
                Ok((project.find_checkpoint(&id)?, body.options(project)?))
            })?;
            let what = body.rewind.into();
            let plan =
                handle.run(request::PlanRestore { checkpoint, options, title: None, what })?;
            apply_plan(handle, plan, &consent).map(Json)
        })
        .await
}

/// Takes back what a dialog did since its last approval.
#[utoipa::path(
    post, path = "/api/projects/{project}/reset", tag = "review", request_body = ResetBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or would be.", body = OperationResponse))
)]
async fn reset(
    State(state): State<AppState>,
    Extension(by): Extension<HttpCaller>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<ResetBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = body.consent().check_caller(&by)?;
    state
        .with_project(id, move |handle| {
            let dialog = handle.read(|project| body.dialog(project))?;
            let taking = body.take_back_options();
            let plan = handle.run(request::PlanReset { dialog, exact: body.exact, taking })?;
            apply_plan(handle, plan, &consent).map(Json)
        })
        .await
}

/// Locks in what a dialog did.
#[utoipa::path(
    post, path = "/api/projects/{project}/approve", tag = "review", request_body = ApproveBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was approved.", body = ApprovedDocument))
)]
async fn approve(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<ApproveBody>,
) -> Result<Json<ApprovedDocument>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let dialog = handle.read(|project| find_dialog(project, &body.dialog))?;
            let (id, message) = (dialog.clone(), body.message);
            let approved =
                handle.run(request::ApproveDialog { dialog, message: message.clone() })?;
            let message =
                handle.read(|project| Ok(masking(project).mask_optional(message.as_deref())))?;
            Ok(Json(ApprovedDocument::new(&id, &approved, message.as_deref())))
        })
        .await
}

/// How many operations.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OperationsQuery {
    /// At most so many; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// What Retake did to the files, the newest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/operations", tag = "review",
    params(("project" = String, Path, description = "The project's id."), OperationsQuery),
    responses((status = 200, description = "The operations.", body = OperationList))
)]
async fn operations(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<OperationsQuery>,
) -> Result<Json<OperationList>, ErrorResponse> {
    state
        .read(id, move |project| {
            let limit = page_size(query.limit, 100)?;
            let operations = OperationList::read(project, &project.operations(limit)?)?;
            Ok(Json(operations.masked(masking(project))))
        })
        .await
}

/// The operation that was interrupted, if one was: nothing is undone before it is settled.
#[utoipa::path(
    get, path = "/api/projects/{project}/operations/interrupted", tag = "review",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The operation, or null.", body = RecoverableOperation))
)]
async fn interrupted(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
) -> Result<Json<RecoverableOperation>, ErrorResponse> {
    state
        .read(id, |project| {
            let recoverable = RecoverableOperation::from(project.interrupted()?.as_ref());
            Ok(Json(recoverable.masked(masking(project)).located(project.root())))
        })
        .await
}

/// Settles the operation that was interrupted.
#[utoipa::path(
    post, path = "/api/projects/{project}/recover", tag = "review", request_body = RecoverBody,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done.", body = OperationOutcome))
)]
async fn recover(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<RecoverBody>,
) -> Result<Json<OperationOutcome>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let Some(applied) = handle.run(request::RecoverOperation { how: body.how.into() })?
            else {
                let hint = "there is nothing to do";
                return Err(ErrorResponse::new(
                    ErrorCode::NothingInterrupted,
                    "no operation was interrupted",
                    hint,
                ));
            };
            Ok(Json(handle.read(|project| {
                Ok(OperationOutcome::applied(project, &applied)?.masked(masking(project)))
            })?))
        })
        .await
}
