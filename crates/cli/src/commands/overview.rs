//! `retake` alone: in a project what waits and what to do about it, elsewhere how to begin.

use anyhow::Result;

use crate::args::StatusArgs;
use crate::commands::is_not_a_project;
use crate::commands::recording::recording_line;
use crate::commands::status;
use crate::context::{CommandContext, Exit};
use crate::layout::{TableCell, TextTable};
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    if context.json {
        return status::run(context, &StatusArgs { short: false, ignored: false });
    }
    match status::overview(context) {
        Err(error) if is_not_a_project(&error) => print_welcome(context),
        done => done,
    }
}

fn print_welcome(context: &CommandContext) -> Result<Exit> {
    let mut text =
        String::from("Retake records what AI coding agents change, and takes it back.\n");
    text.push_str(&recording_line(context, None)?);
    text.push('\n');
    let mut table = TextTable::default();
    for (command, what) in [
        ("retake setup", "once: your agents tell Retake what they do"),
        ("retake demo", "see it at work, in under a minute"),
        ("retake -h", "all commands"),
    ] {
        table.row([TableCell::new(command, TextStyle::Mark), TableCell::new(what, TextStyle::Dim)]);
    }
    text.push_str(&table.render("  ", context.out));
    context.out.text(&text)?;
    Ok(Exit::Done)
}
