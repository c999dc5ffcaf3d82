//! `retake approve`: lock in what a dialog did.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::Approved;
use retake_engine::model::DialogId;
use retake_server::{documents, door};
use serde_json::json;

use crate::args::Approve;
use crate::commands::whose::waiting;
use crate::context::{Context, Exit};
use crate::describe::{plural, short_id};
use crate::output::Style;

pub(super) fn run(context: &Context, options: &Approve) -> Result<Exit> {
    // Pending work is known only after a scan.
    let project = match options.dialog {
        Some(_) => context.open_to_write()?,
        None => context.look()?.0,
    };
    let Some(dialog) = waiting(&project, options.dialog.as_deref())? else {
        return nothing(context, options);
    };
    let message = options.message.clone();
    let approved = context.ask(&project, door::Approve { dialog: dialog.clone(), message })?;
    if context.json {
        let message = options.message.as_deref();
        context.out.json(&documents::Approved::new(&dialog, &approved, message))?;
    } else {
        context.out.text(&told(context, &dialog, &approved))?;
    }
    Ok(Exit::Done)
}

/// Reports that there is nothing to approve, which is no error.
fn nothing(context: &Context, options: &Approve) -> Result<Exit> {
    if context.json {
        context.out.json(&json!({
            "dialog": null, "commit": null, "session": null, "new_session": null,
            "commits": 0, "changes": 0, "shared": 0, "message": options.message,
        }))?;
    } else {
        let why = "no dialog has work that waits for approval";
        context.out.text(&format!("There is nothing to approve: {why}.\n"))?;
    }
    Ok(Exit::Done)
}

fn told(context: &Context, dialog: &DialogId, approved: &Approved) -> String {
    let (session, dialog) = (approved.session.name(), short_id(&dialog.0));
    let changes = plural(approved.changes, "change", "changes");
    let made = plural(approved.checkpoints, "checkpoint", "checkpoints");
    let commit = context.out.paint(&approved.commit.to_string()[..8], Style::Mark);
    let next = &approved.new_session;
    let mut text = format!(
        "Approved {session} of dialog {dialog}: {changes}, {made}, as {commit}.\n\
         What comes next is in {next}; `retake reset` goes back to here.\n"
    );
    if approved.shared > 0 {
        let shared = plural(approved.shared, "change stays", "changes stay");
        let _ = writeln!(text, "{shared} unapproved, since another dialog may have made them.");
    }
    text
}
