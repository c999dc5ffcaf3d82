//! `retake redo`: bring back what was undone last.

use anyhow::Result;
use retake_engine::CascadePolicy;
use retake_engine::model::OperationKind;
use retake_service::request::PlanRedo;

use crate::args::RedoArgs;
use crate::commands::undo::{describe_outcome, report_nothing};
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::outcome::apply_plan;

pub(super) fn run(context: &CommandContext, options: &RedoArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let take_back = options.take_back.to_options(CascadePolicy::Leave);
    let what = options.rewind.rewind_target();
    let Some((plan, undone)) =
        context.run_request(&project, PlanRedo { taking: take_back, what })?
    else {
        return report_nothing(context, OperationKind::Redo, &options.apply);
    };
    let what = undone.title.strip_prefix("undo of ").unwrap_or(&undone.title);
    let what = escape(what);
    let outcome = apply_plan(context, &project, plan, &options.apply)?;
    outcome.print(context, &project, &options.apply, &|outcome| {
        describe_outcome(context, &project, outcome, &what)
    })
}
