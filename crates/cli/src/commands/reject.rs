//! `retake reject`: take back what agents changed and the person does not want, by changes or by hunks
//! of a review; with `--wait` once the agents behind it have ended their turns.

use anyhow::Result;
use retake_engine::{
    CascadePolicy, HunkRequest, Plan, Project, ReviewScope, ScopeChanges, Selection,
    TakeBackOptions,
};
use retake_service::Masking;
use retake_service::caller::is_process_alive;
use retake_service::documents::RejectionQueue;
use retake_service::request::{ChangeScope, PlanReject, PlanRejectHunks, QueueRejection};

use crate::args::RejectArgs;
use crate::commands::review::{EntangledChoice, describe_queued};
use crate::commands::scope::{DecisionTargets, HunkOptions, hunk_scope, review_selection};
use crate::context::{CommandContext, Exit};
use crate::outcome::{TakeBackAttempt, apply_plan, apply_take_back, confirm_plan, render_summary};

pub(super) fn run(context: &CommandContext, options: &RejectArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let rejection = Rejection::named(context, &project, options)?;
    let taking = options.take_back.to_options(CascadePolicy::Agents);
    let plan = rejection.plan(taking)?;
    if plan.files.is_empty() && !context.json {
        context.out.text("There is no pending change to reject; nothing was changed.\n")?;
        return Ok(Exit::Done);
    }
    if options.wait && !options.apply.dry_run && rejection.is_at_work(&plan)? {
        // What waits is carried out without another question, so it is asked now.
        let taking = options.take_back.to_options(CascadePolicy::Leave);
        let plan = rejection.plan(taking)?;
        return match confirm_plan(context, &project, &plan, &options.apply)? {
            None => rejection.wait(&plan),
            Some(outcome) => outcome.print(context, &project, &options.apply, &|outcome| {
                render_summary(context, &project, outcome)
            }),
        };
    }
    let outcome = match &rejection.target {
        RejectionTarget::Changes(_) => {
            let replan = |taking| rejection.plan(taking).map(Some);
            let attempt = TakeBackAttempt { plan, taking, replan: &replan };
            apply_take_back(context, &project, attempt, &options.apply)?
        }
        RejectionTarget::Hunks(_) => {
            let replan = |taking| rejection.plan(taking);
            let choice = EntangledChoice { context, project: &project, options: &options.apply };
            let plan = choice.resolve(plan, taking, &replan)?;
            apply_plan(context, &project, plan, &options.apply)?
        }
    };
    outcome.print(context, &project, &options.apply, &|outcome| {
        render_summary(context, &project, outcome)
    })
}

/// What is rejected.
enum RejectionTarget {
    Changes(ChangeScope),
    Hunks(HunkRequest),
}

/// A rejection, as it was asked for.
struct Rejection<'a> {
    context: &'a CommandContext,
    project: &'a Project,
    options: &'a RejectArgs,
    target: RejectionTarget,
}

impl<'a> Rejection<'a> {
    fn named(
        context: &'a CommandContext,
        project: &'a Project,
        options: &'a RejectArgs,
    ) -> Result<Self> {
        let targets = DecisionTargets::of(&options.scope);
        let (scope, place, numbers) = (&options.scope, &options.place, &options.hunk[..]);
        let chosen = HunkOptions { scope, place, numbers };
        let target = if let Some(hunks) = targets.hunk_request(context, project, chosen)? {
            RejectionTarget::Hunks(hunks)
        } else if options.hunk.is_empty() {
            let include_shared = options.include_shared;
            let meant = review_selection(context, project, scope)?;
            RejectionTarget::Changes(ChangeScope::Changes(Selection { include_shared, ..meant }))
        } else {
            RejectionTarget::Changes(hunk_scope(&targets.changes, &options.hunk))
        };
        Ok(Self { context, project, options, target })
    }

    /// Plans it with these options.
    fn plan(&self, taking: TakeBackOptions) -> Result<Plan> {
        let reason = self.options.reason.clone();
        match &self.target {
            RejectionTarget::Hunks(hunks) => {
                let hunks = hunks.clone();
                self.context.run_request(self.project, PlanRejectHunks { hunks, taking, reason })
            }
            RejectionTarget::Changes(scope) => {
                let request = PlanReject { scope: scope.clone(), taking };
                Ok(self.context.run_request(self.project, request)?.because(reason))
            }
        }
    }

    /// Returns whether an agent behind it is at work.
    fn is_at_work(&self, plan: &Plan) -> Result<bool> {
        let at = self.context.now();
        let working = self.project.working_dialogs(&self.hunks(plan), at, &is_process_alive)?;
        Ok(!working.is_empty())
    }

    /// Queues it until the agents behind it have ended their turns.
    fn wait(&self, plan: &Plan) -> Result<Exit> {
        // Of what is in the way by then the person sees nothing, so only --cascade takes it along.
        let taking = self.options.take_back.to_options(CascadePolicy::Leave);
        let (hunks, reason) = (self.hunks(plan), self.options.reason.clone());
        let request = QueueRejection { hunks, taking, reason, if_at_work: false };
        let queued = self.context.run_request(self.project, request)?;
        if self.context.json {
            self.context.out.json(&RejectionQueue::new(&queued.entries, Masking::Off))?;
        } else {
            self.context.out.text(&describe_queued(self.project, &queued, self.context.out)?)?;
        }
        Ok(Exit::Done)
    }

    /// The hunks that it is about.
    fn hunks(&self, plan: &Plan) -> HunkRequest {
        match &self.target {
            RejectionTarget::Hunks(hunks) => hunks.clone(),
            // What a scope leaves in peace, since it was accepted, is not in the plan.
            RejectionTarget::Changes(_) => {
                let changes = plan.concerned_changes().into_iter().collect();
                let selection = Selection { changes, ..Selection::default() };
                let scope = ReviewScope::of(ScopeChanges::Chosen(Box::new(selection)));
                HunkRequest { scope, hunks: Vec::new(), all: true }
            }
        }
    }
}
