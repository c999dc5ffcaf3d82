//! `retake diff`: differences in git's format.

use std::collections::BTreeSet;

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeStatus};
use retake_engine::{ChangeFilter, DiffBody, FileDiff, Project};
use retake_service::Masking;
use retake_service::documents::{DiffForm, DiffRenderer};
use retake_service::patch::count_lines;

use crate::args::DiffArgs;
use crate::commands::show::find_change;
use crate::context::{CommandContext, Exit};
use crate::describe::{display_path, plural};
use crate::output::{TextStyle, print_message};
use crate::patch::{DiffPrinter, DiffStyle};
use crate::table::{TableCell, TextTable};

/// Maximum width of a bar of `--stat`.
const MAX_BAR_WIDTH: u64 = 40;

pub(super) fn run(context: &CommandContext, options: &DiffArgs) -> Result<Exit> {
    let diffs;
    let project;
    if let Some(id) = options.change {
        project = context.open()?;
        diffs = vec![project.diff(&find_change(&project, id)?)?];
    } else {
        project = context.open_and_scan()?.0;
        diffs = project.net_diff(&selected_changes(context, &project, options)?)?;
    }
    if context.json {
        let mut differ = DiffRenderer::new(&project, DiffForm::Unified, Masking::Off);
        context.out.json(&differ.render_files(&diffs)?)?;
    } else if options.stat {
        context.out.paged(render_stat(&diffs, context.out.colour).as_bytes())?;
    } else {
        // Colour means that a person reads it, on a terminal or not.
        let colour = context.out.colour;
        let readable = (context.out.terminal || colour) && !options.raw;
        let mut printer = DiffPrinter::new(&project, DiffStyle { readable, colour });
        let mut text = Vec::new();
        for diff in &diffs {
            text.extend(printer.render_file(diff)?);
        }
        if text.is_empty() && context.out.terminal {
            text.extend(b"No difference.\n");
        }
        context.out.paged(&text)?;
    }
    Ok(Exit::Done)
}

/// Selects unreviewed changes of agents, narrowed by the filter: a person's lines are in no
/// difference, and a reverse patch takes away only an agent's.
fn selected_changes(
    context: &CommandContext,
    project: &Project,
    options: &DiffArgs,
) -> Result<Vec<Change>> {
    let filter = context.resolve_filter(project, &options.filter)?;
    let mut filter = ChangeFilter { oldest_first: true, ..filter };
    if !options.all {
        filter.actors = vec![Actor::Agent];
        filter.statuses = vec![ChangeStatus::Pending];
    }
    let changes = project.changes(&filter)?;
    if options.all { Ok(changes) } else { without_taken_back(context, project, changes) }
}

/// Leaves out what git took back: it is not in the files.
fn without_taken_back(
    context: &CommandContext,
    project: &Project,
    changes: Vec<Change>,
) -> Result<Vec<Change>> {
    let by_git = project.taken_back_by_git(&changes)?;
    let (gone, stays): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| by_git.contains(&change.id));
    let paths: BTreeSet<_> = gone.iter().map(|change| display_path(&change.path)).collect();
    if !paths.is_empty() && !context.json {
        // Beside the difference, which may go into a file.
        let paths = Vec::from_iter(paths).join(", ");
        print_message(
            "note",
            TextStyle::Mark,
            &format!("git took back, and so not shown: {paths}"),
        );
    }
    Ok(stays)
}

fn render_stat(diffs: &[FileDiff], colour: bool) -> String {
    let counts = |diff: &FileDiff| match &diff.body {
        DiffBody::Lines(lines) => Some(count_lines(lines)),
        DiffBody::Binary | DiffBody::TooLarge | DiffBody::NotCaptured => None,
    };
    let most = diffs.iter().filter_map(counts).map(|(added, removed)| added + removed).max();
    let most = most.unwrap_or(0).max(MAX_BAR_WIDTH);
    let bar = |sign: &str, count: u64| {
        let width = (count * MAX_BAR_WIDTH).div_ceil(most);
        sign.repeat(width as usize)
    };
    let mut table = TextTable::default();
    let (mut all_added, mut all_removed) = (0, 0);
    for diff in diffs {
        let path = if diff.old_path == diff.path {
            display_path(&diff.path)
        } else {
            format!("{} → {}", display_path(&diff.old_path), display_path(&diff.path))
        };
        let path = TableCell::new(path, TextStyle::Plain);
        let Some((added, removed)) = counts(diff) else {
            let what = match diff.body {
                DiffBody::TooLarge => "too large to show",
                DiffBody::NotCaptured => "not captured",
                DiffBody::Binary | DiffBody::Lines(_) => "binary",
            };
            table.row([path, TableCell::new(what, TextStyle::Dim)]);
            continue;
        };
        all_added += added;
        all_removed += removed;
        table.row([
            path,
            TableCell::right(format!("+{added}"), TextStyle::Good),
            TableCell::right(format!("-{removed}"), TextStyle::Bad),
            TableCell::new(bar("+", added) + &bar("-", removed), TextStyle::Dim),
        ]);
    }
    let files = plural(diffs.len() as u64, "file", "files");
    table.render("", colour) + &format!("{files} changed, +{all_added} -{all_removed}\n")
}
