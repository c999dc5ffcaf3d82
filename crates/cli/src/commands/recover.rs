//! `retake recover`: finishes an interrupted operation, or takes it back.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::ProjectPath;
use retake_engine::{Interrupted, Recovery};
use retake_server::documents::Recoverable;
use retake_server::door;

use crate::args::{Manner, Recover};
use crate::context::{Context, Exit};
use crate::describe::name;
use crate::escape::escape;
use crate::outcome::{Outcome, summary};
use crate::output::Style;
use crate::table::{Cell, Table};

/// Ways to end an interrupted operation, in display order.
const WAYS: [(&str, &str); 2] = [
    ("retake recover --resume", "writes the rest"),
    ("retake recover --undo", "takes back what was written"),
];

pub(super) fn run(context: &Context, options: &Recover) -> Result<Exit> {
    let project = context.open_to_write()?;
    let how = match (options.resume, options.undo) {
        (true, _) => Recovery::Resume,
        (_, true) => Recovery::Undo,
        _ => return show(context, project.interrupted()?.as_ref()),
    };
    let Some(applied) = context.ask(&project, door::Recover { how })? else {
        return show(context, None);
    };
    let manner = Manner { dry_run: false, yes: true, diff: false };
    Outcome::from(applied)
        .show(context, &project, &manner, &|outcome| summary(context, &project, outcome))
}

fn show(context: &Context, interrupted: Option<&Interrupted>) -> Result<Exit> {
    let exit = if interrupted.is_some() { Exit::Partly } else { Exit::Done };
    if context.json {
        context.out.json(&Recoverable::from(interrupted))?;
        return Ok(exit);
    }
    let Some(interrupted) = interrupted else {
        context.out.text("No operation was interrupted; there is nothing to recover.\n")?;
        return Ok(exit);
    };
    let mut text = headline(interrupted);
    text.push('\n');
    let mut table = Table::default();
    let mut rows = |word: &str, style, paths: &[ProjectPath]| {
        for path in paths {
            table.row([Cell::new(word, style), Cell::new(name(path), Style::Plain)]);
        }
    };
    rows("written", Style::Good, &interrupted.written);
    rows("waits", Style::Warn, &interrupted.missing);
    text.push_str(&table.render("  ", context.out.colour));
    text.push('\n');
    for (command, what) in WAYS {
        let _ = writeln!(text, "`{command}` {what}.");
    }
    context.out.paged(text.as_bytes())?;
    Ok(exit)
}

/// Describes the interrupted operation in one line.
pub(super) fn headline(interrupted: &Interrupted) -> String {
    let operation = &interrupted.operation;
    let (written, all) = (interrupted.written.len(), interrupted.missing.len());
    format!(
        "Operation {} ({}) was interrupted after {written} of {} files.",
        operation.id,
        escape(&operation.title),
        written + all
    )
}
