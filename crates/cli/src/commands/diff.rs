//! `retake diff`: differences in git's format.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeId, ChangeStatus};
use retake_engine::{ChangeFilter, DiffBody, FileDiff, Project};
use retake_service::Masking;
use retake_service::documents::{DiffForm, DiffRenderer};
use retake_service::patch::count_lines;
use unicode_width::UnicodeWidthStr as _;

use crate::args::{ChangeOrPathArg, DiffArgs};
use crate::commands::scope::{changes_at, exit_with_usage};
use crate::commands::show::find_change;
use crate::context::{CommandContext, Exit};
use crate::describe::{display_path, format_count, plural};
use crate::layout::{Column, TableCell, TextTable};
use crate::output::{Output, TextStyle, print_message};
use crate::patch::{DiffPrinter, DiffStyle};

/// Maximum width of a bar of `--stat`, and minimum width where paths are long.
const MAX_BAR_WIDTH: u64 = 40;
const MIN_BAR_WIDTH: u64 = 10;
/// Columns between a path and its bar: the counts of lines, such as `+1,234  -1,234`.
const STAT_COUNTS_WIDTH: usize = 18;

pub(super) fn run(context: &CommandContext, options: &DiffArgs) -> Result<Exit> {
    let DiffScope { changes, paths } = DiffScope::of(options);
    let is_plain = options.what.is_empty() && !is_filtered(options);
    let (project, diffs, is_empty) = if changes.is_empty() {
        let project = context.open_and_scan()?.0;
        let selected = selected_changes(context, &project, options, &paths)?;
        let diffs = project.net_diff(&selected)?;
        (project, diffs, selected.is_empty())
    } else {
        let project = context.open()?;
        let diffs = diff_of_changes(&project, &changes)?;
        (project, diffs, false)
    };
    if context.json {
        let mut differ = DiffRenderer::new(&project, DiffForm::Unified, Masking::Off);
        context.out.json(&differ.render_files(&diffs)?)?;
    } else if options.stat {
        context.out.paged(render_stat(&diffs, context.out).as_bytes())?;
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
            let nothing = if is_plain && is_empty {
                "Nothing of an agent waits for your review; --all shows every change.\n"
            } else {
                "No difference.\n"
            };
            text.extend(nothing.bytes());
        }
        context.out.paged(&text)?;
    }
    Ok(Exit::Done)
}

/// What a difference is of: changes, or places.
struct DiffScope {
    changes: Vec<ChangeId>,
    paths: Vec<PathBuf>,
}

impl DiffScope {
    fn of(options: &DiffArgs) -> Self {
        let (mut changes, mut paths) = (Vec::new(), Vec::new());
        for word in &options.what {
            match word {
                ChangeOrPathArg::Change(id) => changes.push(*id),
                ChangeOrPathArg::Path(path) => paths.push(path.clone()),
            }
        }
        if !changes.is_empty() && (is_filtered(options) || !paths.is_empty()) {
            exit_with_usage("name changes, or choose them by path and option, not both");
        }
        Self { changes, paths }
    }
}

/// Returns true if options choose the changes.
fn is_filtered(options: &DiffArgs) -> bool {
    let filter = &options.filter;
    !filter.dialog.is_empty()
        || !filter.agent.is_empty()
        || filter.file.is_some()
        || filter.since.is_some()
        || options.all
}

fn diff_of_changes(project: &Project, ids: &[ChangeId]) -> Result<Vec<FileDiff>> {
    let mut changes = Vec::new();
    for id in ids {
        changes.push(find_change(project, *id)?);
    }
    changes.sort_by_key(|change| change.id);
    match changes.as_slice() {
        [one] => Ok(vec![project.diff(one)?]),
        several => Ok(project.net_diff(several)?),
    }
}

/// Selects unreviewed changes of agents, narrowed by the filter: a person's lines are in no
/// difference, and a reverse patch takes away only an agent's.
fn selected_changes(
    context: &CommandContext,
    project: &Project,
    options: &DiffArgs,
    paths: &[PathBuf],
) -> Result<Vec<Change>> {
    let filter = context.resolve_filter(project, &options.filter)?;
    let mut filter = ChangeFilter { oldest_first: true, ..filter };
    if !options.all {
        filter.actors = vec![Actor::Agent];
        filter.statuses = vec![ChangeStatus::Pending];
    }
    let changes = changes_at(context, project, &filter, paths)?;
    if options.all {
        return Ok(changes);
    }
    let is_narrow = !paths.is_empty() || options.filter.file.is_some();
    if is_narrow
        && !changes.is_empty()
        && (context.out.terminal || context.out.colour)
        && !context.json
    {
        let own = ChangeFilter {
            actors: vec![Actor::User, Actor::Unknown],
            statuses: Vec::new(),
            after: changes.first().map(|change| change.id.0),
            ..filter
        };
        let own = changes_at(context, project, &own, paths)?;
        note_own_changes(changes.len(), own.iter().filter(|own| own.is_effective()).count());
    }
    without_taken_back(context, project, changes)
}

/// Notes that the person changed the same files since, which is not shown.
fn note_own_changes(by_agents: usize, by_you: usize) {
    if by_agents > 0 && by_you > 0 {
        let by_agents = plural(by_agents as u64, "change", "changes");
        let text =
            format!("{by_agents} by agents; {} by you since (--all)", format_count(by_you as u64));
        print_message("note", TextStyle::Mark, &text);
    }
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

/// A line of `--stat`.
struct StatLine<'a> {
    diff: &'a FileDiff,
    path: String,
    /// Lines added and removed; none where lines are not compared.
    counts: Option<(u64, u64)>,
}

impl<'a> StatLine<'a> {
    fn new(diff: &'a FileDiff) -> Self {
        let path = if diff.old_path == diff.path {
            display_path(&diff.path)
        } else {
            format!("{} → {}", display_path(&diff.old_path), display_path(&diff.path))
        };
        let counts = match &diff.body {
            DiffBody::Lines(lines) => Some(count_lines(lines)),
            DiffBody::Binary | DiffBody::TooLarge | DiffBody::NotCaptured => None,
        };
        Self { diff, path, counts }
    }

    /// Lines added and removed together.
    fn total(&self) -> u64 {
        self.counts.map_or(0, |(added, removed)| added + removed)
    }

    fn render(&self, bar: impl Fn(&str, u64) -> String) -> Vec<TableCell> {
        let path = TableCell::new(self.path.clone(), TextStyle::Plain);
        let Some((added, removed)) = self.counts else {
            let what = match self.diff.body {
                DiffBody::TooLarge => "too large to show",
                DiffBody::NotCaptured => "not captured",
                DiffBody::Binary | DiffBody::Lines(_) => "binary",
            };
            return vec![path, TableCell::new(what, TextStyle::Dim)];
        };
        vec![
            path,
            TableCell::right(format!("+{}", format_count(added)), TextStyle::Good),
            TableCell::right(format!("-{}", format_count(removed)), TextStyle::Bad),
            TableCell::new(bar("+", added) + &bar("-", removed), TextStyle::Dim),
        ]
    }
}

fn render_stat(diffs: &[FileDiff], out: Output) -> String {
    let lines: Vec<_> = diffs.iter().map(StatLine::new).collect();
    let width = bar_width(&lines, out);
    let most = lines.iter().map(StatLine::total).max().unwrap_or(0).max(width);
    let bar = |sign: &str, count: u64| sign.repeat((count * width).div_ceil(most) as usize);
    let mut table =
        TextTable::new([Column::PATH, Column::WHOLE, Column::WHOLE, Column::WHOLE.dropped(1)]);
    for line in &lines {
        table.row(line.render(bar));
    }
    let counts = lines.iter().filter_map(|line| line.counts);
    let (added, removed) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let files = plural(diffs.len() as u64, "file", "files");
    table.render("", out)
        + &format!("{files} changed, +{} -{}\n", format_count(added), format_count(removed))
}

/// The columns of the longest bar: those that paths leave, within limits.
fn bar_width(lines: &[StatLine<'_>], out: Output) -> u64 {
    let Some(width) = out.width else { return MAX_BAR_WIDTH };
    let longest = lines.iter().map(|line| line.path.width()).max().unwrap_or(0);
    let room = width.saturating_sub(longest + STAT_COUNTS_WIDTH) as u64;
    room.clamp(MIN_BAR_WIDTH, MAX_BAR_WIDTH)
}
