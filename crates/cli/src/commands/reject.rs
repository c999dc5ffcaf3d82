//! `retake reject`: take back what agents changed and the person does not want.

use anyhow::Result;
use retake_engine::{Cascade, Selection};

use crate::args::Reject;
use crate::commands::scope::{reviewed, the_change};
use crate::context::{Context, Exit};
use crate::outcome::{carry_out, summary};

pub(super) fn run(context: &Context, options: &Reject) -> Result<Exit> {
    let project = context.open_to_write()?;
    let (scope, now) = (&options.scope, context.now());
    let taking = options.taking.options(Cascade::Agents);
    let plan = if options.hunk.is_empty() {
        let include_shared = options.include_shared;
        let selection = Selection { include_shared, ..reviewed(context, &project, scope)? };
        project.plan_reject(&selection, taking, now)?
    } else {
        project.plan_reject_hunks(the_change(&scope.changes), &options.hunk, taking, now)?
    };
    if plan.files.is_empty() && !context.json {
        context.out.text("There is no pending change to reject; nothing was changed.\n")?;
        return Ok(Exit::Done);
    }
    let outcome = carry_out(context, &project, plan, &options.manner)?;
    outcome.show(context, &project, &options.manner, &|outcome| summary(context, &project, outcome))
}
