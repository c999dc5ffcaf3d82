//! Closes the windows of calls, and decides which calls outlive a turn.
//!
//! A begin without an end is normal, so windows also close with the turn, with the next message,
//! and with any event that says that a call, a task or a subagent is over.

use retake_model::{CallId, Event, MAIN_AGENT, Stamp};
use retake_store::{BackgroundActivity, Batch, Call, CallEnd, CallState, StoreError};

/// Closes the windows of the agent whose turn ends; of the whole dialog if it is the main agent.
pub(crate) fn end_turn(
    batch: &Batch<'_>,
    event: &Event,
    background: &[String],
    stamp: Stamp,
) -> Result<(), StoreError> {
    let subagent = event.subagent();
    // A call without a sequence number yet begins after this, in the same spool.
    let is_ours = |call: &Call| {
        call.dialog == event.dialog
            && call.begin_seq > 0
            && subagent.is_none_or(|agent| call.agent == *agent)
            && !background.contains(&call.agent.0)
    };
    for call in batch.live_calls()?.iter().filter(|call| is_ours(call)) {
        if call.state == CallState::Open {
            batch.close_call(call.row, CallEnd::unreported(CallState::Abandoned), stamp)?;
        }
        let activity = match call.background {
            BackgroundActivity::Running if is_listed(call, background) => {
                BackgroundActivity::Running
            }
            BackgroundActivity::Running => BackgroundActivity::TargetsOnly,
            BackgroundActivity::TargetsOnly | BackgroundActivity::None => BackgroundActivity::None,
        };
        batch.set_background_activity(call.row, activity)?;
    }
    batch.drop_finished_inputs(&event.dialog)?;
    let is_subagent = match subagent {
        None => false,
        Some(agent) => batch
            .agents(&event.dialog)?
            .iter()
            .any(|known| known.id == *agent && known.parent.is_some()),
    };
    if is_subagent { Ok(()) } else { batch.end_turn(&event.dialog) }
}

/// Returns the calls and tasks that continue when the person sends the next message.
///
/// An agent that names its tasks also reports their ends. And if the last turn has ended, calls
/// that are still open are of subagents that were known to continue.
pub(crate) fn calls_outlasting_message(
    batch: &Batch<'_>,
    event: &Event,
) -> Result<Vec<String>, StoreError> {
    let is_between_turns = batch.dialog(&event.dialog)?.is_some_and(|dialog| !dialog.turn_open);
    let mut outlasting = Vec::new();
    for call in batch.live_calls()?.into_iter().filter(|call| call.dialog == event.dialog) {
        outlasting.extend(call.task);
        if is_between_turns && call.state == CallState::Open && call.agent.0 != MAIN_AGENT {
            outlasting.push(call.agent.0);
        }
    }
    Ok(outlasting)
}

/// Returns true if a call, or its task, is in this list.
fn is_listed(call: &Call, background: &[String]) -> bool {
    background.iter().any(|name| *name == call.call.0 || Some(name) == call.task.as_ref())
}

/// Closes the windows of calls that never ran, or whose end was not reported.
pub(crate) fn close_open_calls(
    batch: &Batch<'_>,
    event: &Event,
    calls: &[CallId],
    stamp: Stamp,
) -> Result<(), StoreError> {
    let is_one = |call: &Call| {
        call.state == CallState::Open && call.dialog == event.dialog && calls.contains(&call.call)
    };
    for call in batch.live_calls()?.iter().filter(|call| is_one(call)) {
        batch.close_call(call.row, CallEnd::unreported(CallState::Abandoned), stamp)?;
    }
    Ok(())
}

/// Closes the call of a background task or a subagent. Its changes were found by the scan just
/// before.
pub(crate) fn close_task_call(
    batch: &Batch<'_>,
    event: &Event,
    task: &str,
    stamp: Stamp,
) -> Result<(), StoreError> {
    let is_it = |call: &Call| {
        call.dialog == event.dialog && (call.task.as_deref() == Some(task) || call.agent.0 == task)
    };
    for call in batch.live_calls()?.iter().filter(|call| is_it(call)) {
        if call.state == CallState::Open {
            batch.close_call(call.row, CallEnd::unreported(CallState::Abandoned), stamp)?;
        }
        batch.set_background_activity(call.row, BackgroundActivity::None)?;
    }
    batch.drop_finished_inputs(&event.dialog)
}
