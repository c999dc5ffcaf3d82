//! `retake catch-up`: what a hook leaves to another process: events that it spooled when its budget
//! was used up, and rejections that waited for the end of a turn.

use anyhow::Result;
use retake_service::request::{CarryOutRejections, RefreshProject};

use crate::context::{CommandContext, Exit};

pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    let project = context.retake.open(context.start_folder())?;
    context.run_request(&project, RefreshProject {})?;
    if project.has_waiting_rejections()? {
        context.run_request(&project, CarryOutRejections {})?;
    }
    Ok(Exit::Done)
}
