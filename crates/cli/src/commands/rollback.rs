//! `retake rollback`: take back what agents changed, approved or not.

use anyhow::Result;
use retake_engine::{CascadePolicy, Project, Selection, TakeBackOptions};
use retake_service::request::{ChangeScope, PlanRollback};

use crate::args::{ApplyArgs, RollbackArgs};
use crate::commands::scope::{hunk_scope, rollback_selection};
use crate::context::{CommandContext, Exit};
use crate::outcome::{TakeBackAttempt, apply_take_back, render_summary};

pub(super) fn run(context: &CommandContext, options: &RollbackArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let taking = options.take_back.to_options(CascadePolicy::Leave);
    let scope = if options.hunk.is_empty() {
        ChangeScope::Changes(Selection {
            last: options.last,
            include_shared: options.include_shared,
            ..rollback_selection(context, &project, &options.scope)?
        })
    } else {
        hunk_scope(&options.scope.change, &options.hunk)
    };
    roll_back(context, &project, &scope, taking, &options.apply)
}

/// Takes back the changes of a scope.
pub(super) fn roll_back(
    context: &CommandContext,
    project: &Project,
    scope: &ChangeScope,
    taking: TakeBackOptions,
    options: &ApplyArgs,
) -> Result<Exit> {
    let make = |taking| {
        let request = PlanRollback { scope: scope.clone(), taking };
        context.run_request(project, request)
    };
    let replan = |taking| make(taking).map(Some);
    let plan = make(taking)?;
    if plan.files.is_empty() && !context.json {
        context.out.text("No change in effect fits; nothing was changed.\n")?;
        return Ok(Exit::Done);
    }
    let attempt = TakeBackAttempt { plan, taking, replan: &replan };
    let outcome = apply_take_back(context, project, attempt, options)?;
    outcome.print(context, project, options, &|outcome| render_summary(context, project, outcome))
}
