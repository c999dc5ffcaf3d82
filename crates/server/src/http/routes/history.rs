//! Routes of conversations as the model gets them: read, import, export, condense, unhide.

use std::thread;

use axum::Json;
use axum::extract::State;
use retake_agents::history::Form;
use retake_engine::Project;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::Desk;
use super::super::error::Problem;
use super::super::input::{Asked, Body, Limit, Named, OptionalBody};
use super::super::operation::{EVERYONE, HUMANS, Operation, Users};
use super::{dialog, limit, masking, place_in_order};
use crate::documents::{
    CondensedHistory, ConversationView, ConversationViews, ExportedHistory, ImportedHistory,
    ModelHistory, ModelPage, agent_or_main,
};
use crate::history::{self, Found, Writing};
use crate::summary::HttpSummariser;
use crate::{Failure, Room, door, tokens};

/// Maximum bytes of an imported conversation.
const LARGEST_CONVERSATION: usize = 16 * 1024 * 1024;
/// Default number of messages at the end that are not condensed.
const KEPT: usize = 4;

pub(super) fn router() -> OpenApiRouter<Desk> {
    let import = Operation { users: Users::Humans, limit: Limit(LARGEST_CONVERSATION) };
    OpenApiRouter::new()
        .routes(EVERYONE.keep(routes!(messages)))
        .routes(EVERYONE.keep(routes!(views)))
        .routes(EVERYONE.keep(routes!(export)))
        .routes(import.keep(routes!(take_in)))
        .routes(HUMANS.keep(routes!(condense)))
        .routes(HUMANS.keep(routes!(back)))
}

/// Which messages of a conversation.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct MessagesAsked {
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
        MessagesAsked,
    ),
    responses((status = 200, description = "A page.", body = ModelHistory))
)]
async fn messages(
    State(desk): State<Desk>,
    Named((id, talk)): Named<(String, String)>,
    Asked(asked): Asked<MessagesAsked>,
) -> Result<Json<ModelHistory>, Problem> {
    let cursor = asked.cursor.map(place_in_order).transpose()?;
    let page = ModelPage { whole: asked.whole, cursor, limit: limit(asked.limit, 20)? };
    desk.read(id, move |project| {
        let (dialog, agent) = (dialog(project, &talk)?, agent_or_main(asked.agent.as_deref()));
        Ok(Json(ModelHistory::read(project, (&dialog, &agent), page, masking(project))?))
    })
    .await
}

/// Whose conversation.
#[derive(Debug, Default, Deserialize, IntoParams, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Whose {
    /// Of this agent; `main` unless told otherwise.
    agent: Option<String>,
}

/// What was condensed, rewound and brought back in a dialog, the oldest first.
#[utoipa::path(
    get, path = "/api/projects/{project}/dialogs/{dialog}/views", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
        Whose,
    ),
    responses((status = 200, description = "The views.", body = ConversationViews))
)]
async fn views(
    State(desk): State<Desk>,
    Named((id, talk)): Named<(String, String)>,
    Asked(whose): Asked<Whose>,
) -> Result<Json<ConversationViews>, Problem> {
    desk.read(id, move |project| {
        let (dialog, agent) = (dialog(project, &talk)?, agent_or_main(whose.agent.as_deref()));
        Ok(Json(ConversationViews::read(project, &dialog, &agent)?))
    })
    .await
}

/// How a conversation is to be written.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExportAsked {
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
        ExportAsked,
    ),
    responses((status = 200, description = "The file.", body = ExportedHistory))
)]
async fn export(
    State(desk): State<Desk>,
    Named((id, talk)): Named<(String, String)>,
    Asked(asked): Asked<ExportAsked>,
) -> Result<Json<ExportedHistory>, Problem> {
    let form = form(asked.form.as_deref())?.unwrap_or(Form::ApiHistory);
    desk.enter(id, move |room| {
        Ok(Json(room.read(|project| {
            let (dialog, agent) = (dialog(project, &talk)?, agent_or_main(asked.agent.as_deref()));
            let (whole, masking, at) = (asked.whole, masking(project), room.now());
            let how = Writing { form, whole, masking, at };
            Ok(ExportedHistory {
                form: form.to_string(),
                file_name: form.file_name(&dialog.0),
                content: history::export(project, (&dialog, &agent), how)?,
            })
        })?))
    })
    .await
}

/// A conversation to be taken in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewConversation {
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
    request_body = NewConversation,
    responses((status = 200, description = "What was taken in.", body = ImportedHistory))
)]
async fn take_in(
    State(desk): State<Desk>,
    Named((id, talk)): Named<(String, String)>,
    Body(asked): Body<NewConversation>,
) -> Result<Json<ImportedHistory>, Problem> {
    let form = form(asked.form.as_deref())?;
    desk.enter(id, move |room| {
        let found = Found::read("the content", asked.content.as_bytes(), form)?;
        let import = found.import(talk.as_str().into(), asked.agent.as_deref())?;
        let added = if asked.dry_run { None } else { Some(room.ask(import.clone())?) };
        Ok(Json(ImportedHistory::new(&found, &import, added.as_ref())))
    })
    .await
}

/// How a conversation is to be condensed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct CondenseRequest {
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
    request_body = Option<CondenseRequest>,
    responses((status = 200, description = "What was done.", body = CondensedHistory))
)]
async fn condense(
    State(desk): State<Desk>,
    Named((id, talk)): Named<(String, String)>,
    OptionalBody(asked): OptionalBody<CondenseRequest>,
) -> Result<Json<CondensedHistory>, Problem> {
    desk.enter(id, move |room| Ok(Json(condensed(room, &talk, &asked)?))).await
}

fn condensed(
    room: &Room,
    talk: &str,
    asked: &CondenseRequest,
) -> Result<CondensedHistory, Failure> {
    let keep = asked.keep.unwrap_or(KEPT);
    let plan = |project: &Project| {
        let (dialog, agent) = (dialog(project, talk)?, agent_or_main(asked.agent.as_deref()));
        let plan = project.plan_condense(&dialog, &agent, keep, &tokens::count)?;
        Ok((plan, project.settings().summary.clone(), masking(project)))
    };
    let (plan, settings, masking) = room.read(plan)?;
    if asked.dry_run {
        return Ok(CondensedHistory::planned(&plan));
    }
    let summariser = HttpSummariser::new(&settings, |name| std::env::var(name).ok())?;
    let asking = summariser.asking(&settings, &thread::sleep);
    let done = room.ask(door::Condense { with: plan.summarise(&asking, room.now())? })?;
    Ok(CondensedHistory::done(&plan, &done, masking))
}

/// Shows what was hidden last in a dialog again.
#[utoipa::path(
    post, path = "/api/projects/{project}/dialogs/{dialog}/history/back", tag = "dialogs",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("dialog" = String, Path, description = "The dialog's id."),
    ),
    request_body = Option<Whose>,
    responses((status = 200, description = "What is shown now.", body = ConversationView))
)]
async fn back(
    State(desk): State<Desk>,
    Named((id, talk)): Named<(String, String)>,
    OptionalBody(whose): OptionalBody<Whose>,
) -> Result<Json<ConversationView>, Problem> {
    desk.enter(id, move |room| {
        let dialog = room.read(|project| dialog(project, &talk))?;
        let agent = agent_or_main(whose.agent.as_deref());
        let view = room.ask(door::BringBack { dialog, agent })?;
        Ok(Json(ConversationView::from(&view)))
    })
    .await
}

fn form(name: Option<&str>) -> Result<Option<Form>, Failure> {
    let unknown = |error| Failure::new("bad_value", format!("{error}"), "name one of these");
    name.map(|name| name.parse().map_err(|error: <Form as std::str::FromStr>::Err| unknown(error)))
        .transpose()
}
