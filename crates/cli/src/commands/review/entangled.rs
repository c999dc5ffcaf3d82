//! The person's choice where hunks cannot be taken out by themselves: later changes build on them.
//!
//! Invariants: only a person at a terminal is asked, and only if no option says it already; the choice
//! only plans again, and the usual confirmation of the new plan follows.

use anyhow::Result;
use retake_engine::{CascadePolicy, Plan, Project, TakeBackOptions};

use crate::args::ApplyArgs;
use crate::context::CommandContext;
use crate::outcome::plan_table;
use crate::output::{Output, is_interactive, print_to_person};
use crate::question::{AnswerChoice, ChoiceQuestion};

/// Asks what becomes of entangled hunks.
pub(in crate::commands) struct EntangledChoice<'a> {
    pub(in crate::commands) context: &'a CommandContext,
    pub(in crate::commands) project: &'a Project,
    pub(in crate::commands) options: &'a ApplyArgs,
}

impl EntangledChoice<'_> {
    /// Returns the plan that the person wants: the same, or one that takes later changes back, too.
    pub(in crate::commands) fn resolve(
        &self,
        plan: Plan,
        taking: TakeBackOptions,
        replan: &dyn Fn(TakeBackOptions) -> Result<Plan>,
    ) -> Result<Plan> {
        if !self.must_ask(&plan, taking)? {
            return Ok(plan);
        }
        let screen = Output::stderr();
        print_to_person(&plan_table(self.project, &plan, false)?.render("  ", screen));
        let choices = [
            AnswerChoice { label: "take the later changes back, too", value: true },
            AnswerChoice { label: "leave that place as it is", value: false },
        ];
        let text = "Later changes build on a place that you reject.";
        match (ChoiceQuestion { text, choices: &choices, default: Some(1) }).ask()? {
            Some(true) => replan(TakeBackOptions { cascade: CascadePolicy::All, ..taking }),
            _ => Ok(plan),
        }
    }

    fn must_ask(&self, plan: &Plan, taking: TakeBackOptions) -> Result<bool> {
        let is_answered_by_options = self.options.yes
            || self.options.dry_run
            || taking.cascade == CascadePolicy::All
            || self.context.json;
        Ok(!is_answered_by_options
            && plan.left().any(|file| !file.blockers.is_empty())
            && is_interactive()
            && self.context.plan_refusal(self.project, plan)?.is_none())
    }
}
