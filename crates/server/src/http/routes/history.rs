//! Routes of conversations as the model gets them: read, import, export, condense, unhide.

use std::thread;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use retake_agents::history::HistoryFormat;
use retake_engine::Project;
use retake_engine::model::{AgentRef, ErrorCode};
use retake_service::documents::{
    CondensedHistory, ConversationView, ConversationViews, ExportedHistory, ImportedHistory,
    ModelHistory, ModelPage, agent_or_main,
};
use retake_service::history::{self, ExportOptions, ParsedConversation};
use retake_service::summary::HttpSummariser;
use retake_service::{ApiError, request, tokens};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::error::ErrorResponse;
use super::super::extract::{BodyLimit, JsonBody, OptionalJsonBody, PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, EVERYONE_SHOWING_CONTENT, HUMANS, RoutePolicy};
use super::{MAX_PAGE_TEXT_BYTES, check_seq, find_dialog, masking, page_size};
use crate::ProjectHandle;

/// Maximum bytes of an imported conversation.
const MAX_CONVERSATION_BYTES: usize = 16 * 1024 * 1024;
/// Default number of messages at the end that are not condensed.
const DEFAULT_KEPT_MESSAGES: usize = 4;

pub(super) fn router() -> OpenApiRouter<AppState> {
    let import = RoutePolicy { limit: BodyLimit(MAX_CONVERSATION_BYTES), ..HUMANS };
    OpenApiRouter::new()
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(messages)))
        .routes(EVERYONE.guard_route(routes!(views)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(export)))
        .routes(import.guard_route(routes!(take_in)))
        .routes(HUMANS.guard_route(routes!(condense)))
        .routes(HUMANS.guard_route(routes!(back)))
}

/// Which messages of a conversation.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct MessagesQuery {
    /// Of this agent; `main` unless told otherwise.
    agent: Option<String>,
    /// Also those that are hidden.
    whole: bool,
    /// At most so many; 20 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// What the page after this one gave as `cursor`.
    cursor: Option<u64>,
}

/// What the model gets of a dialog: the newest page first, each page from old to new.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}/messages", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
        MessagesQuery,
    ),
    responses((status = 200, description = "A page.", body = ModelHistory))
)]
async fn messages(
    State(state): State<AppState>,
    PathParams((id, dialog_id)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<MessagesQuery>,
) -> Result<Response, ErrorResponse> {
    let cursor = query.cursor.map(check_seq).transpose()?;
    let limit = page_size(query.limit, 20)?;
    let page = ModelPage { whole: query.whole, cursor, limit, max_bytes: MAX_PAGE_TEXT_BYTES };
    state
        .read_heavy(id, move |project| {
            let (dialog, agent) =
                (find_dialog(project, &dialog_id)?, agent_or_main(query.agent.as_deref()));
            let of = AgentRef { dialog: &dialog, agent: &agent };
            Ok(ModelHistory::read(project, of, page, masking(project))?)
        })
        .await
}

/// Whose conversation.
#[derive(Debug, Default, Deserialize, IntoParams, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[schema(as = Whose)]
struct AgentQuery {
    /// Of this agent; `main` unless told otherwise.
    agent: Option<String>,
}

/// What was condensed, rewound and brought back in a dialog, the oldest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}/views", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
        AgentQuery,
    ),
    responses((status = 200, description = "The views.", body = ConversationViews))
)]
async fn views(
    State(state): State<AppState>,
    PathParams((id, dialog_id)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<AgentQuery>,
) -> Result<Json<ConversationViews>, ErrorResponse> {
    state
        .read(id, move |project| {
            let (dialog, agent) =
                (find_dialog(project, &dialog_id)?, agent_or_main(query.agent.as_deref()));
            Ok(Json(ConversationViews::read(project, &dialog, &agent)?))
        })
        .await
}

/// How a conversation is to be written.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct HistoryExportQuery {
    /// Of this agent; `main` unless told otherwise.
    agent: Option<String>,
    /// `claude-code`, `codex`, `gemini`, `opencode`, `copilot`, `cline`,
    /// `api_conversation_history` (unless told otherwise) or `ui_messages`.
    form: Option<String>,
    /// Also what is hidden.
    whole: bool,
}

/// A dialog's conversation as a file of an agent.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}/history/export", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
        HistoryExportQuery,
    ),
    responses((status = 200, description = "The file.", body = ExportedHistory))
)]
async fn export(
    State(state): State<AppState>,
    PathParams((id, dialog_id)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<HistoryExportQuery>,
) -> Result<Json<ExportedHistory>, ErrorResponse> {
    let form = parse_form(query.form.as_deref())?.unwrap_or(HistoryFormat::ApiHistory);
    state
        .with_project(id, move |handle| {
            Ok(Json(handle.read(|project| {
                let (dialog, agent) =
                    (find_dialog(project, &dialog_id)?, agent_or_main(query.agent.as_deref()));
                let (whole, masking, at) = (query.whole, masking(project), handle.now());
                let of = AgentRef { dialog: &dialog, agent: &agent };
                let options = ExportOptions { form, whole, masking, at };
                Ok(ExportedHistory {
                    form: form.to_string(),
                    file_name: form.file_name(&dialog.0),
                    content: history::export(project, of, options)?,
                })
            })?))
        })
        .await
}

/// A conversation to be taken in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewConversation)]
struct ConversationBody {
    /// The content of the file.
    content: String,
    /// How it is written; unless told, its content tells.
    form: Option<String>,
    /// The agent whose conversation it is; unless told, as the content says, else `main`.
    agent: Option<String>,
    /// Read it, and take nothing in.
    #[serde(default)]
    dry_run: bool,
}

/// Takes in a conversation that an agent wrote down; a dialog that is not known yet is made.
///
/// What is there already is not added again. If only a part can be read, that part is taken in,
/// and `problems` has the rest.
#[utoipa::path(
    post, path = "/api/projects/{project}/dialogs/{dialog}/history/import", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
    ),
    request_body = ConversationBody,
    responses((status = 200, description = "What was imported.", body = ImportedHistory))
)]
async fn take_in(
    State(state): State<AppState>,
    PathParams((id, dialog_id)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<ConversationBody>,
) -> Result<Json<ImportedHistory>, ErrorResponse> {
    let form = parse_form(body.form.as_deref())?;
    state
        .with_project(id, move |handle| {
            let found = ParsedConversation::parse("the content", body.content.as_bytes(), form)?;
            let import = found.import_request(dialog_id.as_str().into(), body.agent.as_deref())?;
            let added = if body.dry_run { None } else { Some(handle.run(import.clone())?) };
            Ok(Json(ImportedHistory::new(&found, &import, added.as_ref())))
        })
        .await
}

/// How a conversation is to be condensed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = CondenseRequest)]
struct CondenseBody {
    /// Of this agent; `main` unless told otherwise.
    agent: Option<String>,
    /// So many messages at the end stay as they are; 4 unless told otherwise.
    keep: Option<usize>,
    /// Only tell what would be summarised.
    dry_run: bool,
}

/// Lets a summary stand for the older messages of a dialog.
///
/// The model that `[summary]` in the settings names writes it, with the key that the daemon's
/// environment has. If that fails, the oldest quarter of them is hidden instead.
#[utoipa::path(
    post, path = "/api/projects/{project}/dialogs/{dialog}/history/condense", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
    ),
    request_body = Option<CondenseBody>,
    responses((status = 200, description = "What was done.", body = CondensedHistory))
)]
async fn condense(
    State(state): State<AppState>,
    PathParams((id, dialog_id)): PathParams<(String, String)>,
    OptionalJsonBody(body): OptionalJsonBody<CondenseBody>,
) -> Result<Json<CondensedHistory>, ErrorResponse> {
    state.with_project(id, move |handle| Ok(Json(run_condense(handle, &dialog_id, &body)?))).await
}

fn run_condense(
    handle: &ProjectHandle,
    dialog_id: &str,
    body: &CondenseBody,
) -> Result<CondensedHistory, ApiError> {
    let keep = body.keep.unwrap_or(DEFAULT_KEPT_MESSAGES);
    let plan = |project: &Project| {
        let (dialog, agent) =
            (find_dialog(project, dialog_id)?, agent_or_main(body.agent.as_deref()));
        let plan = project.plan_condense(&dialog, &agent, keep, &tokens::count_tokens)?;
        Ok((plan, project.settings().summary.clone(), masking(project)))
    };
    let (plan, settings, masking) = handle.read(plan)?;
    if body.dry_run {
        return Ok(CondensedHistory::planned(&plan));
    }
    let summariser = HttpSummariser::new(&settings, |name| std::env::var(name).ok())?;
    let asking = summariser.request_options(&settings, &thread::sleep);
    let done =
        handle.run(request::CondenseHistory { with: plan.summarise(&asking, handle.now())? })?;
    Ok(CondensedHistory::done(&plan, &done, masking))
}

/// Shows what was hidden last in a dialog again.
#[utoipa::path(
    post, path = "/api/projects/{project}/dialogs/{dialog}/history/back", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
    ),
    request_body = Option<AgentQuery>,
    responses((status = 200, description = "What is shown now.", body = ConversationView))
)]
async fn back(
    State(state): State<AppState>,
    PathParams((id, dialog_id)): PathParams<(String, String)>,
    OptionalJsonBody(body): OptionalJsonBody<AgentQuery>,
) -> Result<Json<ConversationView>, ErrorResponse> {
    state
        .with_project(id, move |handle| {
            let dialog = handle.read(|project| find_dialog(project, &dialog_id))?;
            let agent = agent_or_main(body.agent.as_deref());
            let view = handle.run(request::UnhideMessages { dialog, agent })?;
            Ok(Json(ConversationView::from(&view)))
        })
        .await
}

fn parse_form(name: Option<&str>) -> Result<Option<HistoryFormat>, ApiError> {
    let unknown =
        |error| ApiError::new(ErrorCode::BadValue, format!("{error}"), "name one of these");
    name.map(|name| {
        name.parse().map_err(|error: <HistoryFormat as std::str::FromStr>::Err| unknown(error))
    })
    .transpose()
}
