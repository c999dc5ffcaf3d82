//! Renders a plan and its outcome for people: a line for each file, then a summary.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::OperationKind;
use retake_engine::{Action, Plan, PlannedFile, Project};
use retake_server::documents::ways_out;

use crate::args::Manner;
use crate::checkpoint_id::short;
use crate::commands::message::first_words;
use crate::context::Context;
use crate::describe::{maker, name, plural, short_id};
use crate::escape::escape;
use crate::outcome::{Outcome, question};
use crate::output::Style;
use crate::patch::{Look, Printer};
use crate::table::{Cell, Table};

/// Maximum lines of diffs shown at a terminal without `--diff`.
const SHORT: usize = 40;
/// Last line below a plan that was not applied.
pub(crate) const NOT_WRITTEN: &str = "Nothing was written.\n";
/// Maximum blocking changes listed for each file.
const BLOCKERS: usize = 5;

/// A line for each file: what is done, the path, and why; what is left with the way out.
pub(crate) fn table(project: &Project, plan: &Plan, done: bool) -> Result<Table> {
    let mut table = Table::default();
    let blank = || Cell::new("", Style::Plain);
    for file in &plan.files {
        let (word, style) = word(file, done);
        let reason = escape(file.reason.to_string());
        table.row([
            Cell::new(word, style),
            Cell::new(name(&file.path), Style::Plain),
            Cell::new(reason, Style::Dim),
        ]);
        let mut remark = |text: String, style| {
            table.row([blank(), blank(), Cell::new(text, style)]);
        };
        if let Some(warning) = &file.warning {
            remark(escape(warning), Style::Warn);
        }
        if !file.is_left() {
            continue;
        }
        for id in file.blockers.iter().take(BLOCKERS) {
            let by = project.change(*id)?.map_or_else(String::new, |change| maker(&change));
            remark(format!("in the way: {id} by {by}"), Style::Plain);
        }
        if let Some(more) = file.blockers.len().checked_sub(BLOCKERS + 1) {
            remark(format!("in the way: {} more", more + 1), Style::Plain);
        }
        for way_out in ways_out(plan, file) {
            remark(format!("→ {way_out}"), Style::Mark);
        }
    }
    Ok(table)
}

fn word(file: &PlannedFile, done: bool) -> (&'static str, Style) {
    match (file.action, done) {
        (Action::Leave, true) if file.reason.is_settled() => ("kept", Style::Dim),
        (Action::Leave, false) if file.reason.is_settled() => ("keep", Style::Dim),
        (Action::Leave, true) => ("left", Style::Warn),
        (Action::Leave, false) => ("leave", Style::Warn),
        (Action::Create, true) => ("created", Style::Good),
        (Action::Create, false) => ("create", Style::Good),
        (Action::Write, true) => ("wrote", Style::Good),
        (Action::Write, false) => ("write", Style::Good),
        (Action::Delete, true) => ("deleted", Style::Bad),
        (Action::Delete, false) => ("delete", Style::Bad),
        (Action::Mode, _) => ("chmod", Style::Good),
    }
}

/// Renders a line for each file, what was done, and how to take it back.
pub(crate) fn summary(context: &Context, project: &Project, outcome: &Outcome) -> Result<String> {
    let mut text = table(project, &outcome.plan, true)?.render("  ", context.out.colour);
    if !text.is_empty() {
        text.push('\n');
    }
    let title = capitalised(&escape(&outcome.plan.title));
    let _ = writeln!(text, "{title}: {}.", tally(outcome));
    text.push_str(&conversation(&outcome.plan));
    text.push_str(&not_covered(&outcome.plan));
    if let Some(operation) = &outcome.operation {
        let safety = context.out.paint(&short(project, &operation.safety)?, Style::Mark);
        // An undo is no step of its own: what takes it back is a redo.
        let back = if operation.kind == OperationKind::Undo { "redo" } else { "undo" };
        let _ = writeln!(text, "Safety checkpoint {safety}; take it back with `retake {back}`.");
    }
    Ok(text)
}

/// Describes the effect on the conversation, and how to bring it back.
pub(crate) fn conversation(plan: &Plan) -> String {
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
pub(crate) fn not_covered(plan: &Plan) -> String {
    match plan.not_covered.as_slice() {
        [] => String::new(),
        [one] => format!("Not covered: {} ({}).\n", name(&one.path), one.reason.as_str()),
        several => format!("Not covered: {} paths; see `retake status`.\n", several.len()),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `3 files changed, 1 left as it is`.
pub(super) fn tally(outcome: &Outcome) -> String {
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

/// Renders what a plan would do, under the title `head`.
pub(super) fn plan(
    context: &Context,
    project: &Project,
    plan: &Plan,
    (manner, head): (&Manner, &str),
) -> Result<Vec<u8>> {
    let title = format!("{head}: {}", escape(&plan.title));
    let mut text = context.out.paint(&title, Style::Bold) + "\n";
    text.push_str(&table(project, plan, false)?.render("  ", context.out.colour));
    let mut text = text.into_bytes();
    let is_small = context.out.terminal && plan.writes().count() <= SHORT;
    let diffs = if manner.diff || is_small { diffs(context, project, plan)? } else { Vec::new() };
    let is_short = diffs.split(|byte| *byte == b'\n').count() <= SHORT;
    if !diffs.is_empty() && (manner.diff || is_short) {
        text.push(b'\n');
        text.extend(diffs);
        text.push(b'\n');
    }
    text.extend(conversation(plan).bytes());
    text.extend(question::preview(project, plan)?.bytes());
    Ok(text)
}

/// The difference that is made to each file, for people.
pub(super) fn diffs(context: &Context, project: &Project, plan: &Plan) -> Result<Vec<u8>> {
    let look = Look { readable: true, colour: context.out.colour };
    let mut text = Vec::new();
    let mut printer = Printer::new(project, look);
    for file in plan.writes() {
        text.extend(printer.file(&project.planned_diff(file)?)?);
    }
    Ok(text)
}
