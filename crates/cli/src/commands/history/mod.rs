//! `retake history`: shows, imports, exports and condenses conversations.

mod condense;
mod export;
mod import;
mod legacy;
mod show;

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::{AgentId, DialogId, ErrorCode};
use retake_service::documents::agent_or_main;

use crate::args::{ConversationArgs, HistoryArgs, HistoryCommand};
use crate::context::{CommandContext, Exit, dialog_or_latest};
use crate::failure::ApiError;

pub(super) fn run(context: &CommandContext, options: &HistoryArgs) -> Result<Exit> {
    match &options.command {
        None => show::run(context, &options.show),
        Some(HistoryCommand::Import(import)) => import::run(context, import),
        Some(HistoryCommand::Export(export)) => export::run(context, export),
        Some(HistoryCommand::Condense(condense)) => condense::run(context, condense),
        Some(HistoryCommand::Back(conversation)) => {
            condense::restore_previous_view(context, conversation)
        }
    }
}

/// Resolves the dialog and agent of a conversation.
fn resolve_conversation(
    project: &Project,
    conversation: &ConversationArgs,
) -> Result<(DialogId, AgentId)> {
    let dialog = dialog_or_latest(project, conversation.dialog.as_deref())?;
    let agent = agent_or_main(conversation.agent.as_deref());
    let agents = project.dialogs()?.into_iter().find(|(one, _)| one.id == dialog);
    let known = agents.is_some_and(|(_, agents)| agents.iter().any(|one| one.id == agent));
    if known || conversation.agent.is_none() {
        return Ok((dialog, agent));
    }
    Err(ApiError::new(
        ErrorCode::UnknownAgent,
        format!("{} has no agent '{agent}'", project.dialog_name(&dialog)?),
        "`retake dialogs` lists the agents of each dialog",
    )
    .into())
}
