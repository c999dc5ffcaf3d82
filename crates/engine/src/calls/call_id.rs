//! Synthesises ids for the calls of agents that give them none.
//!
//! The id is made of the tool and its arguments, so that an end, or the agent's transcript, leads
//! to the same call: `bash-3fa9c1d2`, and for further calls of just the same kind
//! `bash-3fa9c1d2-2`. Of equal calls that are open at once, the oldest one ends first.

use std::collections::HashMap;

use retake_model::{CallId, CalledTool, DialogId, Event, EventKind};
use retake_store::{Batch, CallOrigin, StoreError, hash_blob};
use serde_json::Value;

use crate::calls::live_calls::LiveCalls;

/// Hex digits of the digest: enough among the calls of one dialog.
const DIGEST_DIGITS: usize = 8;
const MAX_TOOL_CHARS: usize = 40;

/// The id stem that all calls of this tool with these arguments share.
fn call_id_stem(tool: &str, input: &Value) -> Result<String, StoreError> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let tool: String = tool.chars().take(MAX_TOOL_CHARS).map(plain).collect();
    let mut digest = hash_blob(sort_keys(input).to_string().as_bytes())?.to_string();
    digest.truncate(DIGEST_DIGITS);
    Ok(format!("{tool}-{digest}"))
}

/// Returns the value with the members of all objects sorted, independent of the sender's order.
fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sort_keys).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            members.into_iter().map(|(name, value)| (name.clone(), sort_keys(value))).collect()
        }
        other => other.clone(),
    }
}

/// Assigns an id to the call of an event, if it has none and the event has enough to derive one.
pub(crate) fn assign_call_id(
    batch: &Batch<'_>,
    calls: &LiveCalls,
    event: &mut Event,
) -> Result<(), StoreError> {
    let dialog = event.dialog.clone();
    match &mut event.what {
        EventKind::ToolBegin { call: call @ None, tool, input } => {
            *call = Some(new_call_id(batch, calls, &dialog, &call_id_stem(tool, input)?)?);
        }
        EventKind::ToolEnd { call: call @ None, tool: Some(tool), input, .. } => {
            let stem = call_id_stem(tool, input)?;
            *call = Some(match calls.oldest_open(&dialog, &stem) {
                Some(open) => open,
                None => new_call_id(batch, calls, &dialog, &stem)?,
            });
        }
        _ => {}
    }
    Ok(())
}

fn new_call_id(
    batch: &Batch<'_>,
    calls: &LiveCalls,
    dialog: &DialogId,
    stem: &str,
) -> Result<CallId, StoreError> {
    let known = batch.call_names(dialog, stem)?;
    let is_used = |name: &CallId| known.contains(name) || calls.contains(dialog, name);
    let mut name = CallId(stem.to_owned());
    let mut number = known.len().max(1);
    while is_used(&name) {
        number += 1;
        name = CallId(format!("{stem}-{number}"));
    }
    Ok(name)
}

/// Returns true if an id is this stem, or this stem and a number.
pub(crate) fn has_stem(name: &CallId, stem: &str) -> bool {
    name.0.strip_prefix(stem).is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u64>().is_ok())
    })
}

/// Stores the message of the conversation in which calls were requested, and its model.
pub(crate) fn link_calls_to_message(
    batch: &Batch<'_>,
    dialog: &DialogId,
    called: &[CalledTool],
    origin: CallOrigin<'_>,
) -> Result<(), StoreError> {
    if origin.message_index.is_none() && origin.model.is_none() {
        return Ok(());
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for tool in called {
        let name = match (&tool.call, &tool.tool) {
            (Some(call), _) => Some(call.clone()),
            (None, Some(name)) => {
                let stem = call_id_stem(name, &tool.input)?;
                let nth = counts.entry(stem.clone()).or_default();
                *nth += 1;
                // Without its place, it is not known which of several equal calls it is.
                let Some(index) = origin.message_index else { continue };
                oldest_unlinked_call(batch, dialog, &stem, index, *nth)?
            }
            (None, None) => None,
        };
        if let Some(name) = name {
            batch.set_call_origin(dialog, &name, origin)?;
        }
    }
    Ok(())
}

/// The oldest of equal calls that has no message yet; none if this message already has as many,
/// because it has been read before.
fn oldest_unlinked_call(
    batch: &Batch<'_>,
    dialog: &DialogId,
    stem: &str,
    index: u64,
    nth: usize,
) -> Result<Option<CallId>, StoreError> {
    let (mut first, mut here) = (None, 0);
    for name in batch.call_names(dialog, stem)? {
        match batch.call_message_index(dialog, &name)? {
            Some(placed) => here += usize::from(placed == index),
            None => first = first.or(Some(name)),
        }
    }
    Ok(first.filter(|_| here < nth))
}
