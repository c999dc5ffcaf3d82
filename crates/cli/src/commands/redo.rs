//! `retake redo`: bring back what was undone last.

use anyhow::Result;
use retake_engine::Cascade;
use retake_engine::model::OperationKind;
use retake_server::door::PlanRedo;

use crate::args::Redo;
use crate::commands::undo::{nothing, told};
use crate::context::{Context, Exit};
use crate::escape::escape;
use crate::outcome::carry_out;

pub(super) fn run(context: &Context, options: &Redo) -> Result<Exit> {
    let project = context.open_to_write()?;
    let taking = options.taking.options(Cascade::Leave);
    let what = options.rewinding.what();
    let Some((plan, undone)) = context.ask(&project, PlanRedo { taking, what })? else {
        return nothing(context, OperationKind::Redo, &options.manner);
    };
    let what = undone.title.strip_prefix("undo of ").unwrap_or(&undone.title);
    let what = escape(what);
    let outcome = carry_out(context, &project, plan, &options.manner)?;
    outcome.show(context, &project, &options.manner, &|outcome| {
        told(context, &project, outcome, &what)
    })
}
