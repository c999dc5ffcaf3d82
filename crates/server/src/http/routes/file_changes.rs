//! One dialog's records, decided one by one or all at once (API-1…API-5, G-1).
//!
//! `{id}` is the dialog (C-1). A record that another needs goes with it (REV-5); an edit of the
//! person never does.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use retake_engine::model::{ChangeId, DialogId};
use retake_engine::{Cascade, Selection, TakeBackOptions};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::Desk;
use super::super::error::Problem;
use super::super::input::{Asked, Named};
use super::super::operation::{EVERYONE, HUMANS};
use super::act::{Consent, carry_out_whole};
use super::dialogs::In;
use super::masking;
use crate::documents::{FileChangeRecord, FileChanges, ReviewedFileChanges};
use crate::door::{self, Scope};
use crate::{Failure, Room};

pub(super) fn router() -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .routes(EVERYONE.keep(routes!(file_changes)))
        .routes(HUMANS.keep(routes!(accept_one)))
        .routes(HUMANS.keep(routes!(reject_one)))
        .routes(HUMANS.keep(routes!(accept_all)))
        .routes(HUMANS.keep(routes!(reject_all)))
}

/// Every record of a dialog with its status, the oldest first.
#[utoipa::path(
    get, path = "/sessions/{id}/file-changes", tag = "file changes",
    params(("id" = String, Path, description = "The dialog's id."), In),
    responses((status = 200, description = "The records.", body = FileChanges))
)]
async fn file_changes(
    State(desk): State<Desk>,
    Named(dialog): Named<String>,
    Asked(within): Asked<In>,
) -> Result<Json<FileChanges>, Problem> {
    desk.enter_dialog(dialog, within.project, |room, dialog| {
        Ok(Json(room.read(|project| Ok(FileChanges::read(project, dialog, masking(project))?))?))
    })
    .await
}

/// Keeps one record.
#[utoipa::path(
    post, path = "/sessions/{id}/file-changes/{tool_call_id}/accept", tag = "file changes",
    params(
        ("id" = String, Path, description = "The dialog's id."),
        ("tool_call_id" = String, Path, description = "The record's name."),
        In,
    ),
    responses((status = 200, description = "The record as it is now.", body = ReviewedFileChanges))
)]
async fn accept_one(
    State(desk): State<Desk>,
    Named((dialog, record)): Named<(String, String)>,
    Asked(within): Asked<In>,
) -> Result<Json<ReviewedFileChanges>, Problem> {
    desk.enter_dialog(dialog, within.project, move |room, dialog| {
        let change = find(room, dialog, &record)?;
        accept(room, dialog, Selection { changes: vec![change], ..Selection::default() })
    })
    .await
}

/// Takes back one record, and those that need it.
#[utoipa::path(
    post, path = "/sessions/{id}/file-changes/{tool_call_id}/reject", tag = "file changes",
    params(
        ("id" = String, Path, description = "The dialog's id."),
        ("tool_call_id" = String, Path, description = "The record's name."),
        In,
    ),
    responses(
        (status = 200, description = "The records as they are now.", body = ReviewedFileChanges),
    )
)]
async fn reject_one(
    State(desk): State<Desk>,
    Named((dialog, record)): Named<(String, String)>,
    Asked(within): Asked<In>,
) -> Result<Json<ReviewedFileChanges>, Problem> {
    desk.enter_dialog(dialog, within.project, move |room, dialog| {
        let change = find(room, dialog, &record)?;
        refuse_decided(room, change)?;
        reject(room, dialog, Selection { changes: vec![change], ..Selection::default() })
    })
    .await
}

/// Keeps every pending record of a dialog.
#[utoipa::path(
    post, path = "/sessions/{id}/file-changes/accept-all", tag = "file changes",
    params(("id" = String, Path, description = "The dialog's id."), In),
    responses(
        (status = 200, description = "The records as they are now.", body = ReviewedFileChanges),
    )
)]
async fn accept_all(
    State(desk): State<Desk>,
    Named(dialog): Named<String>,
    Asked(within): Asked<In>,
) -> Result<Json<ReviewedFileChanges>, Problem> {
    desk.enter_dialog(dialog, within.project, |room, dialog| {
        accept(room, dialog, Selection { dialog: Some(dialog.clone()), ..Selection::default() })
    })
    .await
}

/// Takes back every pending record of a dialog.
#[utoipa::path(
    post, path = "/sessions/{id}/file-changes/reject-all", tag = "file changes",
    params(("id" = String, Path, description = "The dialog's id."), In),
    responses(
        (status = 200, description = "The records as they are now.", body = ReviewedFileChanges),
    )
)]
async fn reject_all(
    State(desk): State<Desk>,
    Named(dialog): Named<String>,
    Asked(within): Asked<In>,
) -> Result<Json<ReviewedFileChanges>, Problem> {
    desk.enter_dialog(dialog, within.project, |room, dialog| {
        reject(room, dialog, Selection { dialog: Some(dialog.clone()), ..Selection::default() })
    })
    .await
}

/// The change that a record is of.
fn find(room: &Room, dialog: &DialogId, name: &str) -> Result<ChangeId, Failure> {
    let records = room.read(|project| Ok(project.file_records(dialog)?))?;
    let found = records.iter().find(|record| record.tool_call_id == name);
    found.map(|record| record.change.id).ok_or_else(|| {
        let message = format!("dialog {dialog} has no record '{name}'");
        Failure::new("unknown_record", message, "GET /sessions/{id}/file-changes lists them")
    })
}

/// What was taken back is not taken back again (G-1).
fn refuse_decided(room: &Room, id: ChangeId) -> Result<(), Failure> {
    let change = room.read(|project| Ok(project.change(id)?))?;
    match change.filter(|change| !change.is_effective()) {
        None => Ok(()),
        Some(change) => {
            let message = format!("the record was {} before", change.status);
            Err(Failure::new("decided", message, "the project's `undo` takes that back"))
        }
    }
}

fn accept(
    room: &Room,
    dialog: &DialogId,
    selection: Selection,
) -> Result<Json<ReviewedFileChanges>, Problem> {
    let accepted = room.ask(door::Accept { scope: Scope::Changes(selection) })?;
    let decided = accepted.changes.into_iter().chain(accepted.already).collect();
    Ok(Json(reviewed(room, dialog, &decided, &BTreeSet::new())?))
}

fn reject(
    room: &Room,
    dialog: &DialogId,
    selection: Selection,
) -> Result<Json<ReviewedFileChanges>, Problem> {
    let taking = TakeBackOptions { cascade: Cascade::Agents, ..TakeBackOptions::default() };
    let plan = room.ask(door::PlanReject { scope: Scope::Changes(selection), taking })?;
    let decided = plan.writes().flat_map(|file| file.changes.iter().copied()).collect();
    let cascaded = plan.cascaded.iter().copied().collect();
    // REV-5: that later records go with it is what rejecting means here.
    let consent = Consent { agreed: vec!["cascades".to_owned()], ..Consent::default() };
    carry_out_whole(room, plan, &consent)?;
    Ok(Json(reviewed(room, dialog, &decided, &cascaded)?))
}

/// The records as they are now.
fn reviewed(
    room: &Room,
    dialog: &DialogId,
    decided: &BTreeSet<ChangeId>,
    cascaded: &BTreeSet<ChangeId>,
) -> Result<ReviewedFileChanges, Failure> {
    room.read(|project| {
        let mut answer = ReviewedFileChanges { file_changes: Vec::new(), cascaded: Vec::new() };
        for record in project.file_records(dialog)? {
            if decided.contains(&record.change.id) {
                let told = FileChangeRecord::read(project, &record, masking(project))?;
                answer.file_changes.push(told);
            }
            if cascaded.contains(&record.change.id) {
                answer.cascaded.push(record.tool_call_id);
            }
        }
        Ok(answer)
    })
}
