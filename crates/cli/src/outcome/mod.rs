//! Applies a plan: asks where a person must decide, applies it, prints the outcome.
//!
//! Invariant: a plan that replaces a person's edits, takes back changes that were not named,
//! touches files of another dialog or deletes files is never applied without a yes: an answer
//! at the terminal, or `--yes`.

mod question;
mod report;

use anyhow::Result;
use retake_engine::model::{ObjectId, Operation};
use retake_engine::{Applied, Plan, Project};
use retake_server::documents;
use retake_server::door::Apply;

use crate::args::Manner;
use crate::context::{Context, Exit};
use crate::failure::Failure;
use crate::output::{Style, ask, can_ask, tell};

pub(crate) use report::{NOT_WRITTEN, conversation, not_covered, summary, table};

/// A plan and its outcome.
pub(crate) struct Outcome {
    /// The plan; once applied, with the outcome of each file.
    pub(crate) plan: Plan,
    /// The operation that it was, if anything was done.
    pub(crate) operation: Option<Operation>,
    /// The checkpoint that names a restored state.
    pub(crate) checkpoint: Option<ObjectId>,
    /// The stage that it reached.
    pub(crate) stage: Stage,
}

/// Stage that a plan reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It was only to be shown.
    Planned,
    /// A yes was missing.
    Refused(Failure),
    /// It was applied.
    Done,
}

/// Applies a plan, after the person's yes where one is needed.
pub(crate) fn carry_out(
    context: &Context,
    project: &Project,
    plan: Plan,
    manner: &Manner,
) -> Result<Outcome> {
    if manner.dry_run {
        return Ok(Outcome::planned(plan));
    }
    let questions = question::of(project, &plan)?;
    if !questions.is_empty() && !manner.yes {
        if !can_ask() {
            let refused = question::unasked(&questions);
            return Ok(Outcome::not_done(plan, Stage::Refused(refused)));
        }
        if !ask(&question::text(project, &plan, &questions)?)? {
            return Ok(Outcome::not_done(plan, Stage::Refused(question::declined())));
        }
    }
    Ok(context.ask(project, Apply { plan })?.into())
}

impl From<Applied> for Outcome {
    fn from(applied: Applied) -> Self {
        let Applied { operation, checkpoint, plan } = applied;
        Self { plan, operation, checkpoint, stage: Stage::Done }
    }
}

impl Outcome {
    /// A plan that was only to be shown.
    pub(crate) fn planned(plan: Plan) -> Self {
        Self::not_done(plan, Stage::Planned)
    }

    fn not_done(plan: Plan, stage: Stage) -> Self {
        Self { plan, operation: None, checkpoint: None, stage }
    }

    /// Returns the exit code: 3 if something that was asked for is not done.
    pub(crate) fn exit(&self) -> Exit {
        match &self.stage {
            Stage::Refused(_) => Exit::Partly,
            _ if self.plan.is_whole() => Exit::Done,
            _ => Exit::Partly,
        }
    }

    /// The document for programs.
    pub(crate) fn document(&self, project: &Project) -> Result<documents::Outcome> {
        let plan = &self.plan;
        Ok(match &self.stage {
            Stage::Planned => documents::Outcome::planned(project, plan)?,
            Stage::Refused(why) => documents::Outcome::refused(project, plan, why.clone())?,
            Stage::Done => {
                let operation = self.operation.as_ref();
                documents::Outcome::done(project, plan, operation, self.checkpoint)?
            }
        })
    }

    /// Renders what it would do, for people, under the title `head`.
    pub(crate) fn preview(
        &self,
        context: &Context,
        project: &Project,
        manner: &Manner,
        head: &str,
    ) -> Result<Vec<u8>> {
        report::plan(context, project, &self.plan, (manner, head))
    }

    /// Prints it and returns the exit code. `words` describes for people what was done.
    pub(crate) fn show(
        &self,
        context: &Context,
        project: &Project,
        manner: &Manner,
        words: &dyn Fn(&Self) -> Result<String>,
    ) -> Result<Exit> {
        if context.json {
            context.out.json(&self.document(project)?)?;
            return Ok(self.exit());
        }
        match &self.stage {
            Stage::Refused(failure) => {
                tell("error", Style::Bad, &failure.message);
                failure.hint.iter().for_each(|hint| tell("hint", Style::Mark, hint));
            }
            Stage::Planned => {
                let mut text = self.preview(context, project, manner, "Plan")?;
                text.extend(NOT_WRITTEN.bytes());
                context.out.paged(&text)?;
            }
            Stage::Done => {
                let mut text = words(self)?.into_bytes();
                if manner.diff {
                    text.push(b'\n');
                    text.extend(report::diffs(context, project, &self.plan)?);
                }
                context.out.paged(&text)?;
            }
        }
        Ok(self.exit())
    }
}
