//! Confirmations that a plan needs from a person.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::ErrorCode;
use retake_engine::{Plan, Project};
use retake_service::confirm::{Confirmation, confirmations};

use crate::describe::NAME_ESCAPER;
use crate::failure::ApiError;
use crate::layout::render_paragraph;
use crate::outcome::report;
use crate::output::{Output, TextStyle, print_to_person};
use crate::question::confirm;

/// Returns what this plan must not do without a yes, escaped.
pub(super) fn questions_of(project: &Project, plan: &Plan) -> Result<Vec<Confirmation>> {
    Ok(confirmations(project, plan, NAME_ESCAPER)?)
}

/// Shows the plan and what it needs a yes for, and asks for it.
pub(super) fn ask(project: &Project, plan: &Plan, questions: &[Confirmation]) -> Result<bool> {
    let screen = Output::stderr();
    let title = format!("Plan: {}", report::plan_title(plan));
    let mut text = render_paragraph(&title, "", TextStyle::Bold, screen);
    text.push_str(&report::plan_table(project, plan, false)?.render("  ", screen));
    text.push_str(&report::describe_consequences(project, plan)?);
    text.push_str(&report::describe_rewind(project, plan)?);
    for question in questions {
        let question = format!("{}.", question.text);
        text.push_str(&render_paragraph(&question, "", TextStyle::Warn, screen));
    }
    print_to_person(&text);
    confirm("Go on?", Some(&|| report::render_diffs(project, plan, screen)))
}

/// Failure where a yes is needed and no terminal is there to ask.
pub(super) fn needs_yes_failure(plan: &Plan, questions: &[Confirmation]) -> ApiError {
    let mut message =
        format!("nothing was changed: {} needs your confirmation:", report::plan_title(plan));
    for question in questions {
        let _ = write!(message, "\n  {}.", question.text);
    }
    ApiError::new(ErrorCode::NeedsYes, message, "--yes does it, --dry-run --diff shows it")
}

/// The questions of a plan, for its preview.
pub(super) fn preview_text(project: &Project, plan: &Plan, out: Output) -> Result<String> {
    let questions = questions_of(project, plan)?;
    let mut text = String::new();
    for (at, question) in questions.iter().enumerate() {
        text.push_str(if at == 0 { "This needs your confirmation:\n" } else { "" });
        let question = format!("{}.", question.text);
        text.push_str(&render_paragraph(&question, "  ", TextStyle::Plain, out));
    }
    Ok(text)
}
