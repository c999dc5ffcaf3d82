//! The person's choice where later changes touch the lines that a plan takes back.
//!
//! Invariants: only a person at a terminal is asked, and only if no option says it already; the whole
//! plan is shown before; each choice only plans again, and the usual confirmation of the new plan
//! follows; Enter does nothing at all.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Change, ErrorCode};
use retake_engine::{CascadePolicy, Plan, PlanReason, PlannedFile, Project, TakeBackOptions};
use retake_service::plan_words::{ConflictChoice, describe_conflict};

use crate::args::ApplyArgs;
use crate::context::CommandContext;
use crate::describe::{dialog_names, display_path, plural};
use crate::failure::ApiError;
use crate::layout::render_paragraph;
use crate::outcome::conflict_place::render_places;
use crate::outcome::report::{plan_table, plan_title};
use crate::output::{Output, TextStyle, is_interactive, print_to_person};
use crate::patch::{DiffPrinter, DiffStyle};
use crate::question::{AnswerChoice, ChoiceQuestion, ShowDiff, show_diff};

/// A plan that takes changes back, and how to plan the same with other options.
pub(crate) struct TakeBackAttempt<'a> {
    pub(crate) plan: Plan,
    /// The options of the plan.
    pub(crate) taking: TakeBackOptions,
    /// Plans again; none if there is nothing to do by then.
    pub(crate) replan: &'a dyn Fn(TakeBackOptions) -> Result<Option<Plan>>,
}

/// Result of the question.
pub(super) enum ConflictResolution {
    /// This plan is to be applied.
    Apply(Plan),
    /// The person answered nothing, so nothing is done.
    Declined(Plan),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConflictAnswer {
    Choice(ConflictChoice),
    Diff,
    No,
}

/// Asks what becomes of the files in conflict, if there are any and a person can be asked.
pub(super) fn resolve(
    context: &CommandContext,
    project: &Project,
    attempt: TakeBackAttempt<'_>,
    options: &ApplyArgs,
) -> Result<ConflictResolution> {
    if !must_ask(context, project, &attempt, options)? {
        return Ok(ConflictResolution::Apply(attempt.plan));
    }
    let taking = attempt.taking;
    let files: Vec<_> = attempt.plan.left().filter(|file| is_conflict(file)).collect();
    let marked = attempt.replan(TakeBackOptions { markers: true, ..taking })?;
    let later = later_changes(project, &files)?;
    let screen = Output::stderr();
    print_to_person(&render_conflicts(project, &attempt.plan, &marked, &later, screen)?);
    let diff = || render_conflicting_changes(project, &files, &later, screen);
    Ok(match ask_until_chosen(&files, &later, &diff)? {
        Some(ConflictChoice::Keep) => ConflictResolution::Apply(attempt.plan),
        Some(ConflictChoice::Both) => ConflictResolution::Apply(marked),
        Some(ConflictChoice::TakeLater) => {
            let all = TakeBackOptions { cascade: CascadePolicy::All, ..taking };
            ConflictResolution::Apply(attempt.replan(all)?)
        }
        None => ConflictResolution::Declined(attempt.plan),
    })
}

/// Returns true if files are in conflict, a person can be asked, and no option says what becomes of
/// them.
fn must_ask(
    context: &CommandContext,
    project: &Project,
    attempt: &TakeBackAttempt<'_>,
    options: &ApplyArgs,
) -> Result<bool> {
    let TakeBackAttempt { plan, taking, .. } = attempt;
    let is_answered_by_options = options.yes
        || options.dry_run
        || taking.markers
        || taking.cascade == CascadePolicy::All
        || context.json;
    Ok(!is_answered_by_options
        && plan.left().any(is_conflict)
        && is_interactive()
        && context.plan_refusal(project, plan)?.is_none())
}

/// The whole plan, then the places of its conflicts and whose later changes they are with.
fn render_conflicts(
    project: &Project,
    plan: &Plan,
    marked: &Plan,
    later: &[Change],
    screen: Output,
) -> Result<String> {
    let files: Vec<_> = plan.left().filter(|file| is_conflict(file)).collect();
    let title = format!("Plan: {}", plan_title(plan));
    let mut text = render_paragraph(&title, "", TextStyle::Bold, screen);
    text.push_str(&plan_table(project, plan, false)?.render("  ", screen));
    text.push('\n');
    text.push_str(&render_places(project, &files, marked)?);
    let whose = describe_conflict(later, &dialog_names(project)?);
    let _ = writeln!(text, "{}: {whose}.", describe_files(&files));
    Ok(text)
}

impl TakeBackAttempt<'_> {
    /// Plans the same with other options. While the person is asked an agent may go on, and then
    /// the newest step is another one than the one that was shown.
    fn replan(&self, taking: TakeBackOptions) -> Result<Plan> {
        match (self.replan)(taking)? {
            Some(plan) if plan.title == self.plan.title => Ok(plan),
            _ => Err(ApiError::new(
                ErrorCode::PlanChanged,
                "the project changed meanwhile, so this is no longer what was shown; nothing was changed",
                "run the command again",
            )
            .into()),
        }
    }
}

fn is_conflict(file: &PlannedFile) -> bool {
    matches!(file.reason, PlanReason::Conflict(..))
}

/// Asks until the person chooses or declines, and shows the difference as often as it is wanted.
fn ask_until_chosen(
    files: &[&PlannedFile],
    later: &[Change],
    diff: ShowDiff<'_>,
) -> Result<Option<ConflictChoice>> {
    loop {
        match ask(files, later)? {
            Some(ConflictAnswer::Diff) => show_diff(diff)?,
            Some(ConflictAnswer::Choice(choice)) => return Ok(Some(choice)),
            Some(ConflictAnswer::No) | None => return Ok(None),
        }
    }
}

fn ask(files: &[&PlannedFile], later: &[Change]) -> Result<Option<ConflictAnswer>> {
    let mut offered = vec![ConflictChoice::Keep, ConflictChoice::Both];
    if !later.is_empty() {
        offered.push(ConflictChoice::TakeLater);
    }
    let choice = |choice: ConflictChoice| AnswerChoice {
        label: choice.label(files.len(), later.len()),
        value: ConflictAnswer::Choice(choice),
    };
    let mut choices: Vec<_> = offered.into_iter().map(choice).collect();
    choices.push(AnswerChoice { label: "diff", value: ConflictAnswer::Diff });
    choices.push(AnswerChoice { label: "no, do nothing", value: ConflictAnswer::No });
    Ok(ChoiceQuestion { text: "", choices: &choices, default: Some(choices.len() - 1) }.ask()?)
}

/// The later changes that stand in the way, each once.
fn later_changes(project: &Project, files: &[&PlannedFile]) -> Result<Vec<Change>> {
    let ids: BTreeSet<_> = files.iter().flat_map(|file| file.blockers.iter().copied()).collect();
    let mut changes = Vec::new();
    for id in ids {
        changes.extend(project.change(id)?);
    }
    Ok(changes)
}

fn describe_files(files: &[&PlannedFile]) -> String {
    match files {
        [one] => display_path(&one.path),
        several => plural(several.len() as u64, "file", "files"),
    }
}

/// The changes that were to be taken back and the later ones, as two diffs.
fn render_conflicting_changes(
    project: &Project,
    files: &[&PlannedFile],
    later: &[Change],
    out: Output,
) -> Result<Vec<u8>> {
    let mut taken = Vec::new();
    for id in files.iter().flat_map(|file| &file.changes) {
        taken.extend(project.change(*id)?);
    }
    let style = DiffStyle { readable: true, colour: out.colour };
    let mut printer = DiffPrinter::new(project, style);
    let mut text = Vec::new();
    for (head, changes) in [("To be taken back:", taken.as_slice()), ("Since then:", later)] {
        if changes.is_empty() {
            continue;
        }
        text.extend(out.paint(head, TextStyle::Bold).bytes());
        text.push(b'\n');
        for diff in project.net_diff(changes)? {
            text.extend(printer.render_file(&diff)?);
        }
    }
    Ok(text)
}
