//! `retake undo N --dry-run`: what each of the steps would do, once those before it are done.

use anyhow::Result;
use retake_engine::{CascadePolicy, Project};
use retake_service::request::PlanUndos;

use super::{report_nothing_more, report_nothing_to_undo};
use crate::args::UndoArgs;
use crate::context::{CommandContext, Exit};
use crate::outcome::{NOTHING_WRITTEN_TEXT, PlanOutcome};

/// Prints the same documents, and exits with the same code, as the undo itself would.
pub(super) fn run(
    context: &CommandContext,
    project: &Project,
    options: &UndoArgs,
    steps: u32,
) -> Result<Exit> {
    let request = PlanUndos {
        steps,
        taking: options.take_back.to_options(CascadePolicy::Leave),
        what: options.rewind.rewind_target(),
    };
    let planned = context.run_request(project, request)?;
    if planned.is_empty() {
        return report_nothing_to_undo(context, project, &options.apply);
    }
    let plans: Vec<_> = planned.into_iter().map(|(plan, _)| PlanOutcome::planned(plan)).collect();
    let exit = plans.last().map_or(Exit::Done, PlanOutcome::exit);
    if context.json {
        for plan in &plans {
            context.out.json(&plan.document(project)?)?;
        }
        return Ok(exit);
    }
    let mut text = Vec::new();
    for (number, plan) in (1..).zip(&plans) {
        let head = format!("Step {number} of {steps}");
        text.extend(plan.render_preview(context, project, &options.apply, &head)?);
        text.push(b'\n');
    }
    if exit != Exit::Done && plans.len() < steps as usize {
        text.extend(b"That is left in part, so it would be the last step.\n");
    }
    text.extend(NOTHING_WRITTEN_TEXT.bytes());
    context.out.paged(&text)?;
    if exit == Exit::Done && plans.len() < steps as usize {
        return report_nothing_more(context);
    }
    Ok(exit)
}
