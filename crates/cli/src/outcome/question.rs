//! Confirmations that a plan needs from a person.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::{Plan, Project};
use retake_server::questions::{Question, questions};

use crate::describe::SHOW;
use crate::failure::Failure;
use crate::outcome::report;

/// Returns what this plan must not do without a yes, escaped.
pub(super) fn of(project: &Project, plan: &Plan) -> Result<Vec<Question>> {
    Ok(questions(project, plan, SHOW)?)
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

/// Failure where a yes is needed and no terminal is there to ask.
pub(super) fn unasked(questions: &[Question]) -> Failure {
    let mut message = "nothing was changed, since this needs a yes:".to_owned();
    for question in questions {
        let _ = write!(message, "\n  {}.", question.text);
    }
    Failure::new("needs_yes", message, "--yes does it, --dry-run --diff shows it")
}

/// Failure after a no.
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
