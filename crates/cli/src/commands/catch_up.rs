//! `retake catch-up`: records spooled events, after a hook that ran out of its budget.

use anyhow::Result;
use retake_service::request::RefreshProject;

use crate::context::{CommandContext, Exit};

pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    let project = context.retake.open(context.start_folder())?;
    context.run_request(&project, RefreshProject {})?;
    Ok(Exit::Done)
}
