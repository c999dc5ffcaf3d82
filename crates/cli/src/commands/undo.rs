//! `retake undo`: take back the newest step, and say in three lines what that was.

mod list;
mod preview;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeId, OperationKind, ProjectPath};
use retake_engine::{
    CascadePolicy, ChangeFilter, Plan, PlanReason, PlannedFile, Project, Selection,
};
use retake_service::documents;
use retake_service::request::{ChangeScope, PlanUndo};

use crate::args::{ApplyArgs, UndoArgs, UndoTargetArg};
use crate::checkpoint_id::short_checkpoint_id;
use crate::commands::rollback::roll_back;
use crate::commands::scope::exit_with_usage;
use crate::context::{CommandContext, Exit};
use crate::describe::{dialog_names, display_path, first_words, format_count, plural};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable, render_paragraph};
use crate::outcome::{
    PlanOutcome, TakeBackAttempt, apply_take_back, describe_not_covered, describe_rewind,
    plan_table,
};
use crate::output::{Output, TextStyle};

/// Maximum files listed; more are only counted.
const MAX_LISTED_FILES: usize = 3;
/// Maximum changes named that several dialogs can have made.
const MAX_LISTED_SHARED: usize = 10;
/// Maximum gaps listed.
const MAX_LISTED_GAPS: usize = 10;

/// Each step is an operation of its own; one that was not done whole is the last.
pub(super) fn run(context: &CommandContext, options: &UndoArgs) -> Result<Exit> {
    if options.list {
        return list::run(context);
    }
    let steps = match UndoTarget::of(&options.what) {
        UndoTarget::Steps(steps) => steps,
        UndoTarget::Changes(changes) => return undo_changes(context, options, changes),
    };
    if steps > 1 && options.rewind.conversation {
        exit_with_usage(
            "--conversation goes back one step at a time; to go further, restore to a message",
        );
    }
    let project = context.open_to_write()?;
    if steps > 1 && options.apply.dry_run {
        return preview::run(context, &project, options, steps);
    }
    let mut exit = Exit::Done;
    for number in 0..steps {
        let Some(done) = undo_step(context, &project, options)? else {
            return if number == 0 {
                report_nothing_to_undo(context, &project, &options.apply)
            } else {
                report_nothing_more(context)
            };
        };
        exit = done;
        if exit != Exit::Done {
            report_stop(context, number + 1, steps)?;
            break;
        }
    }
    Ok(exit)
}

enum UndoTarget {
    Steps(u32),
    Changes(Vec<ChangeId>),
}

impl UndoTarget {
    fn of(words: &[UndoTargetArg]) -> Self {
        let change = |word: &UndoTargetArg| match word {
            UndoTargetArg::Change(id) => Some(*id),
            UndoTargetArg::Steps(_) => None,
        };
        match words {
            [] => Self::Steps(1),
            [UndoTargetArg::Steps(steps)] => Self::Steps(*steps),
            words => match words.iter().map(change).collect() {
                Some(changes) => Self::Changes(changes),
                None => exit_with_usage("name one number of steps, or changes"),
            },
        }
    }
}

/// Takes back single changes, as `retake rollback --change` does.
fn undo_changes(
    context: &CommandContext,
    options: &UndoArgs,
    changes: Vec<ChangeId>,
) -> Result<Exit> {
    if options.rewind.conversation || options.rewind.both {
        exit_with_usage("a conversation goes back by steps, not by changes");
    }
    let scope = ChangeScope::Changes(Selection { changes, ..Selection::default() });
    let take_back = options.take_back.to_options(CascadePolicy::Leave);
    roll_back(context, &context.open_to_write()?, &scope, take_back, &options.apply)
}

/// Reports fewer steps than were asked for; programs count the documents.
fn report_nothing_more(context: &CommandContext) -> Result<Exit> {
    if !context.json {
        context.out.text("There is nothing more to undo.\n")?;
    }
    Ok(Exit::Done)
}

/// Reports that a step which was not done whole is the last one.
fn report_stop(context: &CommandContext, number: u32, steps: u32) -> Result<()> {
    if number < steps && !context.json {
        context.out.text(&format!("Stopped at step {number} of {steps}.\n"))?;
    }
    Ok(())
}

/// None if there is nothing to undo.
fn undo_step(
    context: &CommandContext,
    project: &Project,
    options: &UndoArgs,
) -> Result<Option<Exit>> {
    let taking = options.take_back.to_options(CascadePolicy::Leave);
    let what = options.rewind.rewind_target();
    let plan = |taking| context.run_request(project, PlanUndo { taking, what });
    let Some((first, step)) = plan(taking)? else {
        return Ok(None);
    };
    let replan = |taking| Ok(plan(taking)?.map(|(plan, _)| plan));
    let what = escape(step.describe());
    let attempt = TakeBackAttempt { plan: first, taking, replan: &replan };
    let outcome = apply_take_back(context, project, attempt, &options.apply)?;
    let describe = |outcome: &PlanOutcome| describe_outcome(context.out, project, outcome, &what);
    outcome.print(context, project, &options.apply, &describe).map(Some)
}

/// Reports that there is nothing to undo, with the calls that ran without a recorded change. Gaps
/// meanwhile may hide their work, so the exit code is "partly".
fn report_nothing_to_undo(
    context: &CommandContext,
    project: &Project,
    options: &ApplyArgs,
) -> Result<Exit> {
    let considered = project.nothing_to_undo()?;
    let exit = if considered.is_whole() { Exit::Done } else { Exit::Partly };
    if context.json {
        let nothing =
            documents::OperationOutcome::nothing_to_undo(&considered).with_dry_run(options.dry_run);
        context.out.json(&nothing)?;
        return Ok(exit);
    }
    let mut text = describe_passed(context.out, &considered.taken_back_by_git);
    text.push_str(
        if text.is_empty() && considered.left.is_empty() && considered.shared.is_empty() {
            "There is nothing to undo; no file was changed.\n"
        } else {
            "There is nothing else to undo; no file was changed.\n"
        },
    );
    if !considered.left.is_empty() {
        let left: Vec<_> = considered.left.iter().map(escape).collect();
        let _ = writeln!(text, "Left by an earlier undo: {}.", left.join(", "));
        text.push_str("→ --cascade, --markers or --across-git try it again in another way\n");
    }
    text.push_str(&describe_shared(context.out, &considered.shared));
    if !considered.calls.is_empty() {
        text.push_str("\nThese calls ran, and no change on record is theirs:\n");
        let names = dialog_names(project)?;
        let mut table = TextTable::new([Column::WHOLE, Column::WHOLE, Column::TITLE]);
        for call in &considered.calls {
            let command = first_words(call.command.as_deref().unwrap_or_default());
            table.row([
                TableCell::new(names.dialog(&call.dialog), TextStyle::Mark),
                TableCell::new(escape(&call.tool), TextStyle::Plain),
                TableCell::new(escape(command), TextStyle::Dim),
            ]);
        }
        text.push_str(&table.render("  ", context.out));
    }
    if !considered.gaps.is_empty() {
        text.push_str("\nNot protected since they began, so changes of it are not known:\n");
        let mut table = TextTable::new([Column::PATH, Column::WRAPPED]);
        for gap in considered.gaps.iter().take(MAX_LISTED_GAPS) {
            let detail = TableCell::new(escape(&gap.detail), TextStyle::Dim);
            table.row([TableCell::new(display_path(&gap.path), TextStyle::Plain), detail]);
        }
        text.push_str(&table.render("  ", context.out));
        text.push_str("`retake status` lists all of it.\n");
    }
    context.out.text(&text)?;
    Ok(exit)
}

/// Describes changes that no undo takes back, since several dialogs can have made them.
fn describe_shared(out: Output, changes: &[Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let ids: Vec<_> = changes.iter().map(|change| change.id.to_string()).collect();
    let (count, them) = match changes.len() {
        1 => ("1 change is".to_owned(), "it"),
        many => (format!("{} changes are", format_count(many as u64)), "them"),
    };
    let what = format!("{count} of no turn, since several dialogs can have made {them}.");
    let way_out = match ids.len() {
        1..=MAX_LISTED_SHARED => format!("→ retake reject {} takes {them} back", ids.join(" ")),
        _ => format!("→ retake log --confidence shared --files lists {them}"),
    };
    render_paragraph(&what, "", TextStyle::Plain, out)
        + &render_paragraph(&way_out, "", TextStyle::Mark, out)
}

/// Reports that there is nothing to undo or redo, which is no error.
pub(super) fn report_nothing(
    context: &CommandContext,
    kind: OperationKind,
    options: &ApplyArgs,
) -> Result<Exit> {
    if context.json {
        context
            .out
            .json(&documents::OperationOutcome::nothing(kind).with_dry_run(options.dry_run))?;
    } else {
        context.out.text(&format!("There is nothing to {kind}; no file was changed.\n"))?;
    }
    Ok(Exit::Done)
}

/// The turns that were passed over, in a sentence.
fn describe_passed(out: Output, steps: &[String]) -> String {
    let names = |steps: &[String]| steps.iter().map(escape).collect::<Vec<_>>().join(", ");
    let what = match steps {
        [] => return String::new(),
        few if few.len() <= MAX_LISTED_FILES => names(few),
        many => format!("{} turns", many.len()),
    };
    let back = match steps {
        [_] => "git took it back, and it counts again if git brings it back",
        _ => "git took them back, and they count again if git brings them back",
    };
    let sentence = format!("Passed over {what}: {back}.");
    render_paragraph(&sentence, "", TextStyle::Plain, out)
}

/// Describes what was done, what stays, and how to get it back.
pub(super) fn describe_outcome(
    out: Output,
    project: &Project,
    outcome: &PlanOutcome,
    what: &str,
) -> Result<String> {
    if outcome.plan.is_conversation_only() {
        return describe_rewind(project, &outcome.plan);
    }
    let (did, undone, back, command) = match outcome.plan.kind {
        OperationKind::Redo => ("Redid", "redone", "Undo it again", "retake undo"),
        _ => ("Undid", "undone", "Get it back", "retake redo"),
    };
    let Some(operation) = &outcome.operation else {
        let mut text = describe_passed(out, &outcome.plan.passed);
        text += &plan_table(project, &outcome.plan, true)?.render("  ", out);
        let nothing = format!("Nothing was changed; {what} could not be {undone}.");
        text += &render_paragraph(&nothing, "", TextStyle::Plain, out);
        let moved_on = |file: &PlannedFile| file.reason == PlanReason::MovedOn;
        if outcome.plan.kind == OperationKind::Undo && !outcome.plan.left().any(moved_on) {
            text.push_str("`retake undo` goes on with the step before it.\n");
        }
        return Ok(text);
    };
    let mut text = describe_passed(out, &outcome.plan.passed);
    let mut paragraphs = vec![format!("{did} {what}: {}", describe_counts(outcome))];
    paragraphs.extend(describe_kept_edits(project, outcome)?);
    if outcome.plan.kind == OperationKind::Undo && takes_approved(project, &outcome.plan)? {
        paragraphs.push("You had approved work that is in it.".to_owned());
    }
    for line in paragraphs {
        text.push_str(&render_paragraph(&line, "", TextStyle::Plain, out));
    }
    let is_listed = |file: &PlannedFile| file.is_left() || file.warning.is_some();
    if outcome.plan.files.iter().any(is_listed) {
        let mut left = outcome.plan.clone();
        left.files.retain(is_listed);
        text.push_str(&plan_table(project, &left, true)?.render("  ", out));
    }
    text.push_str(&describe_rewind(project, &outcome.plan)?);
    text.push_str(&describe_not_covered(&outcome.plan));
    let safety = short_checkpoint_id(project, &operation.safety)?;
    let both = if outcome.plan.rewind.as_ref().is_some_and(|rewind| rewind.done.is_some()) {
        " --both"
    } else {
        ""
    };
    let way_back =
        format!("{back} with `{command}{both}`; everything as it was before: checkpoint {safety}");
    let way_back = render_paragraph(&way_back, "", TextStyle::Plain, out);
    text.push_str(&way_back.replace(&safety, &out.paint(&safety, TextStyle::Mark)));
    Ok(text)
}

fn describe_counts(outcome: &PlanOutcome) -> String {
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

/// Returns true if the plan takes back changes that were approved.
fn takes_approved(project: &Project, plan: &Plan) -> Result<bool> {
    for id in plan.writes().flat_map(|file| &file.changes) {
        if project.change(*id)?.is_some_and(|change| change.approved.is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lists later edits that stay in the files, and files with conflict markers.
fn describe_kept_edits(project: &Project, outcome: &PlanOutcome) -> Result<Vec<String>> {
    let mut by: BTreeMap<&str, Vec<&ProjectPath>> = BTreeMap::new();
    let moves = outcome.plan.moves();
    for file in outcome.plan.writes().filter(|file| file.reason == PlanReason::Merged) {
        // Edits of a file that is moved are in it where it is then.
        let new_place = moves.iter().find(|one| *one.from == file.path).map(|one| one.to);
        let place = new_place.unwrap_or(&file.path);
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
            if !paths.contains(&place) {
                paths.push(place);
            }
        }
    }
    let line = |(whose, paths): (&str, Vec<&ProjectPath>)| {
        let names: Vec<_> = paths.iter().map(|path| display_path(path)).collect();
        let places = if names.len() > MAX_LISTED_FILES {
            format!("{} files", names.len())
        } else {
            names.join(", ")
        };
        format!("{whose} in {places} stay.")
    };
    let mut lines: Vec<_> = by.into_iter().map(line).collect();
    let with_markers = |file: &&PlannedFile| matches!(file.reason, PlanReason::Markers(_));
    for file in outcome.plan.writes().filter(with_markers) {
        lines.push(format!("{} has {}.", display_path(&file.path), file.reason));
    }
    Ok(lines)
}
