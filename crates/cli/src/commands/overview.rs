//! `retake` alone: in a project what waits and what to do about it, elsewhere how to begin.

use anyhow::Result;
use retake_engine::ProjectStatus;
use retake_service::describe::list_names;

use crate::args::StatusArgs;
use crate::commands::is_not_a_project;
use crate::commands::recording::recording_line;
use crate::commands::status::{self, next_steps, waiting_files, waiting_headline};
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::layout::{TableCell, TextTable};
use crate::output::TextStyle;

/// Maximum dialogs named.
const MAX_LISTED_DIALOGS: usize = 5;

pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    if context.json {
        return status::run(context, &StatusArgs { short: false, ignored: false });
    }
    match print_project(context) {
        Err(error) if is_not_a_project(&error) => print_welcome(context),
        done => done,
    }
}

/// Shows who is recorded, what waits, and what to do about it.
fn print_project(context: &CommandContext) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    let status = project.status()?;
    let root = context.display_folder(project.root());
    let mut text = context.out.paint(&format!("Project {root}"), TextStyle::Dim) + "\n";
    text.push_str(&recording_line(context, Some(&project))?);
    text.push('\n');
    if waiting_files(&status) == 0 {
        text.push_str("Nothing waits for your review.\n");
    } else {
        text.push_str(&describe_waiting(context, &status));
    }
    text.push_str("`retake status` tells more, `retake -h` lists the commands.\n");
    context.out.text(&text)?;
    Ok(Exit::Done)
}

fn describe_waiting(context: &CommandContext, status: &ProjectStatus) -> String {
    let dialogs = status.dialogs.iter().filter_map(|status| status.dialog.as_ref());
    let names: Vec<_> = dialogs.map(|dialog| escape(&dialog.name)).collect();
    let by = if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", list_names(&names, MAX_LISTED_DIALOGS))
    };
    let head = context.out.paint(&waiting_headline(status), TextStyle::Bold);
    format!("{head}{by}.\n\n{}", next_steps(context))
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
