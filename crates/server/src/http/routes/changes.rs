//! What was changed, and by whom.

use axum::extract::State;
use axum::response::Response;
use retake_engine::model::{
    Actor, AgentId, Change as Recorded, ChangeId, ChangeStatus, Confidence, DialogId, ErrorCode,
    Millis,
};
use retake_engine::{BlameBody, ChangeFilter, Project};
use retake_service::ApiError;
use retake_service::documents::{
    BlameDocument, ChangeDocument, ChangeTotalsDocument, LoadRepeats as _, LocatePaths as _,
    enum_schemas,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{CommaList, PathParams, QueryParams, split_values};
use super::super::route_policy::{EVERYONE, EVERYONE_SHOWING_CONTENT};
use super::{
    check_seq, find_agent, find_dialog, masking, page_size, parse_change_id, resolve_path,
};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE.guard_route(routes!(changes)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(blame)))
}

/// Maximum hunks of a page of changes; the later ones have none.
const MAX_PAGE_HUNKS: usize = 10_000;

/// Which changes; what is given all must hold. Of several values, separated by commas, one must.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ChangesQuery {
    /// Of one of these dialogs.
    #[param(value_type = Vec<String>, style = Form, explode = false, required = false)]
    dialog: Option<String>,
    /// Of one of these agents.
    #[param(value_type = Vec<String>, style = Form, explode = false, required = false)]
    agent: Option<String>,
    /// Of this file, or of everything in this folder.
    path: Option<String>,
    /// With one of these review statuses, which only what agents did has.
    #[param(schema_with = enum_schemas::change_statuses, style = Form, explode = false)]
    #[param(required = false)]
    status: CommaList<ChangeStatus>,
    /// By one of these actors.
    #[param(schema_with = enum_schemas::actors, style = Form, explode = false, required = false)]
    actor: CommaList<Actor>,
    /// With one of these confidences.
    #[param(schema_with = enum_schemas::confidences, style = Form, explode = false)]
    #[param(required = false)]
    confidence: CommaList<Confidence>,
    /// Of this turn of the dialog, which has to be given.
    turn: Option<u64>,
    /// By this call, alone or among others.
    call: Option<String>,
    /// By calls that the message with this index in the agent's history carried, in the dialog,
    /// which has to be given.
    message_index: Option<u64>,
    /// Recorded at this time or later, in milliseconds since the epoch.
    since: Option<Millis>,
    /// Newer than the change with this `seq`, and then the oldest first: what a client missed. The
    /// `next` of the page before, or the `last` of an earlier answer.
    after: Option<u64>,
    /// Older than the change with this `seq`: the `next` of the page before.
    before: Option<u64>,
    /// At most so many; 100 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Whether to add up all changes that fit, on whichever page they are.
    totals: bool,
}

impl ChangesQuery {
    fn filter(&self, project: &Project) -> Result<ChangeFilter, ApiError> {
        self.check_dialog()?;
        Ok(ChangeFilter {
            dialogs: find_dialogs(project, self.dialog.as_deref())?,
            agents: find_agents(project, self.agent.as_deref())?,
            path: self.path.as_deref().map(|path| resolve_path(project, path)).transpose()?,
            statuses: self.status.0.clone(),
            actors: self.actor.0.clone(),
            confidences: self.confidence.0.clone(),
            turn: self.turn.map(check_seq).transpose()?,
            call: self.call.as_deref().map(Into::into),
            message_index: self.message_index.map(check_seq).transpose()?,
            since: self.since,
            after: self.after.map(check_seq).transpose()?,
            before: self.before.map(check_seq).transpose()?.map(ChangeId),
            oldest_first: self.after.is_some(),
            ..ChangeFilter::default()
        })
    }

    /// Turns and messages are counted in each dialog.
    fn check_dialog(&self) -> Result<(), ApiError> {
        let given = [("turn", self.turn), ("message_index", self.message_index)];
        match given.into_iter().find(|(_, number)| number.is_some()) {
            Some((name, Some(number))) if self.dialog.is_none() => Err(ApiError::new(
                ErrorCode::BadValue,
                format!("`{name}` is {number}, and `dialog` is missing"),
                "say which dialog with `dialog`",
            )),
            _ => Ok(()),
        }
    }
}

/// The dialogs with these ids, separated by commas.
fn find_dialogs(project: &Project, ids: Option<&str>) -> Result<Vec<DialogId>, ApiError> {
    let Some(ids) = ids else { return Ok(Vec::new()) };
    // An id is whatever the agent likes.
    if let Ok(one) = find_dialog(project, ids) {
        return Ok(vec![one]);
    }
    split_values("dialog", ids)?.map(|id| find_dialog(project, id)).collect()
}

/// The agents with these ids, separated by commas.
fn find_agents(project: &Project, ids: Option<&str>) -> Result<Vec<AgentId>, ApiError> {
    let Some(ids) = ids else { return Ok(Vec::new()) };
    if let Ok(one) = find_agent(project, ids) {
        return Ok(vec![one]);
    }
    split_values("agent", ids)?.map(|id| find_agent(project, id)).collect()
}

/// A page of changes.
#[derive(Debug, Serialize, ToSchema)]
struct ChangesPage {
    /// The changes, newest first; oldest first with `after`.
    changes: Vec<ChangeDocument>,
    /// What to send as `before`, or as `after` if that was sent, for the next page; null if this
    /// was the last.
    next: Option<u64>,
    /// The newest place in the project's order: what is recorded later comes after it, here with
    /// `after` and in the event stream.
    last: u64,
    /// The sums over all changes that fit, on whichever page they are, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    totals: Option<ChangeTotalsDocument>,
}

/// What was changed, the newest first, page by page.
#[utoipa::path(
    get, path = "/api/projects/{project}/changes", tag = "changes",
    params(("project" = String, Path, description = "The project's id."), ChangesQuery),
    responses((status = 200, description = "A page of changes.", body = ChangesPage))
)]
async fn changes(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ChangesQuery>,
) -> Result<Response, ErrorResponse> {
    state
        .read_heavy(id, move |project| {
            let limit = page_size(query.limit, 100)?;
            let filter = ChangeFilter { limit: Some(limit + 1), ..query.filter(project)? };
            let page = project.change_page(&filter, query.totals, MAX_PAGE_HUNKS)?;
            let mut found = page.changes;
            let is_last = found.len() <= limit;
            found.truncate(limit);
            Ok(ChangesPage {
                next: found.last().filter(|_| !is_last).map(|change| change.id.0),
                changes: change_documents(project, &found)?,
                last: page.last_seq,
                totals: page.totals.map(ChangeTotalsDocument::from),
            })
        })
        .await
}

/// Changes with their absolute paths, and the rejections whose lines they bring again.
fn change_documents(
    project: &Project,
    changes: &[Recorded],
) -> Result<Vec<ChangeDocument>, ApiError> {
    let documents: Vec<_> = changes.iter().map(ChangeDocument::from).collect();
    Ok(documents.with_repeats(project, masking(project))?.located(project.root()))
}

/// A change of the project.
pub(super) fn find_change(project: &Project, id: &str) -> Result<Recorded, ApiError> {
    project.change(parse_change_id(id)?)?.ok_or_else(|| {
        let message = format!("there is no change {id}");
        ApiError::new(
            ErrorCode::UnknownChange,
            message,
            "GET /api/projects/{project}/changes lists them",
        )
    })
}

/// Which file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct BlameQuery {
    /// The file.
    #[param(example = "src/main.rs")]
    path: String,
}

/// Who wrote each line of a file.
#[utoipa::path(
    get, path = "/api/projects/{project}/blame", tag = "changes",
    params(("project" = String, Path, description = "The project's id."), BlameQuery),
    responses(
        (status = 200, description = "The lines. A file without lines to tell of (binary, too \
            large, not captured) has none.", body = BlameDocument),
    )
)]
async fn blame(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<BlameQuery>,
) -> Result<Response, ErrorResponse> {
    state
        .read_heavy(id, move |project| {
            let path = resolve_path(project, &query.path)?;
            let Some(blame) = project.blame(&path)? else {
                let message = format!("'{}' is no file on record", query.path);
                return Err(ApiError::new(
                    ErrorCode::UnknownFile,
                    message,
                    "name a file that is tracked",
                ));
            };
            let lines = match &blame.body {
                BlameBody::Lines(lines) => lines.as_slice(),
                BlameBody::Binary | BlameBody::TooLarge | BlameBody::NotCaptured => &[],
            };
            let document = BlameDocument::new(&blame, lines, masking(project));
            Ok(document.located(project.root()))
        })
        .await
}
