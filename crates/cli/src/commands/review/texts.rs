//! `retake review --patch` and `--report`: a review for other programs and other people.

use anyhow::Result;
use retake_service::Masking;
use retake_service::review::{ReportOptions, render_report_for, shown_patch};

use crate::args::ReviewArgs;
use crate::commands::review::carry_out_due;
use crate::commands::review::scope_words::ReviewTarget;
use crate::context::{CommandContext, Exit};
use crate::describe::NAME_ESCAPER;
use crate::output::{TextStyle, print_message};

pub(super) fn run(context: &CommandContext, options: &ReviewArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    carry_out_due(context, &project)?;
    let target = ReviewTarget::resolve(context, &project, options)?;
    let review = project.review(&target.scope)?;
    if options.report {
        // It leaves the machine, as what HTTP tells does.
        let masking = Masking::from(&project.settings().api);
        let reader = context.comment_reader();
        let report = ReportOptions { masking, show: NAME_ESCAPER };
        context.out.paged(render_report_for(&project, &review, report, &reader)?.as_bytes())?;
        return Ok(Exit::Done);
    }
    let patch = shown_patch(&project, &review, Masking::Off)?;
    for file in &patch.left_out {
        let reasons: Vec<_> = file.reasons.iter().map(|reason| reason.describe()).collect();
        let text = format!("not in the patch: {} ({})", file.path, reasons.join(", "));
        print_message("note", TextStyle::Mark, &text);
    }
    if patch.text.is_empty() && patch.left_out.is_empty() {
        let text = "no hunk of this is kept yet; `retake review -p` or `retake accept` keeps some";
        print_message("note", TextStyle::Mark, text);
    }
    context.out.bytes(&patch.text)?;
    Ok(Exit::Done)
}
