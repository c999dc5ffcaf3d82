//! `retake undo N --dry-run`: what each of the steps would do, once those before it are done.

use anyhow::Result;
use retake_engine::{Cascade, Project};
use retake_server::door::PlanUndos;

use super::{nothing_more, nothing_to_undo};
use crate::args::Undo;
use crate::context::{Context, Exit};
use crate::outcome::{NOT_WRITTEN, Outcome};

/// Prints the same documents, and exits with the same code, as the undo itself would.
pub(super) fn run(context: &Context, project: &Project, options: &Undo) -> Result<Exit> {
    let taking = options.taking.options(Cascade::Leave);
    let (steps, what) = (options.steps, options.rewinding.what());
    let planned = context.ask(project, PlanUndos { steps, taking, what })?;
    if planned.is_empty() {
        return nothing_to_undo(context, project, &options.manner);
    }
    let plans: Vec<_> = planned.into_iter().map(|(plan, _)| Outcome::planned(plan)).collect();
    let exit = plans.last().map_or(Exit::Done, Outcome::exit);
    if context.json {
        for plan in &plans {
            context.out.json(&plan.document(project)?)?;
        }
        return Ok(exit);
    }
    let mut text = Vec::new();
    for (number, plan) in (1..).zip(&plans) {
        let head = format!("Step {number} of {steps}");
        text.extend(plan.preview(context, project, &options.manner, &head)?);
        text.push(b'\n');
    }
    if exit != Exit::Done && plans.len() < steps as usize {
        text.extend(b"That is left in part, so it would be the last step.\n");
    }
    text.extend(NOT_WRITTEN.bytes());
    context.out.paged(&text)?;
    if exit == Exit::Done && plans.len() < steps as usize {
        return nothing_more(context);
    }
    Ok(exit)
}
