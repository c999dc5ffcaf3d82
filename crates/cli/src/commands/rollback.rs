//! `retake rollback`: take back what agents changed, approved or not.

use anyhow::Result;
use retake_engine::{Cascade, Selection};
use retake_server::door::{PlanRollback, Scope};

use crate::args::Rollback;
use crate::commands::scope::{hunks, rolled_back};
use crate::context::{Context, Exit};
use crate::outcome::{carry_out, summary};

pub(super) fn run(context: &Context, options: &Rollback) -> Result<Exit> {
    let project = context.open_to_write()?;
    let taking = options.taking.options(Cascade::Leave);
    let scope = if options.hunk.is_empty() {
        Scope::Changes(Selection {
            last: options.last,
            include_shared: options.include_shared,
            ..rolled_back(context, &project, &options.scope)?
        })
    } else {
        hunks(&options.scope.change, &options.hunk)
    };
    let plan = context.ask(&project, PlanRollback { scope, taking })?;
    if plan.files.is_empty() && !context.json {
        context.out.text("No change in effect fits; nothing was changed.\n")?;
        return Ok(Exit::Done);
    }
    let outcome = carry_out(context, &project, plan, &options.manner)?;
    outcome.show(context, &project, &options.manner, &|outcome| summary(context, &project, outcome))
}
