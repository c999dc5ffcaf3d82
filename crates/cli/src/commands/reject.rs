//! `retake reject`: take back what agents changed and the person does not want.

use anyhow::Result;
use retake_engine::{Cascade, Selection};
use retake_server::door::{PlanReject, Scope};

use crate::args::Reject;
use crate::commands::scope::{hunks, reviewed};
use crate::context::{Context, Exit};
use crate::outcome::{carry_out, summary};

pub(super) fn run(context: &Context, options: &Reject) -> Result<Exit> {
    let project = context.open_to_write()?;
    let taking = options.taking.options(Cascade::Agents);
    let scope = if options.hunk.is_empty() {
        let include_shared = options.include_shared;
        let meant = reviewed(context, &project, &options.scope)?;
        Scope::Changes(Selection { include_shared, ..meant })
    } else {
        hunks(&options.scope.changes, &options.hunk)
    };
    let plan = context.ask(&project, PlanReject { scope, taking })?;
    if plan.files.is_empty() && !context.json {
        context.out.text("There is no pending change to reject; nothing was changed.\n")?;
        return Ok(Exit::Done);
    }
    let outcome = carry_out(context, &project, plan, &options.manner)?;
    outcome.show(context, &project, &options.manner, &|outcome| summary(context, &project, outcome))
}
