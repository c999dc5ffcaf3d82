//! `retake undo`: take back the newest step, and say in three lines what that was.

mod preview;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, OperationKind, ProjectPath};
use retake_engine::{Cascade, ChangeFilter, PlannedFile, Project, Reason, UndoStep};
use retake_server::documents;
use retake_server::door::PlanUndo;

use crate::args::{Manner, Undo};
use crate::checkpoint_id::short;
use crate::commands::message::first_words;
use crate::commands::scope::wrong_usage;
use crate::context::{Context, Exit};
use crate::describe::{name, plural, short_id};
use crate::escape::escape;
use crate::outcome::{Outcome, carry_out, conversation, not_covered, table};
use crate::output::Style;
use crate::table::{Cell, Table};

/// Maximum files listed; more are only counted.
const LISTED: usize = 3;
/// Maximum gaps listed.
const LISTED_GAPS: usize = 10;

/// Each step is an operation of its own; one that was not done whole is the last.
pub(super) fn run(context: &Context, options: &Undo) -> Result<Exit> {
    if options.steps > 1 && options.rewinding.conversation {
        wrong_usage(
            "--conversation goes back one step at a time; to go further, restore to a message",
        );
    }
    let project = context.open_to_write()?;
    if options.steps > 1 && options.manner.dry_run {
        return preview::run(context, &project, options);
    }
    let mut exit = Exit::Done;
    for number in 0..options.steps {
        let Some(done) = undo(context, &project, options)? else {
            return if number == 0 {
                nothing_to_undo(context, &project, &options.manner)
            } else {
                nothing_more(context)
            };
        };
        exit = done;
        if exit != Exit::Done {
            break;
        }
    }
    Ok(exit)
}

/// Reports fewer steps than were asked for; programs count the documents.
fn nothing_more(context: &Context) -> Result<Exit> {
    if !context.json {
        context.out.text("There is nothing more to undo.\n")?;
    }
    Ok(Exit::Done)
}

/// None if there is nothing to undo.
fn undo(context: &Context, project: &Project, options: &Undo) -> Result<Option<Exit>> {
    let taking = options.taking.options(Cascade::Leave);
    let what = options.rewinding.what();
    let Some((plan, step)) = context.ask(project, PlanUndo { taking, what })? else {
        return Ok(None);
    };
    let what = described(project, &step)?;
    let outcome = carry_out(context, project, plan, &options.manner)?;
    let told = |outcome: &Outcome| told(context, project, outcome, &what);
    outcome.show(context, project, &options.manner, &told).map(Some)
}

/// Reports that there is nothing to undo, with the calls that ran without a recorded change. Gaps
/// meanwhile may hide their work, so the exit code is "partly".
fn nothing_to_undo(context: &Context, project: &Project, manner: &Manner) -> Result<Exit> {
    let considered = project.nothing_to_undo()?;
    let exit = if considered.is_whole() { Exit::Done } else { Exit::Partly };
    if context.json {
        let nothing = documents::Outcome::nothing_to_undo(&considered).asked(manner.dry_run);
        context.out.json(&nothing)?;
        return Ok(exit);
    }
    let mut text = passed(&considered.taken_back_by_git);
    text.push_str(if text.is_empty() && considered.left.is_empty() {
        "There is nothing to undo; no file was changed.\n"
    } else {
        "There is nothing else to undo; no file was changed.\n"
    });
    if !considered.left.is_empty() {
        let left: Vec<_> = considered.left.iter().map(escape).collect();
        let _ = writeln!(text, "Left by an earlier undo: {}.", left.join(", "));
        text.push_str("→ --cascade, --markers or --across-git try it again in another way\n");
    }
    if !considered.calls.is_empty() {
        text.push_str("\nThese calls ran, and no change on record is theirs:\n");
        let mut table = Table::default();
        for call in &considered.calls {
            let command = first_words(call.command.as_deref().unwrap_or_default());
            table.row([
                Cell::new(short_id(&call.dialog.0), Style::Mark),
                Cell::new(escape(&call.tool), Style::Plain),
                Cell::new(escape(command), Style::Dim),
            ]);
        }
        text.push_str(&table.render("  ", context.out.colour));
    }
    if !considered.gaps.is_empty() {
        text.push_str("\nNot protected since they began, so changes of it are not known:\n");
        let mut table = Table::default();
        for gap in considered.gaps.iter().take(LISTED_GAPS) {
            let detail = Cell::new(escape(&gap.detail), Style::Dim);
            table.row([Cell::new(name(&gap.path), Style::Plain), detail]);
        }
        text.push_str(&table.render("  ", context.out.colour));
        text.push_str("`retake status` lists all of it.\n");
    }
    context.out.text(&text)?;
    Ok(exit)
}

/// Reports that there is nothing to undo or redo, which is no error.
pub(super) fn nothing(context: &Context, kind: OperationKind, manner: &Manner) -> Result<Exit> {
    if context.json {
        context.out.json(&documents::Outcome::nothing(kind).asked(manner.dry_run))?;
    } else {
        context.out.text(&format!("There is nothing to {kind}; no file was changed.\n"))?;
    }
    Ok(Exit::Done)
}

/// The step in words that are safe to show.
pub(super) fn described(project: &Project, step: &UndoStep) -> Result<String> {
    Ok(match step {
        UndoStep::Turn { dialog, turn: 0, .. } => {
            format!("what dialog {} did before its first message", short_id(&dialog.0))
        }
        UndoStep::Turn { dialog, turn, .. }
        | UndoStep::Redone { turn: Some((dialog, turn)), is_part: false, .. } => {
            let said = project.store().message_of(dialog, *turn)?;
            let said = said.map(|message| format!(" ({})", escape(first_words(&message.text))));
            let id = short_id(&dialog.0);
            format!("turn {turn} of dialog {id}{}", said.unwrap_or_default())
        }
        UndoStep::Redone { .. } | UndoStep::Operation(_) => escape(step.describe()),
    })
}

/// The turns that were passed over, in a line.
fn passed(steps: &[String]) -> String {
    let names = |steps: &[String]| steps.iter().map(escape).collect::<Vec<_>>().join(", ");
    let what = match steps {
        [] => return String::new(),
        [one] => {
            let one = escape(one);
            return format!(
                "Passed over {one}: git took it back, and it counts again if git brings it back.\n"
            );
        }
        few if few.len() <= LISTED => names(few),
        many => format!("{} turns", many.len()),
    };
    format!(
        "Passed over {what}: git took them back, and they count again if git brings them back.\n"
    )
}

/// Describes what was done, what stays, and how to get it back.
pub(super) fn told(
    context: &Context,
    project: &Project,
    outcome: &Outcome,
    what: &str,
) -> Result<String> {
    if outcome.plan.is_conversation_only() {
        return Ok(conversation(&outcome.plan));
    }
    let (did, undone, back, command) = match outcome.plan.kind {
        OperationKind::Redo => ("Redid", "redone", "Undo it again", "retake undo"),
        _ => ("Undid", "undone", "Get it back", "retake redo"),
    };
    let Some(operation) = &outcome.operation else {
        let mut text = passed(&outcome.plan.passed);
        text += &table(project, &outcome.plan, true)?.render("  ", context.out.colour);
        let _ = writeln!(text, "Nothing was changed; {what} could not be {undone}.");
        if outcome.plan.kind == OperationKind::Undo {
            text.push_str("`retake undo` goes on with the step before it.\n");
        }
        return Ok(text);
    };
    let mut text = passed(&outcome.plan.passed);
    let _ = writeln!(text, "{did} {what}: {}", tally(outcome));
    for line in what_stays(project, outcome)? {
        let _ = writeln!(text, "{line}");
    }
    let is_told = |file: &PlannedFile| file.is_left() || file.warning.is_some();
    if outcome.plan.files.iter().any(is_told) {
        let mut left = outcome.plan.clone();
        left.files.retain(is_told);
        text.push_str(&table(project, &left, true)?.render("  ", context.out.colour));
    }
    text.push_str(&conversation(&outcome.plan));
    text.push_str(&not_covered(&outcome.plan));
    let safety = context.out.paint(&short(project, &operation.safety)?, Style::Mark);
    let both = if outcome.plan.rewind.as_ref().is_some_and(|rewind| rewind.done.is_some()) {
        " --both"
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "{back} with `{command}{both}`; everything as it was before: checkpoint {safety}"
    );
    Ok(text)
}

fn tally(outcome: &Outcome) -> String {
    let (written, left) = (outcome.plan.writes().count(), outcome.plan.left().count());
    let written = match written as u64 {
        0 => "no file had to change".to_owned(),
        count if outcome.plan.kind == OperationKind::Redo => {
            format!("{} changed again", plural(count, "file", "files"))
        }
        count => format!("{} changed back", plural(count, "file", "files")),
    };
    if left == 0 { written } else { format!("{written}, {left} left") }
}

/// Lists later edits that stay in the files, and files with conflict markers.
fn what_stays(project: &Project, outcome: &Outcome) -> Result<Vec<String>> {
    let mut by: BTreeMap<&str, Vec<&ProjectPath>> = BTreeMap::new();
    for file in outcome.plan.writes().filter(|file| file.reason == Reason::Merged) {
        let filter = ChangeFilter {
            path: Some(file.path.clone()),
            after: file.changes.iter().map(|id| id.0).max(),
            ..ChangeFilter::default()
        };
        for change in project.changes(&filter)?.iter().filter(|change| change.is_effective()) {
            let whose = match change.actor {
                Actor::User | Actor::Unknown => "Later edits of yours",
                Actor::Agent => "Later changes of agents",
                Actor::Git | Actor::Retake => continue,
            };
            let paths = by.entry(whose).or_default();
            if !paths.contains(&&file.path) {
                paths.push(&file.path);
            }
        }
    }
    let line = |(whose, paths): (&str, Vec<&ProjectPath>)| {
        let names: Vec<_> = paths.iter().map(|path| name(path)).collect();
        let places =
            if names.len() > LISTED { format!("{} files", names.len()) } else { names.join(", ") };
        format!("{whose} in {places} stay.")
    };
    let mut lines: Vec<_> = by.into_iter().map(line).collect();
    let with_markers = |file: &&PlannedFile| matches!(file.reason, Reason::Markers(_));
    for file in outcome.plan.writes().filter(with_markers) {
        lines.push(format!("{} has {}.", name(&file.path), file.reason));
    }
    Ok(lines)
}
