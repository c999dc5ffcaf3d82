//! `retake reset`: take back what a dialog did since its last approval.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::Cascade;
use retake_engine::model::OperationKind;
use retake_server::documents::{Outcome, ResetOutcome};
use retake_server::door::PlanReset;

use crate::args::Reset;
use crate::commands::whose::{latest_at_work, waiting};
use crate::context::{Context, Exit};
use crate::outcome::{carry_out, summary};

pub(super) fn run(context: &Context, options: &Reset) -> Result<Exit> {
    // Pending work is known only after a scan.
    let project = match options.dialog {
        Some(_) => context.open_to_write()?,
        None => context.look()?.0,
    };
    let dialog = match waiting(&project, options.dialog.as_deref())? {
        Some(dialog) => dialog,
        // All changes since the last approval, by any actor, are there to be compared.
        None if options.exact => latest_at_work(&project)?,
        None => return nothing(context, options),
    };
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

/// Reports that there is nothing to reset, which is no error.
fn nothing(context: &Context, options: &Reset) -> Result<Exit> {
    if context.json {
        let outcome = Outcome::nothing(OperationKind::Reset).asked(options.manner.dry_run);
        context.out.json(&ResetOutcome { outcome, new_session: None })?;
    } else {
        let why = "no dialog has work that waits for approval; no file was changed";
        context.out.text(&format!("There is nothing to reset: {why}.\n"))?;
    }
    Ok(Exit::Done)
}
