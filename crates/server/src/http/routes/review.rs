//! Deciding on changes, and going back. Agents may see what would be done, and no more.

use axum::extract::State;
use axum::{Extension, Json};
use retake_engine::Cascade;
use retake_engine::model::OperationKind;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::Desk;
use super::super::error::Problem;
use super::super::input::{Asked, Body, Named, OptionalBody};
use super::super::operation::{EVERYONE, HUMANS, HUMANS_OR_DRY_RUNS};
use super::super::token::Scope;
use super::act::{Acted, carry_out, nothing};
use super::bodies::{Approve, Keep, Recover, Reset, Restore, Step, TakeBack};
use super::{dialog, limit, masking};
use crate::documents::{Accepted, Approved, Operations, Outcome, Recoverable};
use crate::door;

pub(super) fn router() -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .routes(HUMANS.keep(routes!(accept)))
        .routes(HUMANS_OR_DRY_RUNS.keep(routes!(reject)))
        .routes(HUMANS_OR_DRY_RUNS.keep(routes!(rollback)))
        .routes(HUMANS_OR_DRY_RUNS.keep(routes!(undo)))
        .routes(HUMANS_OR_DRY_RUNS.keep(routes!(redo)))
        .routes(HUMANS_OR_DRY_RUNS.keep(routes!(restore)))
        .routes(HUMANS_OR_DRY_RUNS.keep(routes!(reset)))
        .routes(HUMANS.keep(routes!(approve)))
        .routes(EVERYONE.keep(routes!(operations)))
        .routes(EVERYONE.keep(routes!(interrupted)))
        .routes(HUMANS.keep(routes!(recover)))
}

/// Keeps what agents changed. Writes no file: the change is in it already.
#[utoipa::path(
    post, path = "/api/projects/{project}/accept", tag = "review", request_body = Keep,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was accepted.", body = Accepted))
)]
async fn accept(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    Body(keep): Body<Keep>,
) -> Result<Json<Accepted>, Problem> {
    desk.enter(id, move |room| {
        let scope = room.read(|project| keep.scope(project))?;
        let accepted = room.ask(door::Accept { scope })?;
        Ok(Json(Accepted::new(&accepted, &keep.hunks)))
    })
    .await
}

/// Takes back changes that the person does not want.
///
/// Later changes of agents that build on them go with them, once that is agreed to.
#[utoipa::path(
    post, path = "/api/projects/{project}/reject", tag = "review", request_body = TakeBack,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or would be.", body = Acted))
)]
async fn reject(
    State(desk): State<Desk>,
    Extension(by): Extension<Scope>,
    Named(id): Named<String>,
    Body(asked): Body<TakeBack>,
) -> Result<Json<Acted>, Problem> {
    let consent = asked.consent().by(by)?;
    desk.enter(id, move |room| {
        let scope = room.read(|project| asked.scope(project))?;
        let taking = asked.taking(Cascade::Agents);
        let plan = room.ask(door::PlanReject { scope, taking })?;
        carry_out(room, plan, &consent).map(Json)
    })
    .await
}

/// Takes back changes, approved or not.
#[utoipa::path(
    post, path = "/api/projects/{project}/rollback", tag = "review", request_body = TakeBack,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or would be.", body = Acted))
)]
async fn rollback(
    State(desk): State<Desk>,
    Extension(by): Extension<Scope>,
    Named(id): Named<String>,
    Body(asked): Body<TakeBack>,
) -> Result<Json<Acted>, Problem> {
    let consent = asked.consent().by(by)?;
    desk.enter(id, move |room| {
        let scope = room.read(|project| asked.scope(project))?;
        let taking = asked.taking(Cascade::Leave);
        let plan = room.ask(door::PlanRollback { scope, taking })?;
        carry_out(room, plan, &consent).map(Json)
    })
    .await
}

/// Takes back the newest step: a turn, or what Retake did.
#[utoipa::path(
    post, path = "/api/projects/{project}/undo", tag = "review", request_body = Option<Step>,
    params(("project" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, description = "What was done, or would be; `operation` is null if there \
            is nothing to undo.", body = Acted),
    )
)]
async fn undo(
    State(desk): State<Desk>,
    Extension(by): Extension<Scope>,
    Named(id): Named<String>,
    OptionalBody(asked): OptionalBody<Step>,
) -> Result<Json<Acted>, Problem> {
    let consent = asked.consent().by(by)?;
    desk.enter(id, move |room| {
        let undo = door::PlanUndo { taking: asked.taking(), what: asked.rewind.into() };
        if let Some((plan, _)) = room.ask(undo)? {
            return carry_out(room, plan, &consent).map(Json);
        }
        let considered = room.read(|project| Ok(project.nothing_to_undo()?))?;
        nothing(Outcome::nothing_to_undo(&considered), &consent).map(Json)
    })
    .await
}

/// Brings back what was undone last.
#[utoipa::path(
    post, path = "/api/projects/{project}/redo", tag = "review", request_body = Option<Step>,
    params(("project" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, description = "What was done, or would be; `operation` is null if there \
            is nothing to redo.", body = Acted),
    )
)]
async fn redo(
    State(desk): State<Desk>,
    Extension(by): Extension<Scope>,
    Named(id): Named<String>,
    OptionalBody(asked): OptionalBody<Step>,
) -> Result<Json<Acted>, Problem> {
    let consent = asked.consent().by(by)?;
    desk.enter(id, move |room| {
        match room.ask(door::PlanRedo { taking: asked.taking(), what: asked.rewind.into() })? {
            Some((plan, _)) => carry_out(room, plan, &consent).map(Json),
            None => nothing(Outcome::nothing(OperationKind::Redo), &consent).map(Json),
        }
    })
    .await
}

/// Puts the files into the state of a checkpoint.
#[utoipa::path(
    post, path = "/api/projects/{project}/restore", tag = "review", request_body = Restore,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or would be.", body = Acted))
)]
async fn restore(
    State(desk): State<Desk>,
    Extension(by): Extension<Scope>,
    Named(id): Named<String>,
    Body(asked): Body<Restore>,
) -> Result<Json<Acted>, Problem> {
    let consent = asked.consent().by(by)?;
    desk.enter(id, move |room| {
        let (checkpoint, options) = room.read(|project| {
            let id = asked.checkpoint(project)?;
            Ok((project.find_checkpoint(&id)?, asked.options(project)?))
        })?;
        let what = asked.rewind.into();
        let plan = room.ask(door::PlanRestore { checkpoint, options, title: None, what })?;
        carry_out(room, plan, &consent).map(Json)
    })
    .await
}

/// Takes back what a dialog did since its last approval.
#[utoipa::path(
    post, path = "/api/projects/{project}/reset", tag = "review", request_body = Reset,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done, or would be.", body = Acted))
)]
async fn reset(
    State(desk): State<Desk>,
    Extension(by): Extension<Scope>,
    Named(id): Named<String>,
    Body(asked): Body<Reset>,
) -> Result<Json<Acted>, Problem> {
    let consent = asked.consent().by(by)?;
    desk.enter(id, move |room| {
        let dialog = room.read(|project| asked.dialog(project))?;
        let taking = asked.taking();
        let plan = room.ask(door::PlanReset { dialog, exact: asked.exact, taking })?;
        carry_out(room, plan, &consent).map(Json)
    })
    .await
}

/// Locks in what a dialog did.
#[utoipa::path(
    post, path = "/api/projects/{project}/approve", tag = "review", request_body = Approve,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was approved.", body = Approved))
)]
async fn approve(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    Body(asked): Body<Approve>,
) -> Result<Json<Approved>, Problem> {
    desk.enter(id, move |room| {
        let dialog = room.read(|project| dialog(project, &asked.dialog))?;
        let (id, message) = (dialog.clone(), asked.message);
        let approved = room.ask(door::Approve { dialog, message: message.clone() })?;
        let message = room.read(|project| Ok(masking(project).words(message.as_deref())))?;
        Ok(Json(Approved::new(&id, &approved, message.as_deref())))
    })
    .await
}

/// How many operations.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OperationsAsked {
    /// At most so many; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// What Retake did to the files, the newest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/operations", tag = "review",
    params(("project" = String, Path, description = "The project's id."), OperationsAsked),
    responses((status = 200, description = "The operations.", body = Operations))
)]
async fn operations(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    Asked(asked): Asked<OperationsAsked>,
) -> Result<Json<Operations>, Problem> {
    desk.read(id, move |project| {
        let limit = limit(asked.limit, 100)?;
        let operations = Operations::from(project.operations(limit)?.as_slice());
        Ok(Json(operations.masked(masking(project))))
    })
    .await
}

/// The operation that was interrupted, if one was: nothing is undone before it is settled.
#[utoipa::path(
    get, path = "/api/projects/{project}/operations/interrupted", tag = "review",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The operation, or null.", body = Recoverable))
)]
async fn interrupted(
    State(desk): State<Desk>,
    Named(id): Named<String>,
) -> Result<Json<Recoverable>, Problem> {
    desk.read(id, |project| {
        let recoverable = Recoverable::from(project.interrupted()?.as_ref());
        Ok(Json(recoverable.masked(masking(project))))
    })
    .await
}

/// Settles the operation that was interrupted.
#[utoipa::path(
    post, path = "/api/projects/{project}/recover", tag = "review", request_body = Recover,
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "What was done.", body = Outcome))
)]
async fn recover(
    State(desk): State<Desk>,
    Named(id): Named<String>,
    Body(asked): Body<Recover>,
) -> Result<Json<Outcome>, Problem> {
    desk.enter(id, move |room| {
        let Some(applied) = room.ask(door::Recover { how: asked.how.into() })? else {
            let hint = "there is nothing to do";
            return Err(Problem::new("nothing_interrupted", "no operation was interrupted", hint));
        };
        Ok(Json(
            room.read(|project| Ok(Outcome::applied(project, &applied)?.masked(masking(project))))?,
        ))
    })
    .await
}
