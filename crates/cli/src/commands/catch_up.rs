//! `retake catch-up`: records spooled events, after a hook that ran out of its budget.

use anyhow::Result;
use retake_server::door::Look;

use crate::context::{Context, Exit};

pub(super) fn run(context: &Context) -> Result<Exit> {
    let project = context.retake.open(context.start())?;
    context.ask(&project, Look {})?;
    Ok(Exit::Done)
}
