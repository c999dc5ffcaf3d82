//! `retake undo --list`: the steps that undo and redo go through.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::{ListedStep, StepPage, StepState};
use retake_service::Masking;
use retake_service::documents::StepList;

use crate::context::{CommandContext, Exit};
use crate::describe::plural;
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

/// Maximum number of steps listed of undo, and of redo.
const MAX_LISTED_STEPS: usize = 50;

/// Prints the steps, newest first.
pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let steps = project.steps(StepPage { before: None, limit: MAX_LISTED_STEPS })?;
    if context.json {
        context.out.json(&StepList::new(&steps, Masking::Off))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (verb, steps) in [("Undo", &steps.undo), ("Redo", &steps.redo)] {
        if steps.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{verb}:");
        text.push_str(&table(context, steps).render("  ", context.out));
    }
    if text.is_empty() {
        text.push_str("There is nothing to undo or redo.\n");
    }
    context.out.paged(text.as_bytes())?;
    Ok(Exit::Done)
}

fn table(context: &CommandContext, steps: &[ListedStep]) -> TextTable {
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE.dropped(2),
        Column::TITLE.at_least(34),
        Column::WHOLE.dropped(1),
        Column::WRAPPED,
    ]);
    for listed in steps {
        let (state, style) = match listed.state {
            StepState::Next => ("next", TextStyle::Mark),
            StepState::Later => ("", TextStyle::Plain),
            _ => ("passed over", TextStyle::Dim),
        };
        table.row([
            TableCell::new(state, style),
            TableCell::new(context.times.show(listed.at), TextStyle::Dim),
            TableCell::new(escape(listed.step.describe()), TextStyle::Plain),
            TableCell::new(plural(listed.files, "file", "files"), TextStyle::Plain),
            TableCell::new(listed.state.why_passed().unwrap_or_default(), TextStyle::Dim),
        ]);
    }
    table
}
