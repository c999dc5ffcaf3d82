//! `retake diff`: differences in git's format.

use std::collections::BTreeSet;

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeStatus};
use retake_engine::{ChangeFilter, DiffBody, FileDiff, Project};
use retake_server::Masking;
use retake_server::documents::{DiffForm, Differ};
use retake_server::patch::count;

use crate::args::Diff;
use crate::commands::show::find;
use crate::context::{Context, Exit};
use crate::describe::{name, plural};
use crate::output::{Style, tell};
use crate::patch::{Look, Printer};
use crate::table::{Cell, Table};

/// Maximum width of a bar of `--stat`.
const WIDEST_BAR: u64 = 40;

pub(super) fn run(context: &Context, options: &Diff) -> Result<Exit> {
    let diffs;
    let project;
    if let Some(id) = options.change {
        project = context.open()?;
        diffs = vec![project.diff(&find(&project, id)?)?];
    } else {
        project = context.open_and_look()?.0;
        diffs = project.net_diff(&selected(context, &project, options)?)?;
    }
    if context.json {
        let mut differ = Differ::new(&project, DiffForm::Unified, Masking::Off);
        context.out.json(&differ.files(&diffs)?)?;
    } else if options.stat {
        context.out.paged(stat(&diffs, context.out.colour).as_bytes())?;
    } else {
        // Colour means that a person reads it, on a terminal or not.
        let colour = context.out.colour;
        let readable = (context.out.terminal || colour) && !options.raw;
        let mut printer = Printer::new(&project, Look { readable, colour });
        let mut text = Vec::new();
        for diff in &diffs {
            text.extend(printer.file(diff)?);
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
fn selected(context: &Context, project: &Project, options: &Diff) -> Result<Vec<Change>> {
    let filter = context.filter(project, &options.filter)?;
    let mut filter = ChangeFilter { oldest_first: true, ..filter };
    if !options.all {
        filter.actor = Some(Actor::Agent);
        filter.status = Some(ChangeStatus::Pending);
    }
    let changes = project.changes(&filter)?;
    if options.all { Ok(changes) } else { without_taken_back(context, project, changes) }
}

/// Leaves out what git took back: it is not in the files.
fn without_taken_back(
    context: &Context,
    project: &Project,
    changes: Vec<Change>,
) -> Result<Vec<Change>> {
    let by_git = project.taken_back_by_git(&changes)?;
    let (gone, stays): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| by_git.contains(&change.id));
    let paths: BTreeSet<_> = gone.iter().map(|change| name(&change.path)).collect();
    if !paths.is_empty() && !context.json {
        // Beside the difference, which may go into a file.
        let paths = Vec::from_iter(paths).join(", ");
        tell("note", Style::Mark, &format!("git took back, and so not shown: {paths}"));
    }
    Ok(stays)
}

fn stat(diffs: &[FileDiff], colour: bool) -> String {
    let counts = |diff: &FileDiff| match &diff.body {
        DiffBody::Lines(lines) => Some(count(lines)),
        DiffBody::Binary | DiffBody::TooLarge | DiffBody::NotCaptured => None,
    };
    let most = diffs.iter().filter_map(counts).map(|(added, removed)| added + removed).max();
    let most = most.unwrap_or(0).max(WIDEST_BAR);
    let bar = |sign: &str, count: u64| {
        let width = (count * WIDEST_BAR).div_ceil(most);
        sign.repeat(width as usize)
    };
    let mut table = Table::default();
    let (mut all_added, mut all_removed) = (0, 0);
    for diff in diffs {
        let path = if diff.old_path == diff.path {
            name(&diff.path)
        } else {
            format!("{} → {}", name(&diff.old_path), name(&diff.path))
        };
        let path = Cell::new(path, Style::Plain);
        let Some((added, removed)) = counts(diff) else {
            let what = match diff.body {
                DiffBody::TooLarge => "too large to show",
                DiffBody::NotCaptured => "not captured",
                DiffBody::Binary | DiffBody::Lines(_) => "binary",
            };
            table.row([path, Cell::new(what, Style::Dim)]);
            continue;
        };
        all_added += added;
        all_removed += removed;
        table.row([
            path,
            Cell::right(format!("+{added}"), Style::Good),
            Cell::right(format!("-{removed}"), Style::Bad),
            Cell::new(bar("+", added) + &bar("-", removed), Style::Dim),
        ]);
    }
    let files = plural(diffs.len() as u64, "file", "files");
    table.render("", colour) + &format!("{files} changed, +{all_added} -{all_removed}\n")
}
