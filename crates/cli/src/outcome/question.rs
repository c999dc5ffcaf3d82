//! What a person must say yes to before a plan is carried out.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{Actor, Change, ChangeId, OperationKind, ProjectPath};
use retake_engine::{Action, Plan, Project};

use crate::describe::{self, name, plural, short_id};
use crate::failure::Failure;
use crate::outcome::report;

/// Names that a question lists before it only counts.
const LISTED: usize = 10;

/// One thing that a person must say yes to.
pub(super) struct Question {
    /// A stable name.
    pub(super) code: &'static str,
    /// What it is about, safe to show.
    text: String,
}

/// What this plan must not do without a yes.
pub(super) fn of(project: &Project, plan: &Plan) -> Result<Vec<Question>> {
    let mut questions = Vec::new();
    let mut ask = |code, text: Option<String>| {
        questions.extend(text.map(|text| Question { code, text }));
    };
    let replaced: Vec<_> = plan.replaces_user_edits().map(|file| &file.path).collect();
    ask("replaces_your_edits", paths("It replaces edits of yours", &replaced));
    let cascaded: BTreeSet<_> = plan.cascaded.iter().copied().collect();
    let taken: BTreeSet<_> = plan.writes().flat_map(|file| file.changes.iter().copied()).collect();
    let taken = changes(project, &taken)?;
    let is_yours = |change: &&Change| matches!(change.actor, Actor::User | Actor::Unknown);
    let yours: Vec<_> = taken.iter().filter(is_yours).collect();
    ask("takes_your_edits", listed("It takes back edits of yours", &yours, false));
    let others = taken.iter().filter(|change| cascaded.contains(&change.id) && !is_yours(change));
    let others: Vec<_> = others.collect();
    ask("cascades", listed("It takes back later changes too", &others, true));
    if !plan.crosses.is_empty() {
        let names: Vec<_> = plan.crosses.iter().map(|id| short_id(&id.0)).collect();
        let (dialogs, names) = (plural_word(names.len()), few(&names));
        let text = format!("{dialogs} {names} changed some of these files, too");
        ask("crosses_dialogs", Some(text));
    }
    if matches!(plan.kind, OperationKind::Restore | OperationKind::Reset) {
        let deleted = plan.writes().filter(|file| file.action == Action::Delete);
        let deleted: Vec<_> = deleted.map(|file| &file.path).collect();
        let count = plural(deleted.len() as u64, "file", "files");
        ask("deletes_files", paths(&format!("It deletes {count}"), &deleted));
    }
    Ok(questions)
}

fn plural_word(count: usize) -> &'static str {
    if count == 1 { "Dialog" } else { "Dialogs" }
}

fn changes(project: &Project, ids: &BTreeSet<ChangeId>) -> Result<Vec<Change>> {
    let mut found = Vec::new();
    for id in ids {
        found.extend(project.change(*id)?);
    }
    Ok(found)
}

fn paths(what: &str, paths: &[&ProjectPath]) -> Option<String> {
    let names: Vec<_> = paths.iter().map(|path| name(path)).collect();
    (!names.is_empty()).then(|| format!("{what}: {}", few(&names)))
}

fn listed(what: &str, changes: &[&Change], name_makers: bool) -> Option<String> {
    let word = |change: &&Change| {
        let by = if name_makers { format!(" by {}", report::maker(change)) } else { String::new() };
        format!("{} in {}{by}", change.id, describe::path(change))
    };
    let names: Vec<_> = changes.iter().map(word).collect();
    (!names.is_empty()).then(|| format!("{what}: {}", few(&names)))
}

fn few(names: &[String]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let text = names[..names.len() - more].join(", ");
    if more == 0 { text } else { format!("{text} and {more} more") }
}

/// The plan and its questions, as they are asked at a terminal.
pub(super) fn text(project: &Project, plan: &Plan, questions: &[Question]) -> Result<String> {
    let mut text = report::table(project, plan, false)?.render("  ", false);
    for question in questions {
        let _ = writeln!(text, "{}.", question.text);
    }
    text.push_str("Go on? [y/N] ");
    Ok(text)
}

/// What is said where nobody can be asked.
pub(super) fn unasked(questions: &[Question]) -> Failure {
    let mut message = "nothing was changed, since this needs a yes:".to_owned();
    for question in questions {
        let _ = write!(message, "\n  {}.", question.text);
    }
    Failure::new("needs_yes", message, "--yes does it, --dry-run --diff shows it")
}

/// What is said after a no.
pub(super) fn declined() -> Failure {
    Failure { code: "declined".into(), message: "nothing was changed".to_owned(), hint: None }
}

/// The questions of a plan, for its preview.
pub(super) fn preview(project: &Project, plan: &Plan) -> Result<String> {
    let questions = of(project, plan)?;
    let mut text = String::new();
    for (at, question) in questions.iter().enumerate() {
        text.push_str(if at == 0 { "This needs a yes:\n" } else { "" });
        let _ = writeln!(text, "  {}.", question.text);
    }
    Ok(text)
}
