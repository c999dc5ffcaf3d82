//! `retake rollback`: take back what agents changed, approved or not.

use anyhow::Result;
use retake_engine::{Cascade, Selection};

use crate::args::Rollback;
use crate::commands::scope::{rolled_back, the_change};
use crate::context::{Context, Exit};
use crate::outcome::{carry_out, summary};

pub(super) fn run(context: &Context, options: &Rollback) -> Result<Exit> {
    let project = context.open_to_write()?;
    let (scope, now) = (&options.scope, context.now());
    let taking = options.taking.options(Cascade::Leave);
    let plan = if options.hunk.is_empty() {
        let selection = Selection {
            last: options.last,
            include_shared: options.include_shared,
            ..rolled_back(context, &project, scope)?
        };
        project.plan_rollback(&selection, taking, now)?
    } else {
        project.plan_rollback_hunks(the_change(&scope.change), &options.hunk, taking, now)?
    };
    if plan.files.is_empty() && !context.json {
        context.out.text("No change in effect fits; nothing was changed.\n")?;
        return Ok(Exit::Done);
    }
    let outcome = carry_out(context, &project, plan, &options.manner)?;
    outcome.show(context, &project, &options.manner, &|outcome| summary(context, &project, outcome))
}
