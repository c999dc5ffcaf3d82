//! One dialog's records, decided one by one or all at once (API-1…API-5, G-1).
//!
//! `{id}` is the dialog (C-1). A record that another needs goes with it (REV-5); an edit of the
//! person never does.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use retake_engine::model::{ChangeId, DialogId, ErrorCode};
use retake_engine::{CascadePolicy, Selection, TakeBackOptions};
use retake_service::ApiError;
use retake_service::documents::{
    ContentBudget, FileChangeRecord, FileChanges, ReviewedFileChanges,
};
use retake_service::request::{self, ChangeScope};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{PathParams, QueryParams};
use super::super::route_policy::{EVERYONE_SHOWING_CONTENT, HUMANS};
use super::apply::{Consent, apply_plan_whole};
use super::dialogs::ProjectQuery;
use super::masking;
use crate::ProjectHandle;

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(file_changes)))
        .routes(HUMANS.guard_route(routes!(accept_one)))
        .routes(HUMANS.guard_route(routes!(reject_one)))
        .routes(HUMANS.guard_route(routes!(accept_all)))
        .routes(HUMANS.guard_route(routes!(reject_all)))
}

/// Every record of a dialog with its status, the oldest first.
#[utoipa::path(
    get, path = "/sessions/{id}/file-changes", tag = "file changes",
    params(("id" = String, Path, description = "The dialog's id."), ProjectQuery),
    responses((status = 200, description = "The records.", body = FileChanges))
)]
async fn file_changes(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Response, ErrorResponse> {
    state
        .read_heavy_of_dialog(dialog, query.project, |handle, dialog| {
            Ok(handle.read(|project| Ok(FileChanges::read(project, dialog, masking(project))?))?)
        })
        .await
}

/// Keeps one record.
#[utoipa::path(
    post, path = "/sessions/{id}/file-changes/{tool_call_id}/accept", tag = "file changes",
    params(
        ("id" = String, Path, description = "The dialog's id."),
        ("tool_call_id" = String, Path, description = "The record's name."),
        ProjectQuery,
    ),
    responses((status = 200, description = "The record as it is now.", body = ReviewedFileChanges))
)]
async fn accept_one(
    State(state): State<AppState>,
    PathParams((dialog, record)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Json<ReviewedFileChanges>, ErrorResponse> {
    state
        .with_dialog(dialog, query.project, move |handle, dialog| {
            let change = find_change(handle, dialog, &record)?;
            accept(handle, dialog, Selection { changes: vec![change], ..Selection::default() })
        })
        .await
}

/// Takes back one record, and those that need it.
#[utoipa::path(
    post, path = "/sessions/{id}/file-changes/{tool_call_id}/reject", tag = "file changes",
    params(
        ("id" = String, Path, description = "The dialog's id."),
        ("tool_call_id" = String, Path, description = "The record's name."),
        ProjectQuery,
    ),
    responses(
        (status = 200, description = "The records as they are now.", body = ReviewedFileChanges),
    )
)]
async fn reject_one(
    State(state): State<AppState>,
    PathParams((dialog, record)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Json<ReviewedFileChanges>, ErrorResponse> {
    state
        .with_dialog(dialog, query.project, move |handle, dialog| {
            let change = find_change(handle, dialog, &record)?;
            refuse_decided(handle, change)?;
            reject(handle, dialog, Selection { changes: vec![change], ..Selection::default() })
        })
        .await
}

/// Keeps every pending record of a dialog.
#[utoipa::path(
    post, path = "/sessions/{id}/file-changes/accept-all", tag = "file changes",
    params(("id" = String, Path, description = "The dialog's id."), ProjectQuery),
    responses(
        (status = 200, description = "The records as they are now.", body = ReviewedFileChanges),
    )
)]
async fn accept_all(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Json<ReviewedFileChanges>, ErrorResponse> {
    state
        .with_dialog(dialog, query.project, |handle, dialog| {
            accept(
                handle,
                dialog,
                Selection { dialog: Some(dialog.clone()), ..Selection::default() },
            )
        })
        .await
}

/// Takes back every pending record of a dialog.
#[utoipa::path(
    post, path = "/sessions/{id}/file-changes/reject-all", tag = "file changes",
    params(("id" = String, Path, description = "The dialog's id."), ProjectQuery),
    responses(
        (status = 200, description = "The records as they are now.", body = ReviewedFileChanges),
    )
)]
async fn reject_all(
    State(state): State<AppState>,
    PathParams(dialog): PathParams<String>,
    QueryParams(query): QueryParams<ProjectQuery>,
) -> Result<Json<ReviewedFileChanges>, ErrorResponse> {
    state
        .with_dialog(dialog, query.project, |handle, dialog| {
            reject(
                handle,
                dialog,
                Selection { dialog: Some(dialog.clone()), ..Selection::default() },
            )
        })
        .await
}

/// The change that a record is of.
fn find_change(
    handle: &ProjectHandle,
    dialog: &DialogId,
    name: &str,
) -> Result<ChangeId, ApiError> {
    let found = handle.read(|project| Ok(project.file_record(dialog, name)?))?;
    found.map(|record| record.change.id).ok_or_else(|| {
        let message = format!("dialog {dialog} has no record '{name}'");
        ApiError::new(
            ErrorCode::UnknownRecord,
            message,
            "GET /sessions/{id}/file-changes lists them",
        )
    })
}

/// What was taken back is not taken back again (G-1).
fn refuse_decided(handle: &ProjectHandle, id: ChangeId) -> Result<(), ApiError> {
    let change = handle.read(|project| Ok(project.change(id)?))?;
    match change.filter(|change| !change.is_effective()) {
        None => Ok(()),
        Some(change) => {
            let message = format!("the record was {} before", change.status);
            Err(ApiError::new(ErrorCode::Decided, message, "the project's `undo` takes that back"))
        }
    }
}

fn accept(
    handle: &ProjectHandle,
    dialog: &DialogId,
    selection: Selection,
) -> Result<Json<ReviewedFileChanges>, ErrorResponse> {
    let accepted = handle.run(request::AcceptChanges { scope: ChangeScope::Changes(selection) })?;
    let decided = accepted.changes.into_iter().chain(accepted.already).collect();
    Ok(Json(reviewed(handle, dialog, &decided, &BTreeSet::new())?))
}

fn reject(
    handle: &ProjectHandle,
    dialog: &DialogId,
    selection: Selection,
) -> Result<Json<ReviewedFileChanges>, ErrorResponse> {
    let taking = TakeBackOptions { cascade: CascadePolicy::Agents, ..TakeBackOptions::default() };
    let plan =
        handle.run(request::PlanReject { scope: ChangeScope::Changes(selection), taking })?;
    let decided = plan.writes().flat_map(|file| file.changes.iter().copied()).collect();
    let cascaded = plan.cascaded.iter().copied().collect();
    // REV-5: that later records go with it is what rejecting means here.
    let consent = Consent { agreed: vec!["cascades".to_owned()], ..Consent::default() };
    apply_plan_whole(handle, plan, &consent)?;
    Ok(Json(reviewed(handle, dialog, &decided, &cascaded)?))
}

/// The records as they are now.
fn reviewed(
    handle: &ProjectHandle,
    dialog: &DialogId,
    decided: &BTreeSet<ChangeId>,
    cascaded: &BTreeSet<ChangeId>,
) -> Result<ReviewedFileChanges, ApiError> {
    handle.read(|project| {
        let mut budget = ContentBudget::default();
        let mut answer = ReviewedFileChanges { file_changes: Vec::new(), cascaded: Vec::new() };
        let ids: BTreeSet<_> = decided.union(cascaded).copied().collect();
        for record in project.file_records_of(dialog, ids)? {
            if decided.contains(&record.change.id) {
                let document =
                    FileChangeRecord::read(project, &record, masking(project), &mut budget)?;
                answer.file_changes.push(document);
            }
            if cascaded.contains(&record.change.id) {
                answer.cascaded.push(record.tool_call_id);
            }
        }
        Ok(answer)
    })
}
