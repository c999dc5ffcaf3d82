//! What was decided in a review, and taking the last of it back.
//!
//! Invariant: a decision that can no longer be taken back does not stand in the way of those before it.

use std::collections::BTreeSet;

use anyhow::Result;
use retake_engine::model::{ErrorCode, HunkId, OperationId, QueueState, QueuedRejection};
use retake_engine::{HunkRequest, TakeBackOptions};
use retake_service::request::{CancelRejection, ChangeComment, CommentAct, MarkHunks, PlanUndoOf};

use super::walk::HunkPlace;
use super::{NextStep, PlainReview, report};
use crate::args::ApplyArgs;
use crate::describe::plural;
use crate::failure::failure_of;
use crate::outcome::{PlanOutcome, PlanStage, apply_plan, render_summary};
use crate::output::{TextStyle, print_message, print_to_person};

/// An answer that decided on something.
pub(super) struct Decision {
    /// The hunk that was shown.
    pub(super) place: HunkPlace,
    /// The hunks that were decided on.
    pub(super) hunks: Vec<HunkId>,
    pub(super) kind: DecisionKind,
    /// Whether it stands, since it could not be taken back.
    is_final: bool,
}

impl Decision {
    pub(super) fn new(place: HunkPlace, hunks: Vec<HunkId>, kind: DecisionKind) -> Self {
        Self { place, hunks, kind, is_final: false }
    }
}

/// What was decided, with what takes it back.
pub(super) enum DecisionKind {
    Kept { request: HunkRequest },
    Rejected { operation: OperationId },
    Queued { entries: Vec<u64> },
    Commented { comment: u64 },
}

/// How taking a decision back ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecisionUndo {
    /// It is taken back.
    Undone,
    /// Nothing of it was in effect.
    Void,
    /// It stands, and cannot be taken back here.
    Final,
    /// It stands, but can be tried again: the person declined, or it failed.
    Stays,
}

impl PlainReview<'_> {
    /// Takes the last decision back that is in effect, and shows its hunk again.
    pub(super) fn undo(&mut self) -> Option<NextStep> {
        while let Some(at) = self.decisions.iter().rposition(|decision| !decision.is_final) {
            let undone = self.take_decision_back(&self.decisions[at]);
            match undone.unwrap_or_else(|error| report_failed_undo(&error)) {
                DecisionUndo::Undone => {
                    let decision = self.decisions.remove(at);
                    self.walk.reopen(&decision.place, &decision.hunks);
                    return Some(NextStep::Show(decision.place));
                }
                DecisionUndo::Void => {
                    self.decisions.remove(at);
                }
                DecisionUndo::Final => {
                    self.decisions[at].is_final = true;
                    note("this decision stands; `u` goes on with the one before it");
                    return None;
                }
                DecisionUndo::Stays => return None,
            }
        }
        print_to_person("Nothing was decided in this review that could be undone.\n");
        None
    }

    fn take_decision_back(&self, decision: &Decision) -> Result<DecisionUndo> {
        match &decision.kind {
            DecisionKind::Kept { request } => self.undo_keep(request),
            DecisionKind::Rejected { operation } => self.undo_rejection(*operation),
            DecisionKind::Queued { entries } => self.undo_queued(entries),
            DecisionKind::Commented { comment } => self.undo_comment(*comment),
        }
    }

    /// Marks the hunks as not seen that are still as they were kept.
    fn undo_keep(&self, request: &HunkRequest) -> Result<DecisionUndo> {
        let mut kept = HunkRequest { hunks: Vec::new(), ..request.clone() };
        for choice in &request.hunks {
            let Some(path) = choice.path.clone() else { continue };
            if self.walk.find(&HunkPlace { path, id: choice.id })?.is_some() {
                kept.hunks.push(choice.clone());
            }
        }
        let changed = request.hunks.len() - kept.hunks.len();
        if changed > 0 {
            let hunks = plural(changed as u64, "kept hunk has", "kept hunks have");
            note(&format!("{hunks} changed since, or is decided on otherwise"));
        }
        if kept.hunks.is_empty() {
            return Ok(DecisionUndo::Void);
        }
        let unmark = MarkHunks { hunks: kept, reviewed: false };
        let open = self.context.run_request(self.project, unmark)?;
        let text = match open.hunks.len() {
            1 => "The hunk is open again.\n".to_owned(),
            count => format!("{count} hunks are open again.\n"),
        };
        self.context.out.text(&text)?;
        Ok(DecisionUndo::Undone)
    }

    /// Takes out of the queue what waits in it, and undoes what was carried out.
    fn undo_queued(&self, entries: &[u64]) -> Result<DecisionUndo> {
        let (mut undone, mut operations) = (DecisionUndo::Void, BTreeSet::new());
        for id in entries {
            let Some(entry) = self.project.queued_rejection(*id)? else { continue };
            match (entry.state, entry.operation) {
                (QueueState::Waiting, _) => {
                    self.context.run_request(self.project, CancelRejection { id: *id })?;
                    self.context
                        .out
                        .text(&format!("Rejection {id} is taken out of the queue.\n"))?;
                    undone = DecisionUndo::Undone;
                }
                (QueueState::Done, Some(operation)) => {
                    operations.insert(operation);
                }
                _ => note(&describe_settled(&entry)),
            }
        }
        for operation in operations {
            let outcome = self.undo_rejection(operation)?;
            if undone != DecisionUndo::Undone {
                undone = outcome;
            }
        }
        Ok(undone)
    }

    /// Undoes a rejection that was carried out.
    fn undo_rejection(&self, operation: OperationId) -> Result<DecisionUndo> {
        let (context, project, options) = (self.context, self.project, ApplyArgs::default());
        if self.is_undone(operation)? {
            return Ok(DecisionUndo::Undone);
        }
        let taking = TakeBackOptions::default();
        let plan = context.run_request(project, PlanUndoOf { operation, taking })?;
        let outcome = apply_plan(context, project, plan, &options)?;
        outcome.print(context, project, &options, &|outcome| {
            render_summary(context, project, outcome)
        })?;
        Ok(undo_of(&outcome))
    }

    /// Returns true if an operation was undone, here or elsewhere.
    pub(super) fn is_undone(&self, operation: OperationId) -> Result<bool> {
        Ok(self.project.operation(operation)?.is_some_and(|done| done.undone_by.is_some()))
    }

    fn undo_comment(&self, id: u64) -> Result<DecisionUndo> {
        if self.project.comment(id)?.is_none() {
            note(&format!("comment {id} is removed already"));
            return Ok(DecisionUndo::Void);
        }
        let remove = ChangeComment { id, act: CommentAct::Remove };
        self.context.run_request(self.project, remove)?;
        self.context.out.text(&format!("Comment {id} is removed.\n"))?;
        Ok(DecisionUndo::Undone)
    }
}

/// How undoing a rejection ended.
fn undo_of(outcome: &PlanOutcome) -> DecisionUndo {
    match &outcome.stage {
        PlanStage::Done if outcome.operation.is_some() || outcome.plan.is_whole() => {
            DecisionUndo::Undone
        }
        // Later edits are in its place; or a yes is needed that no pipe can give.
        PlanStage::Done => DecisionUndo::Final,
        PlanStage::Refused(failure) if failure.code == ErrorCode::NeedsYes => DecisionUndo::Final,
        _ => DecisionUndo::Stays,
    }
}

/// Reports why taking a decision back failed, and returns whether it can be tried again.
fn report_failed_undo(error: &anyhow::Error) -> DecisionUndo {
    report(error);
    let lasting = [
        ErrorCode::StaleHunk,
        ErrorCode::NeedsDigest,
        ErrorCode::Approved,
        ErrorCode::UnknownOperation,
        ErrorCode::NothingToDo,
    ];
    let code = failure_of(error).code;
    let lasts = lasting.iter().any(|lasting| code == *lasting);
    if lasts { DecisionUndo::Final } else { DecisionUndo::Stays }
}

/// `rejection 3 is dropped: the place changed since`.
fn describe_settled(entry: &QueuedRejection) -> String {
    let why = entry.outcome.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("rejection {} is {}{why}", entry.id, entry.state)
}

fn note(text: &str) {
    print_message("note", TextStyle::Warn, text);
}
