//! Splits the findings of one scan: interleaved edits of several calls, and a mode change beside
//! new content.
//!
//! Where calls overlap, one scan may find what two of them did to a file. If their predictions, one
//! after the other, make exactly the current content, then each gets its own step; the content in
//! between was never read, but it is known.

use retake_model::{FileState, PathState};
use retake_store::{Batch, CHUNK_THRESHOLD_BYTES, ObjectKind, StoreError, encode, hash_blob};

use crate::attribution::observed::ObservedChange;
use crate::calls::open_call::LiveCall;
use crate::calls::path_content::PathContent;

/// Maximum calls on one file that are tried in every order.
const MAX_INTERLEAVED_CALLS: usize = 4;

/// One of several edits that a scan found together.
pub(crate) struct InterleavedStep<'a> {
    pub(crate) seen: ObservedChange,
    pub(crate) call: &'a LiveCall,
}

/// A call, and the content that it makes of the one before.
struct PredictedEdit<'a> {
    call: &'a LiveCall,
    content: Vec<u8>,
}

/// Splits a step into one of content and one of the mode, if a scan found both.
pub(crate) fn split_mode_change(seen: &ObservedChange) -> Option<(ObservedChange, ObservedChange)> {
    let (before, after) = (seen.before.known()?, seen.after.known()?);
    if before.kind != after.kind || before.mode == after.mode || before.oid == after.oid {
        return None;
    }
    let between = PathState::Known(FileState { mode: before.mode, ..*after });
    let content = ObservedChange { after: between, stat: None, ..seen.clone() };
    Some((content, ObservedChange { before: between, ..seen.clone() }))
}

/// The steps of a change by the calls that predicted them, in order; none if the predictions do not
/// make exactly this change.
pub(crate) fn split_interleaved_edits<'a>(
    batch: &Batch<'_>,
    calls: &[&'a LiveCall],
    seen: &ObservedChange,
) -> Result<Option<Vec<InterleavedStep<'a>>>, StoreError> {
    let PathState::Known(goal) = seen.after else { return Ok(None) };
    if !(2..=MAX_INTERLEAVED_CALLS).contains(&calls.len()) || goal.size > CHUNK_THRESHOLD_BYTES {
        return Ok(None);
    }
    let original = PathContent::of(batch, &seen.before)?;
    let Some(original) = original.known_bytes() else { return Ok(None) };
    let mut order = Vec::new();
    if !find_edit_order(calls, seen, &goal, original, &mut order)? {
        return Ok(None);
    }
    let (mut steps, mut before) = (Vec::new(), seen.before);
    for (at, PredictedEdit { call, content }) in order.iter().enumerate() {
        let encoded = encode(ObjectKind::Blob, content)?;
        batch.put_object(&encoded)?;
        let after =
            PathState::Known(FileState { oid: encoded.oid, size: content.len() as u64, ..goal });
        let stat = if at + 1 == order.len() { seen.stat } else { None };
        let seen = ObservedChange { path: seen.path.clone(), before, after, stat };
        steps.push(InterleavedStep { seen, call });
        before = after;
    }
    Ok(Some(steps))
}

/// Extends a sequence of calls, each with the content that it makes, until the goal is reached.
fn find_edit_order<'a>(
    calls: &[&'a LiveCall],
    seen: &ObservedChange,
    goal: &FileState,
    content: Option<&[u8]>,
    order: &mut Vec<PredictedEdit<'a>>,
) -> Result<bool, StoreError> {
    if let Some(content) = content
        && order.len() > 1
        && hash_blob(content)? == goal.oid
    {
        return Ok(true);
    }
    for call in calls {
        let has_had_its_turn = order.iter().any(|edit| edit.call.call.row == call.call.row);
        if has_had_its_turn {
            continue;
        }
        let Some(next) = call.predicted_content(&seen.path, content) else { continue };
        if content == Some(next.as_slice()) {
            continue;
        }
        order.push(PredictedEdit { call, content: next.clone() });
        if find_edit_order(calls, seen, goal, Some(&next), order)? {
            return Ok(true);
        }
        order.pop();
    }
    Ok(false)
}
