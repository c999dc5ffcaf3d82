//! What was decided in a review, and taking the last of it back.

use anyhow::Result;
use retake_engine::model::{HunkId, OperationId};
use retake_engine::{HunkRequest, TakeBackOptions};
use retake_service::request::{CancelRejection, ChangeComment, CommentAct, MarkHunks, PlanUndoOf};

use super::walk::HunkPlace;
use super::{NextStep, PlainReview, report};
use crate::args::ApplyArgs;
use crate::outcome::{apply_plan, render_summary};
use crate::output::print_to_person;

/// An answer that decided on something.
pub(super) struct Decision {
    /// The hunk that was shown.
    pub(super) place: HunkPlace,
    /// The hunks that were decided on.
    pub(super) hunks: Vec<HunkId>,
    pub(super) kind: DecisionKind,
}

/// What was decided, with what takes it back.
pub(super) enum DecisionKind {
    Kept { request: HunkRequest },
    Rejected { operation: OperationId },
    Queued { entries: Vec<u64> },
    Commented { comment: u64 },
}

impl PlainReview<'_> {
    /// Takes the last decision back, and shows its hunk again.
    pub(super) fn undo(&mut self) -> Option<NextStep> {
        let Some(decision) = self.decisions.pop() else {
            print_to_person("Nothing was decided in this review that could be undone.\n");
            return None;
        };
        let is_undone = self.take_decision_back(&decision.kind);
        if let Err(error) = &is_undone {
            report(error);
        }
        if !is_undone.unwrap_or_default() {
            self.decisions.push(decision);
            return None;
        }
        self.walk.reopen(&decision.place, &decision.hunks);
        Some(NextStep::Show(decision.place))
    }

    /// Returns whether it is taken back.
    fn take_decision_back(&self, decision: &DecisionKind) -> Result<bool> {
        let (context, project) = (self.context, self.project);
        let text = match decision {
            DecisionKind::Kept { request } => {
                let unmark = MarkHunks { hunks: request.clone(), reviewed: false };
                let open = context.run_request(project, unmark)?;
                match open.hunks.len() {
                    1 => "The hunk is open again.\n".to_owned(),
                    count => format!("{count} hunks are open again.\n"),
                }
            }
            DecisionKind::Rejected { operation } => return self.undo_rejection(*operation),
            DecisionKind::Queued { entries } => {
                for id in entries {
                    context.run_request(project, CancelRejection { id: *id })?;
                }
                "The rejection is taken out of the queue.\n".to_owned()
            }
            DecisionKind::Commented { comment } => {
                let remove = ChangeComment { id: *comment, act: CommentAct::Remove };
                context.run_request(project, remove)?;
                format!("Comment {comment} is removed.\n")
            }
        };
        context.out.text(&text)?;
        Ok(true)
    }

    /// Undoes a rejection that was carried out; returns whether its lines are back.
    fn undo_rejection(&self, operation: OperationId) -> Result<bool> {
        let (context, project, options) = (self.context, self.project, ApplyArgs::default());
        if project.operation(operation)?.is_some_and(|done| done.undone_by.is_some()) {
            return Ok(true);
        }
        let taking = TakeBackOptions::default();
        let plan = context.run_request(project, PlanUndoOf { operation, taking })?;
        let outcome = apply_plan(context, project, plan, &options)?;
        outcome.print(context, project, &options, &|outcome| {
            render_summary(context, project, outcome)
        })?;
        Ok(outcome.operation.is_some())
    }
}
