//! Applies a plan: asks where a person must decide, applies it, prints the outcome.
//!
//! Invariant: a plan that replaces a person's edits, takes back changes that were not named,
//! touches files of another dialog or deletes files is never applied without a yes: an answer
//! at the terminal, or `--yes`.

mod confirmation;
mod conflict;
mod conflict_place;
mod report;

use anyhow::Result;
use retake_engine::model::{ErrorCode, ObjectId, Operation};
use retake_engine::{AppliedPlan, Plan, Project};
use retake_service::documents;
use retake_service::request::ApplyPlan;

use crate::args::ApplyArgs;
use crate::context::{CommandContext, Exit};
use crate::failure::{ApiError, declined_failure, failure_of};
use crate::output::{TextStyle, is_interactive, print_cancelled, print_hint, print_message};

use conflict::ConflictResolution;
pub(crate) use conflict::TakeBackAttempt;
use report::PlanPreview;
pub(crate) use report::{
    NOTHING_WRITTEN_TEXT, describe_consequences, describe_not_covered, describe_rewind, plan_table,
    render_summary,
};

/// A plan and its outcome.
pub(crate) struct PlanOutcome {
    /// The plan; once applied, with the outcome of each file.
    pub(crate) plan: Plan,
    /// The operation that it was, if anything was done.
    pub(crate) operation: Option<Operation>,
    /// The checkpoint that names a restored state.
    pub(crate) checkpoint: Option<ObjectId>,
    /// The stage that it reached.
    pub(crate) stage: PlanStage,
}

/// Stage that a plan reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanStage {
    /// It was only to be shown.
    Planned,
    /// A yes was missing.
    Refused(ApiError),
    /// It was applied.
    Done,
}

/// Applies a plan that takes changes back. Where later changes touch the same lines, a person at a
/// terminal chooses first what becomes of them.
pub(crate) fn apply_take_back(
    context: &CommandContext,
    project: &Project,
    attempt: TakeBackAttempt<'_>,
    options: &ApplyArgs,
) -> Result<PlanOutcome> {
    match conflict::resolve(context, project, attempt, options)? {
        ConflictResolution::Apply(plan) => apply_plan(context, project, plan, options),
        ConflictResolution::Declined(plan) => Ok(PlanOutcome::declined(plan)),
    }
}

/// Applies a plan, after the person's yes where one is needed.
pub(crate) fn apply_plan(
    context: &CommandContext,
    project: &Project,
    plan: Plan,
    options: &ApplyArgs,
) -> Result<PlanOutcome> {
    if let Some(outcome) = confirm_plan(context, project, &plan, options)? {
        return Ok(outcome);
    }
    match context.run_request(project, ApplyPlan { plan: plan.clone() }) {
        Ok(applied) => Ok(applied.into()),
        // The daemon may see an agent around this command where the command itself does not.
        Err(error) => match failure_of(&error) {
            failure if failure.code == ErrorCode::HumanOnly => {
                let failure = ApiError { hint: Some(context.person_hint()), ..failure };
                Ok(PlanOutcome::not_done(plan, PlanStage::Refused(failure)))
            }
            _ => Err(error),
        },
    }
}

/// Asks for the person's yes, where one is needed; returns the outcome if the plan is not carried out:
/// it was only to be shown, or there is no yes.
pub(crate) fn confirm_plan(
    context: &CommandContext,
    project: &Project,
    plan: &Plan,
    options: &ApplyArgs,
) -> Result<Option<PlanOutcome>> {
    if options.dry_run {
        return Ok(Some(PlanOutcome::planned(plan.clone())));
    }
    let refuse = |failure| {
        let stage = PlanStage::Refused(failure);
        Ok(Some(PlanOutcome::not_done(plan.clone(), stage)))
    };
    if let Some(refused) = context.plan_refusal(project, plan)? {
        return refuse(refused);
    }
    let questions = confirmation::questions_of(project, plan)?;
    if !questions.is_empty() && !options.yes {
        if !is_interactive() {
            return refuse(confirmation::needs_yes_failure(plan, &questions));
        }
        if !confirmation::ask(project, plan, &questions)? {
            return Ok(Some(PlanOutcome::declined(plan.clone())));
        }
    }
    Ok(None)
}

impl From<AppliedPlan> for PlanOutcome {
    fn from(applied: AppliedPlan) -> Self {
        let AppliedPlan { operation, checkpoint, plan } = applied;
        Self { plan, operation, checkpoint, stage: PlanStage::Done }
    }
}

impl PlanOutcome {
    /// A plan that was only to be shown.
    pub(crate) fn planned(plan: Plan) -> Self {
        Self::not_done(plan, PlanStage::Planned)
    }

    fn declined(plan: Plan) -> Self {
        Self::not_done(plan, PlanStage::Refused(declined_failure("nothing was changed")))
    }

    fn not_done(plan: Plan, stage: PlanStage) -> Self {
        Self { plan, operation: None, checkpoint: None, stage }
    }

    /// Returns the exit code: 3 if something that was asked for is not done, 1 if the caller may
    /// not have it done.
    pub(crate) fn exit(&self) -> Exit {
        match &self.stage {
            PlanStage::Refused(failure) if failure.code == ErrorCode::HumanOnly => Exit::Problem,
            PlanStage::Refused(_) => Exit::Partly,
            _ if self.plan.is_whole() => Exit::Done,
            _ => Exit::Partly,
        }
    }

    /// The document for programs.
    pub(crate) fn document(&self, project: &Project) -> Result<documents::OperationOutcome> {
        let plan = &self.plan;
        Ok(match &self.stage {
            PlanStage::Planned => documents::OperationOutcome::planned(project, plan)?,
            PlanStage::Refused(why) => {
                documents::OperationOutcome::refused(project, plan, why.clone())?
            }
            PlanStage::Done => {
                let operation = self.operation.as_ref();
                documents::OperationOutcome::done(project, plan, operation, self.checkpoint)?
            }
        })
    }

    /// Renders what it would do, for people, under the title `head`.
    pub(crate) fn render_preview(
        &self,
        context: &CommandContext,
        project: &Project,
        options: &ApplyArgs,
        head: &str,
    ) -> Result<Vec<u8>> {
        let preview = PlanPreview { plan: &self.plan, head, all_diffs: options.diff };
        report::render_plan(context, project, &preview)
    }

    /// Prints it and returns the exit code. `words` describes for people what was done.
    pub(crate) fn print(
        &self,
        context: &CommandContext,
        project: &Project,
        options: &ApplyArgs,
        words: &dyn Fn(&Self) -> Result<String>,
    ) -> Result<Exit> {
        if context.json {
            context.out.json(&self.document(project)?)?;
            return Ok(self.exit());
        }
        match &self.stage {
            PlanStage::Refused(failure) if failure.code == ErrorCode::Declined => {
                print_cancelled(&failure.message);
            }
            PlanStage::Refused(failure) => {
                if failure.code == ErrorCode::HumanOnly {
                    let text = self.render_preview(context, project, options, "Plan")?;
                    context.out.paged(&text)?;
                }
                print_message("error", TextStyle::Bad, &failure.message);
                if let Some(hint) = &failure.hint {
                    print_hint(hint);
                }
            }
            PlanStage::Planned => {
                let mut text = self.render_preview(context, project, options, "Plan")?;
                text.extend(NOTHING_WRITTEN_TEXT.bytes());
                context.out.paged(&text)?;
            }
            PlanStage::Done => {
                let mut text = words(self)?.into_bytes();
                if options.diff {
                    text.push(b'\n');
                    text.extend(report::render_diffs(project, &self.plan, context.out)?);
                }
                context.out.paged(&text)?;
            }
        }
        Ok(self.exit())
    }
}
