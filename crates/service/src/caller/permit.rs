//! What a caller may ask for, by its scope.
//!
//! A person may everything. An agent may read, make checkpoints, report for its own dialog, and
//! take back its own dialog's uncontested changes: those that only it can have made and on which
//! the person has not decided, place by place. A program that is bound to no dialog may read, make checkpoints
//! and report events. Everything else is the person's, and the refusal says so.

use retake_engine::model::{
    Actor, Caller, CallerChannel, CallerScope, Change, ChangeId, ChangeStatus, DialogId, ErrorCode,
    OperationKind,
};
use retake_engine::{Plan, PlanReason, Project, StoreError};

use super::decided_places::decided_files;
use crate::ApiError;
use crate::describe::{list_names, plural};
use crate::request::{ChangeComment, CommentAct, ProjectRequest, Submission};

/// The way out of a refusal, where the command itself is not known.
pub const HUMAN_ONLY_HINT: &str =
    "ask the person to do it in a terminal of their own; looking, plans and checkpoints are free";
/// Maximum names that one reason lists; the rest is counted.
const MAX_LISTED_NAMES: usize = 5;
/// Beginning of the ids of the dialogs that `retake run` makes.
const RUN_DIALOG_PREFIX: &str = "run-";

/// Checks that a caller may ask for this.
pub fn permit_request(
    project: &Project,
    caller: &Caller,
    request: &ProjectRequest,
) -> Result<(), ApiError> {
    if caller.is_person() {
        return Ok(());
    }
    match request {
        ProjectRequest::RefreshProject(_)
        | ProjectRequest::RescanProject(_)
        | ProjectRequest::MakeCheckpoint(_)
        | ProjectRequest::PlanUndo(_)
        | ProjectRequest::PlanUndoOf(_)
        | ProjectRequest::PlanUndos(_)
        | ProjectRequest::PlanRedo(_)
        | ProjectRequest::PlanReject(_)
        | ProjectRequest::PlanRejectHunks(_)
        // It does what the person said before.
        | ProjectRequest::CarryOutRejections(_)
        | ProjectRequest::PlanRollback(_)
        | ProjectRequest::PlanRestore(_)
        | ProjectRequest::PlanReset(_) => Ok(()),
        ProjectRequest::RecordEvents(record) => permit_events(caller, &record.submissions),
        ProjectRequest::CompleteMessage(message) => permit_dialog(caller, &message.dialog),
        ProjectRequest::RecordConversation(said) => {
            said.messages.iter().try_for_each(|event| permit_dialog(caller, &event.dialog))
        }
        ProjectRequest::MarkSeen(seen) => permit_dialog(caller, &seen.dialog),
        ProjectRequest::ImportContext(import) => permit_dialog(caller, &import.dialog),
        ProjectRequest::TakeFeedback(take) => permit_agent_of(caller, &take.dialog, request),
        ProjectRequest::ChangeComment(ChangeComment { id, act: CommentAct::Answer(_) }) => {
            let comment = project.comment(*id)?;
            match comment.and_then(|comment| comment.dialog) {
                Some(dialog) => permit_agent_of(caller, &dialog, request),
                None => Err(human_only(caller, "the comment is for no agent yet")),
            }
        }
        ProjectRequest::ApplyPlan(apply) => {
            match refused_plan_reason(project, caller, &apply.plan)? {
                Some(reason) => Err(human_only(caller, &reason)),
                None => Ok(()),
            }
        }
        ProjectRequest::AcceptChanges(_)
        | ProjectRequest::ApproveDialog(_)
        | ProjectRequest::RecoverOperation(_)
        | ProjectRequest::CollectGarbage(_)
        | ProjectRequest::PurgeContent(_)
        | ProjectRequest::ImportHistory(_)
        | ProjectRequest::CondenseHistory(_)
        | ProjectRequest::SetDialogTitle(_)
        | ProjectRequest::UnhideMessages(_)
        | ProjectRequest::KeepHunks(_)
        | ProjectRequest::MarkHunks(_)
        | ProjectRequest::MarkAllSeen(_)
        | ProjectRequest::QueueRejection(_)
        | ProjectRequest::CancelRejection(_)
        | ProjectRequest::ForgetRejections(_)
        | ProjectRequest::AddComment(_)
        | ProjectRequest::ChangeComment(_)
        | ProjectRequest::SendComments(_) => {
            Err(human_only(caller, &format!("{} decides for the person", request.name())))
        }
    }
}

/// The refusal of what only the person may do.
fn human_only(caller: &Caller, reason: &str) -> ApiError {
    let message = format!("{reason}, and it was asked for by {}", describe_caller(caller));
    ApiError::new(ErrorCode::HumanOnly, message, HUMAN_ONLY_HINT)
}

/// A caller in words.
fn describe_caller(caller: &Caller) -> String {
    match &caller.scope {
        CallerScope::Person => "the person".to_owned(),
        CallerScope::Agent { dialog, .. } => format!("an agent of dialog {dialog}"),
        CallerScope::Program => "a program that is bound to no dialog".to_owned(),
    }
}

/// Checks that a caller may report these events. A program that is bound to no dialog reports for
/// any: its events name their dialog.
pub fn permit_events(caller: &Caller, submissions: &[Submission]) -> Result<(), ApiError> {
    submissions.iter().try_for_each(|submission| {
        let dialog = &submission.event.dialog;
        let is_run =
            caller.channel == CallerChannel::Run && dialog.0.starts_with(RUN_DIALOG_PREFIX);
        if is_run { Ok(()) } else { permit_dialog(caller, dialog) }
    })
}

/// Checks that a caller is the agent of a dialog: what the agent hears and answers is its own, and no
/// program's that is bound to no dialog.
fn permit_agent_of(
    caller: &Caller,
    dialog: &DialogId,
    request: &ProjectRequest,
) -> Result<(), ApiError> {
    match caller.dialog() {
        None => Err(human_only(caller, &format!("{} speaks for the agent", request.name()))),
        Some(_) => permit_dialog(caller, dialog),
    }
}

/// Refuses an agent that speaks for another dialog than its own.
fn permit_dialog(caller: &Caller, dialog: &DialogId) -> Result<(), ApiError> {
    match caller.dialog() {
        Some(own) if own != dialog => {
            let message = format!(
                "this runs in a call of dialog {own}, which cannot speak for dialog {dialog}"
            );
            let hint = "report it from outside of the agent, or for the dialog itself";
            Err(ApiError::new(ErrorCode::OtherDialog, message, hint))
        }
        _ => Ok(()),
    }
}

/// Returns why a caller may not have a plan applied; none if it may.
pub fn refused_plan_reason(
    project: &Project,
    caller: &Caller,
    plan: &Plan,
) -> Result<Option<String>, ApiError> {
    let own = match &caller.scope {
        CallerScope::Person => return Ok(None),
        CallerScope::Agent { dialog, .. } => dialog,
        CallerScope::Program => return Ok(Some("it writes files".to_owned())),
    };
    if plan.kind == OperationKind::Restore {
        return Ok(Some("it puts the whole project into another state".to_owned()));
    }
    if plan.rewind.is_some() {
        return Ok(Some("it rewinds the conversation".to_owned()));
    }
    if !plan.crosses.is_empty() {
        let names: Vec<_> = plan.crosses.iter().map(ToString::to_string).collect();
        return Ok(Some(format!(
            "other dialogs changed these files, too: {}",
            list_names(&names, MAX_LISTED_NAMES)
        )));
    }
    let contested = |reason: &PlanReason| {
        matches!(reason, PlanReason::ReplacesYours | PlanReason::Yours | PlanReason::Markers(_))
    };
    let replaced = plan.writes().filter(|file| contested(&file.reason));
    let replaced: Vec<_> = replaced.map(|file| file.path.to_string()).collect();
    if !replaced.is_empty() {
        return Ok(Some(format!(
            "it replaces edits of others in {}",
            list_names(&replaced, MAX_LISTED_NAMES)
        )));
    }
    if plan.undoes_operation() {
        return Ok(foreign_operations(project, own, plan)?);
    }
    let mut foreign = Vec::new();
    for id in plan.concerned_changes() {
        foreign.extend(foreign_change(project, own, id)?);
    }
    if !foreign.is_empty() {
        let count = plural(foreign.len() as u64, "change is", "changes are");
        return Ok(Some(format!(
            "{count} not the dialog's own to take back: {}",
            list_names(&foreign, MAX_LISTED_NAMES)
        )));
    }
    let decided = decided_files(project, plan)?;
    Ok((!decided.is_empty())
        .then(|| format!("the person has decided in {}", list_names(&decided, MAX_LISTED_NAMES))))
}

/// Names the operations among those that a plan takes back that the dialog did not ask for.
fn foreign_operations(
    project: &Project,
    own: &DialogId,
    plan: &Plan,
) -> Result<Option<String>, StoreError> {
    for id in plan.undone_operations() {
        let operation = project.operation(*id)?;
        let by = operation.and_then(|operation| operation.said_by);
        if by.as_ref().and_then(Caller::dialog) != Some(own) {
            return Ok(Some(format!("it takes back {id}, which the dialog did not ask for")));
        }
    }
    Ok(None)
}

/// Names a change that is not a dialog's own, with the reason.
fn foreign_change(
    project: &Project,
    own: &DialogId,
    id: ChangeId,
) -> Result<Option<String>, StoreError> {
    let Some(change) = project.change(id)? else { return Ok(Some(id.to_string())) };
    Ok(contest(&change, own).map(|why| format!("{id} in {} ({why})", change.path)))
}

/// Returns why a change is not a dialog's own and undecided.
fn contest(change: &Change, own: &DialogId) -> Option<&'static str> {
    let is_other = |dialog: &DialogId| dialog != own;
    match change.actor {
        Actor::User | Actor::Unknown => return Some("the person's"),
        Actor::Git => return Some("git's"),
        Actor::Retake => return Some("Retake's"),
        Actor::Agent => {}
    }
    if change.dialog.as_ref().is_none_or(is_other)
        || change.candidates.iter().any(|call| is_other(&call.dialog))
    {
        return Some("another dialog's");
    }
    if change.approved.is_some() {
        return Some("approved");
    }
    (change.status != ChangeStatus::Pending).then_some("decided by the person")
}
