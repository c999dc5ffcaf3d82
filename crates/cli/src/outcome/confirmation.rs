//! Confirmations that a plan needs from a person.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::ErrorCode;
use retake_engine::{Plan, Project};
use retake_service::confirm::{Confirmation, confirmations};

use crate::describe::NAME_ESCAPER;
use crate::failure::ApiError;
use crate::outcome::report;

/// Returns what this plan must not do without a yes, escaped.
pub(super) fn questions_of(project: &Project, plan: &Plan) -> Result<Vec<Confirmation>> {
    Ok(confirmations(project, plan, NAME_ESCAPER)?)
}

/// The plan and its questions, as they are asked at a terminal.
pub(super) fn prompt_text(
    project: &Project,
    plan: &Plan,
    questions: &[Confirmation],
) -> Result<String> {
    let mut text = report::plan_table(project, plan, false)?.render("  ", false);
    for question in questions {
        let _ = writeln!(text, "{}.", question.text);
    }
    text.push_str("Go on? [y/N] ");
    Ok(text)
}

/// Failure where a yes is needed and no terminal is there to ask.
pub(super) fn needs_yes_failure(questions: &[Confirmation]) -> ApiError {
    let mut message = "nothing was changed, since this needs a yes:".to_owned();
    for question in questions {
        let _ = write!(message, "\n  {}.", question.text);
    }
    ApiError::new(ErrorCode::NeedsYes, message, "--yes does it, --dry-run --diff shows it")
}

/// Failure after a no.
pub(super) fn declined_failure() -> ApiError {
    ApiError::without_hint(ErrorCode::Declined, "nothing was changed")
}

/// The questions of a plan, for its preview.
pub(super) fn preview_text(project: &Project, plan: &Plan) -> Result<String> {
    let questions = questions_of(project, plan)?;
    let mut text = String::new();
    for (at, question) in questions.iter().enumerate() {
        text.push_str(if at == 0 { "This needs a yes:\n" } else { "" });
        let _ = writeln!(text, "  {}.", question.text);
    }
    Ok(text)
}
