//! The model's history beside the changes: the same transcripts as in [`super::talk`], with all that
//! the model got.
//!
//! It is read last: an agent may have to wait for what was said, but never for this. What cannot be
//! read is only logged, and waits for the next time.

use retake_agents::Heard;
use retake_agents::history::{self, ModelCursor};
use retake_engine::model::{AgentId, DialogId, Event, MAIN_AGENT, ModelMessage};
use retake_engine::{Project, TranscriptMark};
use serde_json::Value;

use super::HookCall;
use super::talk::{read_on, transcript_path};
use crate::Failure;

type Messages = Vec<(u64, ModelMessage)>;

/// Takes in what is new in the model's history of the conversation that a payload belongs to.
pub(super) fn take_in(call: &HookCall, project: &Project, heard: &Heard) {
    let events = heard.events.iter().chain(&heard.conversation);
    let Some(dialog) = events.map(|event| &event.dialog).next() else { return };
    if project.settings().history.keep
        && let Err(error) = read(call, project, heard, dialog)
    {
        tracing::info!("the model's history was not read: {error}");
    }
}

fn read(
    call: &HookCall,
    project: &Project,
    heard: &Heard,
    dialog: &DialogId,
) -> Result<(), Failure> {
    let in_payload = heard.conversation.first();
    let whose = match (in_payload, &heard.transcript) {
        (Some(Event { agent, .. }), _) => agent.clone(),
        (None, Some(place)) => place.agent.clone(),
        (None, None) => return Ok(()),
    };
    let agent = whose.unwrap_or_else(|| AgentId::from(MAIN_AGENT));
    let from = project.history_cursor(dialog, &agent)?;
    // One that cannot be understood is of another version: everything is read again, and known.
    let cursor = from.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let cursor: ModelCursor = cursor.unwrap_or_default();
    let read = |cursor: &ModelCursor, bytes: &[u8]| history::read_on(call.agent, cursor, bytes);
    let found = match &heard.transcript {
        _ if in_payload.is_some() => Some(read(&cursor, &messages_of(&call.payload))),
        Some(place) => {
            let path = transcript_path(place, call.user_home.as_deref());
            read_on(&path, (&cursor, cursor.offset()), read)?
        }
        None => None,
    };
    let Some((messages, next)): Option<(Messages, _)> = found else { return Ok(()) };
    if messages.is_empty() && next == cursor {
        return Ok(());
    }
    let next = serde_json::to_string(&next).map_err(|error| {
        Failure::new("cursor", format!("the place cannot be noted: {error}"), "read it again")
    })?;
    let mark = TranscriptMark { dialog: dialog.clone(), agent, from, cursor: next };
    if !project.record_model_messages(&messages, &mark, call.at)? {
        tracing::info!("the project is in use; the model's history is read the next time");
    }
    Ok(())
}

/// The conversation that a payload carries itself.
fn messages_of(payload: &str) -> Vec<u8> {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    payload["messages"].to_string().into_bytes()
}
