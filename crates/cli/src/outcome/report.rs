//! Renders a plan and its outcome for people: a line for each file, then a summary.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::OperationKind;
use retake_engine::{FileAction, Plan, PlannedFile, Project};
use retake_service::documents::suggested_commands;

use crate::checkpoint_id::short_checkpoint_id;
use crate::commands::message::first_words;
use crate::context::CommandContext;
use crate::describe::{describe_maker, display_path, plural, short_id};
use crate::escape::escape;
use crate::outcome::{PlanOutcome, confirmation};
use crate::output::TextStyle;
use crate::patch::{DiffPrinter, DiffStyle};
use crate::table::{TableCell, TextTable};

/// Maximum lines of diffs shown at a terminal without `--diff`.
const MAX_UNASKED_DIFF_LINES: usize = 40;
/// Last line below a plan that was not applied.
pub(crate) const NOTHING_WRITTEN_TEXT: &str = "Nothing was written.\n";
/// Maximum blocking changes listed for each file.
const MAX_LISTED_BLOCKERS: usize = 5;

/// A line for each file: what is done, the path, and why; what is left with the way out.
pub(crate) fn plan_table(project: &Project, plan: &Plan, done: bool) -> Result<TextTable> {
    let mut table = TextTable::default();
    let blank = || TableCell::new("", TextStyle::Plain);
    for file in &plan.files {
        let (word, style) = action_word(file, done);
        let reason = escape(file.reason.to_string());
        table.row([
            TableCell::new(word, style),
            TableCell::new(display_path(&file.path), TextStyle::Plain),
            TableCell::new(reason, TextStyle::Dim),
        ]);
        let mut remark = |text: String, style| {
            table.row([blank(), blank(), TableCell::new(text, style)]);
        };
        if let Some(warning) = &file.warning {
            remark(escape(warning), TextStyle::Warn);
        }
        if !file.is_left() {
            continue;
        }
        for id in file.blockers.iter().take(MAX_LISTED_BLOCKERS) {
            let by =
                project.change(*id)?.map_or_else(String::new, |change| describe_maker(&change));
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

fn action_word(file: &PlannedFile, done: bool) -> (&'static str, TextStyle) {
    match (file.action, done) {
        (FileAction::Leave, true) if file.reason.is_as_wanted() => ("kept", TextStyle::Dim),
        (FileAction::Leave, false) if file.reason.is_as_wanted() => ("keep", TextStyle::Dim),
        (FileAction::Leave, true) => ("left", TextStyle::Warn),
        (FileAction::Leave, false) => ("leave", TextStyle::Warn),
        (FileAction::Create, true) => ("created", TextStyle::Good),
        (FileAction::Create, false) => ("create", TextStyle::Good),
        (FileAction::Write, true) => ("wrote", TextStyle::Good),
        (FileAction::Write, false) => ("write", TextStyle::Good),
        (FileAction::Delete, true) => ("deleted", TextStyle::Bad),
        (FileAction::Delete, false) => ("delete", TextStyle::Bad),
        (FileAction::Mode, _) => ("chmod", TextStyle::Good),
    }
}

/// Renders a line for each file, what was done, and how to take it back.
pub(crate) fn render_summary(
    context: &CommandContext,
    project: &Project,
    outcome: &PlanOutcome,
) -> Result<String> {
    let mut text = plan_table(project, &outcome.plan, true)?.render("  ", context.out.colour);
    if !text.is_empty() {
        text.push('\n');
    }
    let title = capitalised(&escape(&outcome.plan.title));
    let _ = writeln!(text, "{title}: {}.", describe_counts(outcome));
    text.push_str(&describe_rewind(&outcome.plan));
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

/// Describes the effect on the conversation, and how to bring it back.
pub(crate) fn describe_rewind(plan: &Plan) -> String {
    let Some(rewind) = &plan.rewind else { return String::new() };
    let dialog = escape(short_id(&rewind.dialog.0));
    if let Some(problem) = &rewind.problem {
        return format!("The conversation of dialog {dialog} stays: {}.\n", escape(problem));
    }
    let done = rewind.done.is_some();
    if rewind.brings_back() {
        let (was, is) = ("is shown as it was before that", "would be shown as it was before that");
        return format!("The conversation of dialog {dialog} {}.\n", if done { was } else { is });
    }
    let rewound = &rewind.rewound;
    if rewound.hidden == 0 && rewound.unsaid == 0 {
        return format!("Nothing of the conversation of dialog {dialog} comes after that.\n");
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
    format!(
        "From \"{before}\" on the conversation of dialog {dialog} {hides} (messages: {what}){back}.\n"
    )
}

/// Names unprotected paths: they may have changed too, without a record (promise 5).
pub(crate) fn describe_not_covered(plan: &Plan) -> String {
    match plan.not_covered.as_slice() {
        [] => String::new(),
        [one] => format!("Not covered: {} ({}).\n", display_path(&one.path), one.reason.as_str()),
        several => format!("Not covered: {} paths; see `retake status`.\n", several.len()),
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
        count => format!(", {count} left as they are"),
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
    let title = format!("{head}: {}", escape(&plan.title));
    let mut text = context.out.paint(&title, TextStyle::Bold) + "\n";
    text.push_str(&plan_table(project, plan, false)?.render("  ", context.out.colour));
    let mut text = text.into_bytes();
    let is_small = context.out.terminal && plan.writes().count() <= MAX_UNASKED_DIFF_LINES;
    let diffs =
        if all_diffs || is_small { render_diffs(context, project, plan)? } else { Vec::new() };
    let is_short = diffs.split(|byte| *byte == b'\n').count() <= MAX_UNASKED_DIFF_LINES;
    if !diffs.is_empty() && (all_diffs || is_short) {
        text.push(b'\n');
        text.extend(diffs);
        text.push(b'\n');
    }
    text.extend(describe_rewind(plan).bytes());
    text.extend(confirmation::preview_text(project, plan)?.bytes());
    Ok(text)
}

/// The difference that is made to each file, for people.
pub(super) fn render_diffs(
    context: &CommandContext,
    project: &Project,
    plan: &Plan,
) -> Result<Vec<u8>> {
    let style = DiffStyle { readable: true, colour: context.out.colour };
    let mut text = Vec::new();
    let mut printer = DiffPrinter::new(project, style);
    for file in plan.writes() {
        text.extend(printer.render_file(&project.planned_diff(file)?)?);
    }
    Ok(text)
}
