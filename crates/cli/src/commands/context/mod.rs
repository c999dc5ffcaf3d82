//! `retake context`: the files that agents have read, and which of them changed since.

mod mark;
mod metadata;
mod show;

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::{AgentId, DialogId, ErrorCode, MAIN_AGENT};

use crate::args::{ContextAgentArgs, ContextArgs, ContextCommand};
use crate::context::{CommandContext, Exit, dialog_or_latest};
use crate::failure::ApiError;

pub(super) fn run(context: &CommandContext, options: &ContextArgs) -> Result<Exit> {
    match &options.command {
        None => show::run(context, &options.show),
        Some(ContextCommand::Mark(options)) => mark::run(context, options),
        Some(ContextCommand::Export(options)) => metadata::export(context, options),
        Some(ContextCommand::Import(options)) => metadata::import(context, options),
    }
}

/// Resolves the agent: the main one, unless another is named.
fn resolve_agent(project: &Project, of: &ContextAgentArgs) -> Result<(DialogId, AgentId)> {
    let dialog = dialog_or_latest(project, of.dialog.as_deref())?;
    let agent = match &of.agent {
        Some(name) => find_agent(project, &dialog, name)?,
        None => AgentId::from(MAIN_AGENT),
    };
    Ok((dialog, agent))
}

/// Finds an agent of the dialog by its id.
fn find_agent(project: &Project, dialog: &DialogId, name: &str) -> Result<AgentId> {
    let mut agents = project.agents(dialog)?.into_iter();
    match agents.find(|agent| agent.id.0 == name) {
        Some(agent) => Ok(agent.id),
        None => Err(ApiError::new(
            ErrorCode::UnknownAgent,
            format!("{} has no agent '{name}'", project.dialog_name(dialog)?),
            "`retake dialogs` lists the agents of each dialog",
        )
        .into()),
    }
}
