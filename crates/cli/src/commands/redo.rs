//! `retake redo`: bring back what was undone last.

use anyhow::Result;
use retake_engine::CascadePolicy;
use retake_engine::model::OperationKind;
use retake_service::request::PlanRedo;

use crate::args::RedoArgs;
use crate::commands::undo::{describe_outcome, report_nothing};
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::outcome::{TakeBackAttempt, apply_take_back};

pub(super) fn run(context: &CommandContext, options: &RedoArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let taking = options.take_back.to_options(CascadePolicy::Leave);
    let what = options.rewind.rewind_target();
    let plan = |taking| context.run_request(&project, PlanRedo { taking, what });
    let Some((first, undone)) = plan(taking)? else {
        return report_nothing(context, OperationKind::Redo, &options.apply);
    };
    let replan = |taking| Ok(plan(taking)?.map(|(plan, _)| plan));
    let what = undone.title.strip_prefix("undo of ").unwrap_or(&undone.title);
    let what = escape(what);
    let attempt = TakeBackAttempt { plan: first, taking, replan: &replan };
    let outcome = apply_take_back(context, &project, attempt, &options.apply)?;
    outcome.print(context, &project, &options.apply, &|outcome| {
        describe_outcome(context.out, &project, outcome, &what)
    })
}
