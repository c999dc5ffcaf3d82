//! `retake history`: shows, imports, exports and condenses conversations.

mod condense;
mod export;
mod import;
mod legacy;
mod show;

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::{AgentId, DialogId};
use retake_server::documents::agent_or_main;

use crate::args::{History, HistoryAct, Talk};
use crate::context::{Context, Exit, dialog_or_latest};
use crate::failure::Failure;

pub(super) fn run(context: &Context, options: &History) -> Result<Exit> {
    match &options.act {
        None => show::run(context, &options.show),
        Some(HistoryAct::Import(import)) => import::run(context, import),
        Some(HistoryAct::Export(export)) => export::run(context, export),
        Some(HistoryAct::Condense(condense)) => condense::run(context, condense),
        Some(HistoryAct::Back(talk)) => condense::back(context, talk),
    }
}

/// Resolves the dialog and agent of a conversation.
fn meant(project: &Project, talk: &Talk) -> Result<(DialogId, AgentId)> {
    let dialog = dialog_or_latest(project, talk.dialog.as_deref())?;
    let agent = agent_or_main(talk.agent.as_deref());
    let agents = project.dialogs()?.into_iter().find(|(one, _)| one.id == dialog);
    let known = agents.is_some_and(|(_, agents)| agents.iter().any(|one| one.id == agent));
    if known || talk.agent.is_none() {
        return Ok((dialog, agent));
    }
    Err(Failure::new(
        "unknown_agent",
        format!("dialog {dialog} has no agent '{agent}'"),
        "`retake dialogs` lists the agents of each dialog",
    )
    .into())
}
