//! Deciding on changes, and going back. Agents may see what would be done, and no more.

use axum::extract::State;
use axum::{Extension, Json};
use retake_engine::CascadePolicy;
use retake_engine::model::OperationKind;
use retake_service::documents::{
    AcceptedDocument, ApprovedDocument, OperationList, OperationOutcome, RecoverableOperation,
};
use retake_service::request;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{JsonBody, OptionalJsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, HUMANS, HUMANS_OR_DRY_RUNS};
use super::super::token::TokenScope;
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
        .routes(EVERYONE.guard_route(routes!(operations)))
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
    State(desk): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(keep): JsonBody<AcceptBody>,
) -> Result<Json<AcceptedDocument>, ErrorResponse> {
    desk.with_project(id, move |room| {
        let scope = room.read(|project| keep.scope(project))?;
        let accepted = room.run(request::AcceptChanges { scope })?;
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
    State(desk): State<AppState>,
    Extension(by): Extension<TokenScope>,
    PathParams(id): PathParams<String>,
    JsonBody(asked): JsonBody<TakeBackBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = asked.consent().check_scope(by)?;
    desk.with_project(id, move |room| {
        let scope = room.read(|project| asked.scope(project))?;
        let taking = asked.take_back_options(CascadePolicy::Agents);
        let plan = room.run(request::PlanReject { scope, taking })?;
        apply_plan(room, plan, &consent).map(Json)
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
    State(desk): State<AppState>,
    Extension(by): Extension<TokenScope>,
    PathParams(id): PathParams<String>,
    JsonBody(asked): JsonBody<TakeBackBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = asked.consent().check_scope(by)?;
    desk.with_project(id, move |room| {
        let scope = room.read(|project| asked.scope(project))?;
        let taking = asked.take_back_options(CascadePolicy::Leave);
        let plan = room.run(request::PlanRollback { scope, taking })?;
        apply_plan(room, plan, &consent).map(Json)
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
    State(desk): State<AppState>,
    Extension(by): Extension<TokenScope>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(asked): OptionalJsonBody<StepBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = asked.consent().check_scope(by)?;
    desk.with_project(id, move |room| {
        let undo =
            request::PlanUndo { taking: asked.take_back_options(), what: asked.rewind.into() };
        if let Some((plan, _)) = room.run(undo)? {
            return apply_plan(room, plan, &consent).map(Json);
        }
        let considered = room.read(|project| Ok(project.nothing_to_undo()?))?;
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
    State(desk): State<AppState>,
    Extension(by): Extension<TokenScope>,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(asked): OptionalJsonBody<StepBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = asked.consent().check_scope(by)?;
    desk.with_project(id, move |room| {
        match room.run(request::PlanRedo {
            taking: asked.take_back_options(),
            what: asked.rewind.into(),
        })? {
            Some((plan, _)) => apply_plan(room, plan, &consent).map(Json),
            None => {
                nothing_to_apply(OperationOutcome::nothing(OperationKind::Redo), &consent).map(Json)
            }
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
    State(desk): State<AppState>,
    Extension(by): Extension<TokenScope>,
    PathParams(id): PathParams<String>,
    JsonBody(asked): JsonBody<RestoreBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = asked.consent().check_scope(by)?;
    desk.with_project(id, move |room| {
        let (checkpoint, options) = room.read(|project| {
            let id = asked.checkpoint(project)?;
            Ok((project.find_checkpoint(&id)?, asked.options(project)?))
        })?;
        let what = asked.rewind.into();
        let plan = room.run(request::PlanRestore { checkpoint, options, title: None, what })?;
        apply_plan(room, plan, &consent).map(Json)
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
    State(desk): State<AppState>,
    Extension(by): Extension<TokenScope>,
    PathParams(id): PathParams<String>,
    JsonBody(asked): JsonBody<ResetBody>,
) -> Result<Json<OperationResponse>, ErrorResponse> {
    let consent = asked.consent().check_scope(by)?;
    desk.with_project(id, move |room| {
        let dialog = room.read(|project| asked.dialog(project))?;
        let taking = asked.take_back_options();
        let plan = room.run(request::PlanReset { dialog, exact: asked.exact, taking })?;
        apply_plan(room, plan, &consent).map(Json)
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
    State(desk): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(asked): JsonBody<ApproveBody>,
) -> Result<Json<ApprovedDocument>, ErrorResponse> {
    desk.with_project(id, move |room| {
        let dialog = room.read(|project| find_dialog(project, &asked.dialog))?;
        let (id, message) = (dialog.clone(), asked.message);
        let approved = room.run(request::ApproveDialog { dialog, message: message.clone() })?;
        let message =
            room.read(|project| Ok(masking(project).mask_optional(message.as_deref())))?;
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
    State(desk): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(asked): QueryParams<OperationsQuery>,
) -> Result<Json<OperationList>, ErrorResponse> {
    desk.read(id, move |project| {
        let limit = page_size(asked.limit, 100)?;
        let operations = OperationList::from(project.operations(limit)?.as_slice());
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
    State(desk): State<AppState>,
    PathParams(id): PathParams<String>,
) -> Result<Json<RecoverableOperation>, ErrorResponse> {
    desk.read(id, |project| {
        let recoverable = RecoverableOperation::from(project.interrupted()?.as_ref());
        Ok(Json(recoverable.masked(masking(project))))
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
    State(desk): State<AppState>,
    PathParams(id): PathParams<String>,
    JsonBody(asked): JsonBody<RecoverBody>,
) -> Result<Json<OperationOutcome>, ErrorResponse> {
    desk.with_project(id, move |room| {
        let Some(applied) = room.run(request::RecoverOperation { how: asked.how.into() })? else {
            let hint = "there is nothing to do";
            return Err(ErrorResponse::new(
                "nothing_interrupted",
                "no operation was interrupted",
                hint,
            ));
        };
        Ok(Json(room.read(|project| {
            Ok(OperationOutcome::applied(project, &applied)?.masked(masking(project)))
        })?))
    })
    .await
}
