//! Renders a plan and its outcome for people: a line for each file, then a summary.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::OperationKind;
use retake_engine::{FileAction, Plan, PlannedFile, Project, iso_8601};
use retake_service::documents::suggested_commands;
use retake_service::plan_words::{PlanDetails, PlanTense, action_label, undone_answers};

use crate::checkpoint_id::short_checkpoint_id;
use crate::context::CommandContext;
use crate::describe::{dialog_names, display_path, first_words, format_count, plural};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable, render_paragraph};
use crate::outcome::{PlanOutcome, confirmation};
use crate::output::{Output, TextStyle};
use crate::patch::{DiffPrinter, DiffStyle};
use crate::time::format_moment;

/// Maximum lines of diffs shown at a terminal without `--diff`.
const MAX_UNASKED_DIFF_LINES: usize = 40;
/// Last line below a plan that was not applied.
pub(crate) const NOTHING_WRITTEN_TEXT: &str = "Nothing was written.\n";
/// Maximum blocking changes listed for each file.
const MAX_LISTED_BLOCKERS: usize = 5;

/// The title of a plan for people, escaped, with its time as their clock shows it.
pub(super) fn plan_title(plan: &Plan) -> String {
    let local = |since| plan.title.replace(&iso_8601(since), &format_moment(since));
    escape(plan.since.map_or_else(|| plan.title.clone(), local))
}

/// A line for each file: what is done, the path, and why; what is left with the way out.
pub(crate) fn plan_table(project: &Project, plan: &Plan, done: bool) -> Result<TextTable> {
    let mut table = TextTable::new([Column::WHOLE, Column::PATH, Column::WRAPPED.at_least(34)]);
    let (details, names) = (PlanDetails::new(project, plan), dialog_names(project)?);
    let tense = if done { PlanTense::Done } else { PlanTense::Planned };
    for file in &plan.files {
        table.row([
            TableCell::new(action_label(file, tense), action_style(file)),
            TableCell::new(display_path(&file.path), TextStyle::Plain),
            TableCell::new(escape(details.detail(file)?), TextStyle::Dim),
        ]);
        let mut remark = |text: String, style| {
            table.row([TableCell::empty(), TableCell::empty(), TableCell::new(text, style)]);
        };
        if let Some(warning) = &file.warning {
            remark(escape(warning), TextStyle::Warn);
        }
        if !file.is_left() {
            continue;
        }
        for id in file.blockers.iter().take(MAX_LISTED_BLOCKERS) {
            let by = project.change(*id)?.map_or_else(String::new, |change| names.maker(&change));
            remark(format!("in the way: {id} by {by}"), TextStyle::Plain);
        }
        if let Some(more) = file.blockers.len().checked_sub(MAX_LISTED_BLOCKERS + 1) {
            remark(format!("in the way: {} more", more + 1), TextStyle::Plain);
        }
        for way_out in suggested_commands(plan, file) {
            remark(format!("→ {way_out}"), TextStyle::Mark);
        }
    }
    Ok(table)
}

fn action_style(file: &PlannedFile) -> TextStyle {
    match file.action {
        FileAction::Leave if file.reason.is_as_wanted() => TextStyle::Dim,
        FileAction::Leave => TextStyle::Warn,
        FileAction::Delete => TextStyle::Bad,
        FileAction::Create | FileAction::Write | FileAction::Mode => TextStyle::Good,
    }
}

/// Renders a line for each file, what was done, and how to take it back.
pub(crate) fn render_summary(
    context: &CommandContext,
    project: &Project,
    outcome: &PlanOutcome,
) -> Result<String> {
    let mut text = plan_table(project, &outcome.plan, true)?.render("  ", context.out);
    if !text.is_empty() {
        text.push('\n');
    }
    let title = capitalised(&plan_title(&outcome.plan));
    let summary = format!("{title}: {}.", describe_counts(outcome));
    text.push_str(&render_paragraph(&summary, "", TextStyle::Plain, context.out));
    text.push_str(&describe_rewind(project, &outcome.plan)?);
    text.push_str(&describe_not_covered(&outcome.plan));
    if let Some(operation) = &outcome.operation {
        let safety =
            context.out.paint(&short_checkpoint_id(project, &operation.safety)?, TextStyle::Mark);
        // An undo is no step of its own: what takes it back is a redo.
        let back = if operation.kind == OperationKind::Undo { "redo" } else { "undo" };
        let _ = writeln!(text, "Safety checkpoint {safety}; take it back with `retake {back}`.");
    }
    Ok(text)
}

/// Describes what goes along with a plan that is not applied yet, a line each.
pub(crate) fn describe_consequences(project: &Project, plan: &Plan) -> Result<String> {
    let mut text = String::new();
    for sentence in undone_answers(plan, &dialog_names(project)?) {
        let _ = writeln!(text, "{sentence}.");
    }
    Ok(text)
}

/// Describes the effect on the conversation, and how to bring it back.
pub(crate) fn describe_rewind(project: &Project, plan: &Plan) -> Result<String> {
    let Some(rewind) = &plan.rewind else { return Ok(String::new()) };
    let dialog = escape(project.dialog_name(&rewind.dialog)?);
    if let Some(problem) = &rewind.problem {
        return Ok(format!("The conversation of {dialog} stays: {}.\n", escape(problem)));
    }
    let done = rewind.done.is_some();
    if rewind.brings_back() {
        let (was, is) = ("is shown as it was before that", "would be shown as it was before that");
        return Ok(format!("The conversation of {dialog} {}.\n", if done { was } else { is }));
    }
    let rewound = &rewind.rewound;
    if rewound.hidden == 0 && rewound.unsaid == 0 {
        return Ok(format!("Nothing of the conversation of {dialog} comes after that.\n"));
    }
    let before = escape(first_words(&rewound.before));
    let said = format!("{} of what was said", rewound.unsaid);
    let model = format!("{} of the model's history", rewound.hidden);
    let what = match (rewound.unsaid, rewound.hidden) {
        (_, 0) => said,
        (0, _) => model,
        _ => format!("{said}, {model}"),
    };
    let hides = if done { "is hidden" } else { "would be hidden" };
    let back = if done { "; show it again with `retake history back`" } else { "" };
    Ok(format!(
        "From “{before}” on the conversation of {dialog} {hides} (messages: {what}){back}.\n"
    ))
}

/// Names unprotected paths: they may have changed too, without a record (promise 5).
pub(crate) fn describe_not_covered(plan: &Plan) -> String {
    match plan.not_covered.as_slice() {
        [] => String::new(),
        [one] => {
            format!("Not protected: {} ({}).\n", display_path(&one.path), one.reason.as_str())
        }
        several => {
            let count = format_count(several.len() as u64);
            format!("Not protected: {count} paths; see `retake status`.\n")
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `3 files changed, 1 left as it is`.
pub(super) fn describe_counts(outcome: &PlanOutcome) -> String {
    let written = outcome.plan.writes().count() as u64;
    let left = outcome.plan.left().count() as u64;
    let written = match written {
        0 => "no file changed".to_owned(),
        count => format!("{} changed", plural(count, "file", "files")),
    };
    let left = match left {
        0 => String::new(),
        1 => ", 1 left as it is".to_owned(),
        count => format!(", {} left as they are", format_count(count)),
    };
    written + &left
}

/// A plan that is shown before it is applied.
pub(super) struct PlanPreview<'a> {
    pub(super) plan: &'a Plan,
    /// Stands before the title of the plan.
    pub(super) head: &'a str,
    /// Shows the diffs even if they are long.
    pub(super) all_diffs: bool,
}

/// Renders what a plan would do.
pub(super) fn render_plan(
    context: &CommandContext,
    project: &Project,
    preview: &PlanPreview<'_>,
) -> Result<Vec<u8>> {
    let PlanPreview { plan, head, all_diffs } = *preview;
    let title = format!("{head}: {}", plan_title(plan));
    let mut text = render_paragraph(&title, "", TextStyle::Bold, context.out);
    text.push_str(&plan_table(project, plan, false)?.render("  ", context.out));
    let mut text = text.into_bytes();
    let is_small = context.out.terminal && plan.writes().count() <= MAX_UNASKED_DIFF_LINES;
    let diffs =
        if all_diffs || is_small { render_diffs(project, plan, context.out)? } else { Vec::new() };
    let is_short = diffs.split(|byte| *byte == b'\n').count() <= MAX_UNASKED_DIFF_LINES;
    if !diffs.is_empty() && (all_diffs || is_short) {
        text.push(b'\n');
        text.extend(diffs);
        text.push(b'\n');
    }
    text.extend(describe_consequences(project, plan)?.bytes());
    text.extend(describe_rewind(project, plan)?.bytes());
    text.extend(confirmation::preview_text(project, plan, context.out)?.bytes());
    Ok(text)
}

/// The difference that is made to each file, for people.
pub(super) fn render_diffs(project: &Project, plan: &Plan, out: Output) -> Result<Vec<u8>> {
    let style = DiffStyle { readable: true, colour: out.colour };
    let mut text = Vec::new();
    let mut printer = DiffPrinter::new(project, style);
    for file in plan.writes() {
        text.extend(printer.render_file(&project.planned_diff(file)?)?);
    }
    Ok(text)
}
