//! Rows that an event causes: its dialog, agent and call before the changes, the event itself and its
//! effect on turns and calls after them.

use retake_model::{AgentId, Event, EventKind, ObjectId, Stamp, title_of};
use retake_store::{
    BackgroundActivity, Batch, CallEnd, CallOrigin, CallState, NewCall, ShortArguments, StoreError,
};
use serde_json::Value;

use crate::calls::call_id;
use crate::calls::interpret::{EventEffect, InterpretedEvent};
use crate::calls::live_calls::LiveCalls;
use crate::calls::open_call::LiveCall;
use crate::journal::{JournalContext, journal_entry};
use crate::record::call_lifecycle::{
    calls_outlasting_message, close_open_calls, close_task_call, end_turn,
};
use crate::scan::rows::CallRowMap;

/// Maximum characters of a message that become a dialog's title.
pub(crate) const MAX_TITLE_CHARS: usize = 80;
/// Maximum bytes of a model's name that are stored.
const MAX_MODEL_BYTES: usize = 256;
/// Maximum bytes of a command that are stored.
const MAX_COMMAND_BYTES: usize = 4096;

/// Inserts the rows of an event's dialog, agent and call, before changes refer to them.
pub(crate) fn ensure_event_rows(
    batch: &Batch<'_>,
    interpreted: &InterpretedEvent,
    calls: &LiveCalls,
    rows: &mut CallRowMap,
) -> Result<(), StoreError> {
    let (event, at) = (&interpreted.submission.event, interpreted.submission.at);
    let title = match &event.what {
        EventKind::DialogStart { title } => title.as_deref(),
        _ => None,
    };
    batch.touch_dialog(&event.dialog, event.kind.as_deref(), title, at)?;
    if let Some(agent) = acting_agent(interpreted, calls) {
        let (kind, parent) = (event.kind.as_deref(), event.parent.as_ref());
        batch.touch_agent(&event.dialog, &agent, kind, parent)?;
    }
    let (EventEffect::Begins(row) | EventEffect::EndsUnbegun(row)) = interpreted.effect else {
        return Ok(());
    };
    let Some(live) = calls.get(row) else {
        return Ok(());
    };
    let command = live
        .call_targets
        .intent
        .command
        .as_deref()
        .map(|text| truncate_bytes(text, MAX_COMMAND_BYTES));
    let call = NewCall {
        dialog: &live.call.dialog,
        agent: &live.call.agent,
        call: &live.call.call,
        tool: &live.call.tool,
        cwd: live.call.cwd.as_deref(),
        input: &live.call.input,
        command,
        message_index: event.message_index,
        turn: live.call.turn,
        model: model_of(event),
        arguments: &ShortArguments::new(call_arguments(&event.what)),
        process: live.call.process.as_ref(),
    };
    rows.insert(row, batch.begin_call(&call, at)?);
    // A subagent may outlive the turn.
    if event.subagent().is_some() { Ok(()) } else { batch.open_turn(&event.dialog) }
}

/// The model of an event, as far as it is stored.
fn model_of(event: &Event) -> Option<&str> {
    event.model.as_deref().map(|model| truncate_bytes(model, MAX_MODEL_BYTES))
}

/// The arguments of the call that an event begins, or ends without a begin.
fn call_arguments(what: &EventKind) -> &Value {
    match what {
        EventKind::ToolBegin { input, .. } | EventKind::ToolEnd { input, .. } => input,
        _ => &Value::Null,
    }
}

/// The agent that acts; `None` if the event is about the dialog as a whole.
fn acting_agent(interpreted: &InterpretedEvent, calls: &LiveCalls) -> Option<AgentId> {
    match interpreted.effect {
        EventEffect::Begins(row)
        | EventEffect::Ends(row)
        | EventEffect::EndsAgain(row)
        | EventEffect::EndsUnbegun(row) => calls.get(row).map(|live| live.call.agent.clone()),
        EventEffect::Other => interpreted.submission.event.agent.clone(),
    }
}

/// The calls that an event refers to, and where the event stands.
pub(crate) struct EventPlace<'a> {
    pub(crate) calls: &'a LiveCalls,
    /// Rows of the calls that had a temporary one.
    pub(crate) rows: &'a CallRowMap,
    pub(crate) seq: u64,
    /// The checkpoint that was made before the event.
    pub(crate) checkpoint: Option<ObjectId>,
}

/// Writes the event itself, with the checkpoint before it, and updates dialogs, turns and calls.
pub(crate) fn record_event_effect(
    batch: &Batch<'_>,
    interpreted: &InterpretedEvent,
    place: &EventPlace<'_>,
) -> Result<(), StoreError> {
    let (event, effect) = (&interpreted.submission.event, interpreted.effect);
    let stamp = Stamp { seq: place.seq, at: interpreted.submission.at };
    let session = match batch.active_session(&event.dialog) {
        // Damage of older records must not prevent the recording of new ones.
        Err(StoreError::Row(_)) => None,
        session => session?.map(|session| session.number),
    };
    let said_by = interpreted.submission.origin.said_by.clone();
    let context = JournalContext { stamp, checkpoint: place.checkpoint, session, said_by };
    batch.put_event(&journal_entry(event, acting_agent(interpreted, place.calls), &context))?;
    batch.set_dialog_seq(&event.dialog, stamp.seq)?;
    match (&event.what, effect) {
        (EventKind::ToolBegin { .. }, EventEffect::Begins(row)) => {
            batch.set_call_seq(place.row(row), stamp.seq)?;
        }
        (
            EventKind::ToolEnd { .. },
            EventEffect::Ends(row) | EventEffect::EndsAgain(row) | EventEffect::EndsUnbegun(row),
        ) => record_call_end(batch, interpreted, place, row)?,
        (EventKind::ToolsOver { calls }, _) => close_open_calls(batch, event, calls, stamp)?,
        (EventKind::TaskEnd { task }, _) => close_task_call(batch, event, task, stamp)?,
        (EventKind::AssistantMessage { calls, .. }, _) => {
            let origin = CallOrigin { message_index: event.message_index, model: model_of(event) };
            call_id::link_calls_to_message(batch, &event.dialog, calls, origin)?;
        }
        // Calls that were open at the dialog's last event: its agent has left them.
        (EventKind::DialogStart { .. }, _) => end_turn(batch, event, &[], stamp)?,
        (EventKind::UserMessage { text }, _) => {
            let outlasting = calls_outlasting_message(batch, event)?;
            end_turn(batch, event, &outlasting, stamp)?;
            batch.begin_turn(&event.dialog, &title_of(text, MAX_TITLE_CHARS))?;
        }
        (EventKind::TurnEnd { background }, _) => end_turn(batch, event, background, stamp)?,
        (EventKind::DialogEnd {}, _) => {
            end_turn(batch, event, &[], stamp)?;
            for call in batch.live_calls()? {
                if call.dialog == event.dialog {
                    batch.set_background_activity(call.row, BackgroundActivity::None)?;
                }
            }
            batch.drop_all_inputs(&event.dialog)?;
            batch.end_dialog(&event.dialog, stamp.at)?;
        }
        _ => {}
    }
    Ok(())
}

impl EventPlace<'_> {
    /// The row on record of a call, whose row may be a temporary one.
    pub(super) fn row(&self, row: i64) -> i64 {
        self.rows.get(&row).copied().unwrap_or(row)
    }
}

fn record_call_end(
    batch: &Batch<'_>,
    interpreted: &InterpretedEvent,
    place: &EventPlace<'_>,
    temporary_row: i64,
) -> Result<(), StoreError> {
    let event = &interpreted.submission.event;
    let EventKind::ToolEnd { ok, exit_code, background, task, .. } = &event.what else {
        return Ok(());
    };
    let row = place.row(temporary_row);
    if matches!(interpreted.effect, EventEffect::EndsUnbegun(_)) {
        batch.set_call_seq(row, place.seq)?;
    }
    let end = CallEnd { state: CallState::Ended, ok: *ok, exit_code: *exit_code };
    let stamp = Stamp { seq: place.seq, at: interpreted.submission.at };
    batch.close_call(row, end, stamp)?;
    if let Some(model) = model_of(event) {
        batch.set_call_model(row, model)?;
    }
    let live = place.calls.get(temporary_row);
    if *background || live.is_some_and(LiveCall::goes_to_background) {
        batch.set_background_activity(row, BackgroundActivity::Running)?;
    }
    if let Some(task) = task {
        batch.set_call_task(row, task)?;
    }
    batch.drop_finished_inputs(&event.dialog)
}

fn truncate_bytes(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
