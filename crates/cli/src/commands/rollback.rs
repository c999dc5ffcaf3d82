//! `retake rollback`: take back what agents changed, approved or not.

use anyhow::Result;
use retake_engine::{CascadePolicy, Selection};
use retake_service::request::{ChangeScope, PlanRollback};

use crate::args::RollbackArgs;
use crate::commands::scope::{hunk_scope, rollback_selection};
use crate::context::{CommandContext, Exit};
use crate::outcome::{apply_plan, render_summary};

pub(super) fn run(context: &CommandContext, options: &RollbackArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let take_back = options.take_back.to_options(CascadePolicy::Leave);
    let scope = if options.hunk.is_empty() {
        ChangeScope::Changes(Selection {
            last: options.last,
            include_shared: options.include_shared,
            ..rollback_selection(context, &project, &options.scope)?
        })
    } else {
        hunk_scope(&options.scope.change, &options.hunk)
    };
    let plan = context.run_request(&project, PlanRollback { scope, taking: take_back })?;
    if plan.files.is_empty() && !context.json {
        context.out.text("No change in effect fits; nothing was changed.\n")?;
        return Ok(Exit::Done);
    }
    let outcome = apply_plan(context, &project, plan, &options.apply)?;
    outcome.print(context, &project, &options.apply, &|outcome| {
        render_summary(context, &project, outcome)
    })
}
