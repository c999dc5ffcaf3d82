//! `retake recover`: finishes an interrupted operation, or takes it back.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::ProjectPath;
use retake_engine::{InterruptedOperation, Project, RecoveryChoice};
use retake_service::documents::{LocatePaths as _, RecoverableOperation};
use retake_service::request;

use crate::args::{ApplyArgs, RecoverArgs};
use crate::context::{CommandContext, Exit};
use crate::describe::display_path;
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable, render_paragraph};
use crate::outcome::{PlanOutcome, render_summary};
use crate::output::TextStyle;

/// Ways to end an interrupted operation, in display order.
const RECOVERY_OPTIONS: [(&str, &str); 2] = [
    ("retake recover --resume", "writes the rest"),
    ("retake recover --undo", "takes back what was written"),
];

pub(super) fn run(context: &CommandContext, options: &RecoverArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let how = match (options.resume, options.undo) {
        (true, _) => RecoveryChoice::Resume,
        (_, true) => RecoveryChoice::Undo,
        _ => return show_interrupted(context, &project, project.interrupted()?.as_ref()),
    };
    let Some(applied) = context.run_request(&project, request::RecoverOperation { how })? else {
        return show_interrupted(context, &project, None);
    };
    let options = ApplyArgs { dry_run: false, yes: true, diff: false };
    PlanOutcome::from(applied)
        .print(context, &project, &options, &|outcome| render_summary(context, &project, outcome))
}

fn show_interrupted(
    context: &CommandContext,
    project: &Project,
    interrupted: Option<&InterruptedOperation>,
) -> Result<Exit> {
    let exit = if interrupted.is_some() { Exit::Partly } else { Exit::Done };
    if context.json {
        context.out.json(&RecoverableOperation::from(interrupted).located(project.root()))?;
        return Ok(exit);
    }
    let Some(interrupted) = interrupted else {
        context.out.text("No operation was interrupted; there is nothing to recover.\n")?;
        return Ok(exit);
    };
    let mut text = render_paragraph(&headline(interrupted), "", TextStyle::Plain, context.out);
    let mut table = TextTable::new([Column::WHOLE, Column::PATH]);
    let mut rows = |word: &str, style, paths: &[ProjectPath]| {
        for path in paths {
            table.row([
                TableCell::new(word, style),
                TableCell::new(display_path(path), TextStyle::Plain),
            ]);
        }
    };
    rows("written", TextStyle::Good, &interrupted.written);
    rows("waits", TextStyle::Warn, &interrupted.missing);
    text.push_str(&table.render("  ", context.out));
    text.push('\n');
    for (command, what) in RECOVERY_OPTIONS {
        let _ = writeln!(text, "`{command}` {what}.");
    }
    context.out.paged(text.as_bytes())?;
    Ok(exit)
}

/// Describes the interrupted operation in one line.
pub(super) fn headline(interrupted: &InterruptedOperation) -> String {
    let operation = &interrupted.operation;
    let (written, all) = (interrupted.written.len(), interrupted.missing.len());
    format!(
        "Operation {} ({}) was interrupted after {written} of {} files.",
        operation.id,
        escape(&operation.title),
        written + all
    )
}
