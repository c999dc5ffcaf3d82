//! Journal entries of events; the journal is also the stream that clients follow.

use retake_model::{AgentId, Caller, DialogId, Event, EventKind, JournalKind, ObjectId, Stamp};
use retake_store::{Batch, JournalEvent, StoreError};
use serde_json::{Value, json};

/// Context of an event that is not in the event itself.
pub(crate) struct JournalContext {
    pub(crate) stamp: Stamp,
    /// The checkpoint that was made before it.
    pub(crate) checkpoint: Option<ObjectId>,
    /// The work session of its dialog at that time (HIST-9).
    pub(crate) session: Option<u64>,
    /// Who said it; none for the caller of the process that records it.
    pub(crate) said_by: Option<Caller>,
}

/// The journal's entry of an event; `agent` is the acting one.
///
/// Arguments and results of tools are not in it: their effect is in the changes.
pub(crate) fn journal_entry(
    event: &Event,
    agent: Option<AgentId>,
    context: &JournalContext,
) -> JournalEvent {
    let index = event.message_index;
    let (call, body) = match &event.what {
        EventKind::DialogStart { title } => (None, json!({ "title": title })),
        EventKind::UserMessage { text } => {
            let (checkpoint, session) = (context.checkpoint, context.session);
            let body = json!({
                "text": text, "message_index": index, "checkpoint": checkpoint, "session": session,
            });
            (None, body)
        }
        EventKind::AssistantMessage { text, calls } => {
            let calls: Vec<_> = calls.iter().filter_map(|called| called.call.as_ref()).collect();
            let mut body = json!({ "text": text, "message_index": index, "calls": calls });
            set_if_known(&mut body, "model", event.model.as_deref());
            (None, body)
        }
        EventKind::ToolBegin { call, tool, .. } => {
            let mut body = json!({ "tool": tool });
            set_if_known(&mut body, "model", event.model.as_deref());
            (call.as_ref(), body)
        }
        EventKind::ToolEnd { call, ok, exit_code, background, task, .. } => {
            let mut body = json!({ "ok": ok, "background": background, "task": task });
            set_if_known(&mut body, "exit_code", *exit_code);
            (call.as_ref(), body)
        }
        EventKind::ToolsOver { calls } => (None, json!({ "calls": calls })),
        EventKind::TaskEnd { task } => (None, json!({ "task": task })),
        EventKind::TurnEnd { background } => (None, json!({ "background": background })),
        EventKind::DialogEnd {} => (None, json!({})),
    };
    JournalEvent {
        seq: context.stamp.seq,
        at: context.stamp.at,
        kind: event.journal_kind(),
        dialog: Some(event.dialog.clone()),
        agent,
        call: call.cloned(),
        change: None,
        body,
        said_by: context.said_by.clone(),
    }
}

/// Adds a field that only some events have.
fn set_if_known(body: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[key] = value.into();
    }
}

/// Records an entry that no agent reported: something that Retake found or did.
pub(crate) fn record_entry(
    batch: &Batch<'_>,
    stamp: Stamp,
    kind: JournalKind,
    dialog: Option<&DialogId>,
    body: Value,
) -> Result<(), StoreError> {
    batch.put_event(&JournalEvent {
        seq: stamp.seq,
        at: stamp.at,
        kind,
        dialog: dialog.cloned(),
        agent: None,
        call: None,
        change: None,
        body,
        said_by: None,
    })
}
