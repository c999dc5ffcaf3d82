//! `retake reset`: take back what a dialog did since its last approval.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::CascadePolicy;
use retake_engine::model::OperationKind;
use retake_service::documents::{OperationOutcome, ResetOutcome};
use retake_service::request::PlanReset;

use crate::args::ResetArgs;
use crate::commands::dialog_choice::{dialog_to_approve, latest_dialog_with_changes};
use crate::context::{CommandContext, Exit};
use crate::outcome::{TakeBackAttempt, apply_take_back, render_summary};

pub(super) fn run(context: &CommandContext, options: &ResetArgs) -> Result<Exit> {
    // Pending work is known only after a scan.
    let project = match options.dialog {
        Some(_) => context.open_to_write()?,
        None => context.open_and_scan_without_warning()?.0,
    };
    let dialog = match dialog_to_approve(context, &project, options.dialog.as_deref())? {
        Some(dialog) => dialog,
        // All changes since the last approval, by any actor, are there to be compared.
        None if options.exact => latest_dialog_with_changes(&project)?,
        None => return report_nothing_to_reset(context, options),
    };
    let taking = options.take_back.to_options(CascadePolicy::Leave);
    let make = |taking| {
        let request = PlanReset { dialog: dialog.clone(), exact: options.exact, taking };
        context.run_request(&project, request)
    };
    let replan = |taking| make(taking).map(Some);
    let attempt = TakeBackAttempt { plan: make(taking)?, taking, replan: &replan };
    let outcome = apply_take_back(context, &project, attempt, &options.apply)?;
    let active = project.active_session(&dialog)?.map(|session| session.name());
    let new_session = active.filter(|_| outcome.operation.is_some());
    if context.json {
        let done = ResetOutcome { outcome: outcome.document(&project)?, new_session };
        context.out.json(&done)?;
        return Ok(outcome.exit());
    }
    outcome.print(context, &project, &options.apply, &|outcome| {
        let mut text = render_summary(context, &project, outcome)?;
        if let Some(name) = &new_session {
            let _ = writeln!(text, "What comes next is in {name}.");
        }
        Ok(text)
    })
}

/// Reports that there is nothing to reset, which is no error.
fn report_nothing_to_reset(context: &CommandContext, options: &ResetArgs) -> Result<Exit> {
    if context.json {
        let outcome =
            OperationOutcome::nothing(OperationKind::Reset).with_dry_run(options.apply.dry_run);
        context.out.json(&ResetOutcome { outcome, new_session: None })?;
    } else {
        let why = "no dialog has work that waits for approval; no file was changed";
        context.out.text(&format!("Nothing to reset: {why}.\n"))?;
    }
    Ok(Exit::Done)
}
