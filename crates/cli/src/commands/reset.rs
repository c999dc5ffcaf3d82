//! `retake reset`: take back what a dialog did since its last approval.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::Cascade;
use retake_server::documents::ResetOutcome;
use retake_server::door::PlanReset;

use crate::args::Reset;
use crate::context::{Context, Exit, dialog_or_latest};
use crate::outcome::{carry_out, summary};

pub(super) fn run(context: &Context, options: &Reset) -> Result<Exit> {
    let project = context.open_to_write()?;
    let dialog = dialog_or_latest(&project, options.dialog.as_deref())?;
    let taking = options.taking.options(Cascade::Leave);
    let asked = PlanReset { dialog: dialog.clone(), exact: options.exact, taking };
    let plan = context.ask(&project, asked)?;
    let outcome = carry_out(context, &project, plan, &options.manner)?;
    let active = project.store().active_session(&dialog)?.map(|session| session.name());
    let new_session = active.filter(|_| outcome.operation.is_some());
    if context.json {
        let done = ResetOutcome { outcome: outcome.document(&project)?, new_session };
        context.out.json(&done)?;
        return Ok(outcome.exit());
    }
    outcome.show(context, &project, &options.manner, &|outcome| {
        let mut text = summary(context, &project, outcome)?;
        if let Some(name) = &new_session {
            let _ = writeln!(text, "What comes next is in {name}.");
        }
        Ok(text)
    })
}
