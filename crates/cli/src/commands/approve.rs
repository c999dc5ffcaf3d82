//! `retake approve`: lock in what a dialog did.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::Approval;
use retake_engine::model::DialogId;
use retake_service::{documents, request};
use serde_json::json;

use crate::args::ApproveArgs;
use crate::commands::dialog_choice::dialog_to_approve;
use crate::context::{CommandContext, Exit};
use crate::describe::plural;
use crate::escape::escape;
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext, options: &ApproveArgs) -> Result<Exit> {
    // Pending work is known only after a scan.
    let (project, _) = context.open_and_scan_without_warning()?;
    let named = options.dialog.as_deref();
    let Some(dialog) = dialog_to_approve(context, &project, named)? else {
        return report_nothing_to_approve(context, options, None, "no dialog has");
    };
    if named.is_some() && !project.dialogs_to_approve()?.iter().any(|one| one.id == dialog) {
        let what = format!("{} has no", escape(project.dialog_name(&dialog)?));
        return report_nothing_to_approve(context, options, Some(&dialog), &what);
    }
    let message = options.message.clone();
    let approved = context
        .run_request(&project, request::ApproveDialog { dialog: dialog.clone(), message })?;
    if context.json {
        let message = options.message.as_deref();
        context.out.json(&documents::ApprovedDocument::new(&dialog, &approved, message))?;
    } else {
        context.out.text(&describe_approved(
            context,
            &escape(project.dialog_name(&dialog)?),
            &approved,
        ))?;
    }
    Ok(Exit::Done)
}

/// Reports that there is nothing to approve, which is no error.
fn report_nothing_to_approve(
    context: &CommandContext,
    options: &ApproveArgs,
    dialog: Option<&DialogId>,
    what: &str,
) -> Result<Exit> {
    if context.json {
        context.out.json(&json!({
            "dialog": dialog, "commit": null, "session": null, "new_session": null,
            "commits": 0, "changes": 0, "shared": 0, "message": options.message,
        }))?;
    } else {
        let text = format!("Nothing to approve: {what} work that waits for approval.\n");
        context.out.text(&text)?;
    }
    Ok(Exit::Done)
}

fn describe_approved(context: &CommandContext, dialog: &str, approved: &Approval) -> String {
    let session = approved.session.name();
    let changes = plural(approved.changes, "change", "changes");
    let made = plural(approved.checkpoints, "checkpoint", "checkpoints");
    let commit = context.out.paint(&approved.commit.to_string()[..8], TextStyle::Mark);
    let next = &approved.new_session;
    let mut text = format!(
        "Approved {session} of {dialog}: {changes}, {made}, as {commit}.\n\
         What comes next is in {next}; `retake reset` goes back to here.\n"
    );
    if approved.shared > 0 {
        let shared = plural(approved.shared, "change stays", "changes stay");
        let _ = writeln!(text, "{shared} unapproved, since another dialog may have made them.");
    }
    text
}
