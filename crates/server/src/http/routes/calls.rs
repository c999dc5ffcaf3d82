//! What agents did in a dialog: its turns, their calls of tools, and what these changed.

use axum::Json;
use axum::extract::State;
use retake_engine::model::{CallId, ErrorCode};
use retake_engine::{CallPage, Dialog, Project};
use retake_service::ApiError;
use retake_service::documents::{CallList, ShownCall, TurnDocument, TurnList};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{PathParams, QueryParams};
use super::super::route_policy::EVERYONE_SHOWING_CONTENT;
use super::{check_seq, find_dialog, masking, page_size, unknown_dialog};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(turns)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(turn)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(calls)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(call)))
}

/// Which turns.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TurnsQuery {
    /// With a number below this one: the `next` of the page before.
    before: Option<u64>,
    /// At most so many; 50 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The turns of a dialog, the newest first, page by page.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}/turns", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
        TurnsQuery,
    ),
    responses((status = 200, description = "A page of turns.", body = TurnList))
)]
async fn turns(
    State(state): State<AppState>,
    PathParams((id, dialog)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<TurnsQuery>,
) -> Result<Json<TurnList>, ErrorResponse> {
    state
        .read(id, move |project| {
            let limit = page_size(query.limit, 50)?;
            let before = query.before.map(check_seq).transpose()?;
            let dialog = read_dialog(project, &dialog)?;
            Ok(Json(TurnList::read(project, &dialog, before, limit, masking(project))?))
        })
        .await
}

/// One turn of a dialog.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}/turns/{turn}", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
        ("turn" = u64, Path, description = "The turn's number.", example = 1),
    ),
    responses((status = 200, description = "The turn.", body = TurnDocument))
)]
async fn turn(
    State(state): State<AppState>,
    PathParams((id, dialog, turn)): PathParams<(String, String, u64)>,
) -> Result<Json<TurnDocument>, ErrorResponse> {
    state
        .read(id, move |project| {
            let dialog = read_dialog(project, &dialog)?;
            let turn = check_seq(turn)?;
            let found = TurnDocument::read(project, &dialog, turn, masking(project))?;
            found.map(Json).ok_or_else(|| unknown_turn(&dialog, turn))
        })
        .await
}

/// Which calls.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CallsQuery {
    /// Of this turn.
    turn: Option<u64>,
    /// Of this agent.
    agent: Option<String>,
    /// After this one: the `next` of the page before.
    after: Option<u64>,
    /// At most so many; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The calls of tools in a dialog, the oldest first, page by page.
///
/// `/changes?dialog=…&call=…` lists what each of them changed.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}/calls", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
        CallsQuery,
    ),
    responses((status = 200, description = "A page of calls.", body = CallList))
)]
async fn calls(
    State(state): State<AppState>,
    PathParams((id, dialog)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<CallsQuery>,
) -> Result<Json<CallList>, ErrorResponse> {
    state
        .read(id, move |project| {
            let dialog = find_dialog(project, &dialog)?;
            let page = CallPage {
                turn: query.turn.map(check_seq).transpose()?,
                agent: query.agent.as_deref().map(Into::into),
                after: query.after.map(check_seq).transpose()?.map(|row| row as i64),
                limit: page_size(query.limit, 100)?,
            };
            Ok(Json(CallList::read(project, &dialog, &page, masking(project))?))
        })
        .await
}

/// One call, what it was made for, and what it changed.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}/calls/{call}", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
        ("call" = String, Path, description = "The agent's id of the call.", example = "toolu_01"),
    ),
    responses((status = 200, description = "The call.", body = ShownCall))
)]
async fn call(
    State(state): State<AppState>,
    PathParams((id, dialog, call)): PathParams<(String, String, String)>,
) -> Result<Json<ShownCall>, ErrorResponse> {
    state
        .read(id, move |project| {
            let dialog = find_dialog(project, &dialog)?;
            let call = CallId(call);
            let found = ShownCall::read(project, &dialog, &call, masking(project))?;
            found.map(Json).ok_or_else(|| {
                let message = format!("dialog '{dialog}' has no call '{call}'");
                let hint = "GET /api/projects/{project}/dialogs/{dialog}/calls lists them";
                ApiError::new(ErrorCode::UnknownCall, message, hint)
            })
        })
        .await
}

/// A dialog of the project, with what is on record of it.
fn read_dialog(project: &Project, id: &str) -> Result<Dialog, ApiError> {
    let id = id.into();
    project.dialog(&id)?.ok_or_else(|| unknown_dialog(&id))
}

fn unknown_turn(dialog: &Dialog, turn: u64) -> ApiError {
    let message = format!("dialog '{}' has no turn {turn}", dialog.id);
    let hint = "GET /api/projects/{project}/dialogs/{dialog}/turns lists them";
    ApiError::new(ErrorCode::UnknownTurn, message, hint)
}
