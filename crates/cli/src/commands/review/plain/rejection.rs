//! Rejecting hunks: at once, or queued while the agent behind them is at work.
//!
//! Invariants: an entangled hunk is never queued, since what goes along with it has to be confirmed.
//! What waits is carried out without another question, so its plan is confirmed before.

use anyhow::Result;
use retake_engine::{CascadePolicy, HunkChoice, TakeBackOptions};
use retake_service::caller::is_process_alive;
use retake_service::request::{PlanRejectHunks, QueueRejection, QueuedHunks};

use super::decision::{Decision, DecisionKind};
use super::walk::{HunkPlace, ShownHunk};
use super::{NextStep, NotDone, PlainReview};
use crate::args::ApplyArgs;
use crate::commands::review::{EntangledChoice, describe_queued};
use crate::outcome::{PlanStage, apply_plan, confirm_plan, render_summary};
use crate::output::{TextStyle, print_message, print_to_person};
use crate::question::ask_words;

/// Hunks that are rejected, and why.
struct Rejection {
    hunks: Vec<HunkChoice>,
    reason: Option<String>,
}

impl PlainReview<'_> {
    /// Asks for a reason, and rejects hunks of the file.
    pub(super) fn reject(
        &mut self,
        shown: &ShownHunk<'_>,
        hunks: Vec<HunkChoice>,
    ) -> Result<Option<NextStep>> {
        if let Some(id) = shown.waiting_rejection() {
            print_to_person(&format!("Rejection {id} of this hunk waits already.\n"));
            return Ok(None);
        }
        let prompt = "Why? The agent is told (Enter for no reason): ";
        let Some(reason) = ask_words(prompt)? else { return Ok(Some(NextStep::Leave)) };
        let reason = Some(reason).filter(|reason| !reason.is_empty());
        let (entangled, clean): (Vec<_>, Vec<_>) =
            hunks.into_iter().partition(|choice| shown.is_entangled(choice));
        if !clean.is_empty() {
            let rejection = Rejection { hunks: clean.clone(), reason: reason.clone() };
            let queued = match self.queue(shown, &rejection) {
                Ok(queued) => queued,
                Err(step) => return Ok(step),
            };
            if !queued.entries.is_empty() {
                self.note_queued(shown, &queued)?;
                self.leave_entangled(shown, &entangled);
                return Ok(Some(NextStep::Next));
            }
        }
        let is_at_work = match self.is_at_work(shown, &entangled) {
            Ok(is_at_work) => is_at_work,
            Err(step) => return Ok(step),
        };
        let hunks = if is_at_work {
            self.leave_entangled(shown, &entangled);
            clean
        } else {
            [clean, entangled].concat()
        };
        if hunks.is_empty() {
            return Ok(Some(NextStep::Next));
        }
        self.take_back(shown, &Rejection { hunks, reason })
    }

    /// Queues a rejection if an agent behind it is at work and the person confirms its plan;
    /// otherwise nothing is queued.
    fn queue(
        &mut self,
        shown: &ShownHunk<'_>,
        rejection: &Rejection,
    ) -> Result<QueuedHunks, NotDone> {
        if !self.is_at_work(shown, &rejection.hunks)? {
            return Ok(QueuedHunks::default());
        }
        // Of what is in the way by then the person sees nothing, so nothing else goes.
        let taking = TakeBackOptions::default();
        let (hunks, reason) = (self.request(rejection.hunks.clone()), rejection.reason.clone());
        let confirmed = self.confirm_queued(PlanRejectHunks {
            hunks: hunks.clone(),
            taking,
            reason: reason.clone(),
        });
        if !self.attempt(shown, confirmed)? {
            self.walk.skip_all(&shown.file, &rejection.hunks);
            return Err(Some(NextStep::Next));
        }
        let request = QueueRejection { hunks, taking, reason, if_at_work: true };
        let queued = self.context.run_request(self.project, request);
        self.attempt(shown, queued)
    }

    /// Asks for the confirmations that the plan of a rejection needs; returns false without a yes.
    fn confirm_queued(&self, request: PlanRejectHunks) -> Result<bool> {
        let (context, project, options) = (self.context, self.project, ApplyArgs::default());
        let plan = context.run_request(project, request)?;
        let Some(outcome) = confirm_plan(context, project, &plan, &options)? else {
            return Ok(true);
        };
        outcome.print(context, project, &options, &|outcome| {
            render_summary(context, project, outcome)
        })?;
        Ok(false)
    }

    fn note_queued(&mut self, shown: &ShownHunk<'_>, queued: &QueuedHunks) -> Result<()> {
        self.context.out.text(&describe_queued(self.project, queued, self.context.out)?)?;
        let hunks = queued.entries.iter().map(|entry| entry.hunk).collect();
        let entries = queued.entries.iter().map(|entry| entry.id).collect();
        let kind = DecisionKind::Queued { entries };
        self.decisions.push(Decision::new(shown.place(), hunks, kind));
        Ok(())
    }

    /// Returns whether an agent behind hunks is at work.
    fn is_at_work(&mut self, shown: &ShownHunk<'_>, hunks: &[HunkChoice]) -> Result<bool, NotDone> {
        if hunks.is_empty() {
            return Ok(false);
        }
        let (request, now) = (self.request(hunks.to_vec()), self.context.now());
        let working = self.project.working_dialogs(&request, now, &is_process_alive);
        Ok(!self.attempt(shown, working.map_err(Into::into))?.is_empty())
    }

    /// Leaves entangled hunks open while an agent is at work.
    fn leave_entangled(&mut self, shown: &ShownHunk<'_>, entangled: &[HunkChoice]) {
        if entangled.is_empty() {
            return;
        }
        let text = "the agent is at work, and later changes build on this: what goes with it has \
                    to be confirmed, so it does not wait in the queue; reject it after the turn";
        print_message("note", TextStyle::Warn, text);
        self.walk.skip_all(&shown.file, entangled);
    }

    /// Takes hunks out of the file now, after the confirmations that the plan needs.
    fn take_back(
        &mut self,
        shown: &ShownHunk<'_>,
        rejection: &Rejection,
    ) -> Result<Option<NextStep>> {
        let (context, project) = (self.context, self.project);
        let (hunks, options) = (self.request(rejection.hunks.clone()), ApplyArgs::default());
        let replan = |taking| {
            let (hunks, reason) = (hunks.clone(), rejection.reason.clone());
            context.run_request(project, PlanRejectHunks { hunks, taking, reason })
        };
        let taking =
            TakeBackOptions { cascade: CascadePolicy::Agents, ..TakeBackOptions::default() };
        let mut was_possible = false;
        let applied = replan(taking).and_then(|plan| {
            let choice = EntangledChoice { context, project, options: &options };
            let plan = choice.resolve(plan, taking, &replan)?;
            was_possible = plan.writes().next().is_some();
            apply_plan(context, project, plan, &options)
        });
        let outcome = match self.attempt(shown, applied) {
            Ok(outcome) => outcome,
            Err(step) => return Ok(step),
        };
        outcome.print(context, project, &options, &|outcome| {
            render_summary(context, project, outcome)
        })?;
        let Some(operation) = &outcome.operation else {
            if was_possible && outcome.stage == PlanStage::Done {
                // The file has changed while the question waited, so what is left was not shown.
                self.walk.return_to(&shown.file.path);
            } else {
                self.walk.skip_all(&shown.file, &rejection.hunks);
            }
            return Ok(Some(NextStep::Next));
        };
        let left = self.entangled_left(shown, &rejection.hunks)?;
        self.walk.skip_all(&shown.file, &left);
        let gone = rejection.hunks.iter().filter(|choice| !left.contains(choice));
        let hunks = gone.map(|choice| choice.id).collect();
        let kind = DecisionKind::Rejected { operation: operation.id };
        self.decisions.push(Decision::new(shown.place(), hunks, kind));
        Ok(Some(NextStep::Next))
    }

    /// The entangled ones of these hunks that a rejection has left in the file.
    fn entangled_left(
        &self,
        shown: &ShownHunk<'_>,
        hunks: &[HunkChoice],
    ) -> Result<Vec<HunkChoice>> {
        let mut left = Vec::new();
        for choice in hunks.iter().filter(|choice| shown.is_entangled(choice)) {
            let place = HunkPlace { path: shown.file.path.clone(), id: choice.id };
            if self.walk.find(&place)?.is_some() {
                left.push(choice.clone());
            }
        }
        Ok(left)
    }
}
