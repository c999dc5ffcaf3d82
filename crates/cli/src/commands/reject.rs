//! `retake reject`: take back what agents changed and the person does not want.

use anyhow::Result;
use retake_engine::{CascadePolicy, Selection};
use retake_service::request::{ChangeScope, PlanReject};

use crate::args::RejectArgs;
use crate::commands::scope::{hunk_scope, review_selection};
use crate::context::{CommandContext, Exit};
use crate::outcome::{TakeBackAttempt, apply_take_back, render_summary};

pub(super) fn run(context: &CommandContext, options: &RejectArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let taking = options.take_back.to_options(CascadePolicy::Agents);
    let scope = if options.hunk.is_empty() {
        let include_shared = options.include_shared;
        let meant = review_selection(context, &project, &options.scope)?;
        ChangeScope::Changes(Selection { include_shared, ..meant })
    } else {
        hunk_scope(&options.scope.changes, &options.hunk)
    };
    let make = |taking| context.run_request(&project, PlanReject { scope: scope.clone(), taking });
    let replan = |taking| make(taking).map(Some);
    let plan = make(taking)?;
    if plan.files.is_empty() && !context.json {
        context.out.text("There is no pending change to reject; nothing was changed.\n")?;
        return Ok(Exit::Done);
    }
    let attempt = TakeBackAttempt { plan, taking, replan: &replan };
    let outcome = apply_take_back(context, &project, attempt, &options.apply)?;
    outcome.print(context, &project, &options.apply, &|outcome| {
        render_summary(context, &project, outcome)
    })
}
