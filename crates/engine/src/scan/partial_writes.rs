//! Defers files that an open edit is just writing.
//!
//! Most tools truncate a file and then write it, so a scan for another call may find it empty or
//! half written. That is no version: it is left for the scan at the end of the edit. Only the
//! beginning of what the edit predicts counts as such, so nothing else is deferred.

use retake_model::{FileState, Millis, PathState, ProjectPath};
use retake_store::{Batch, ObjectKind, StoreError, encode};

use crate::attribution::observed::ObservedChange;
use crate::attribution::rules::OwnershipLimit;
use crate::calls::open_call::LiveCall;
use crate::calls::path_content::PathContent;
use crate::scan::context::ScanContext;
use crate::scan::observation::Observation;

/// Removes the files that open edits are just writing from the observation.
///
/// If another edit of such a file ends now and did not fail, its predicted content was there
/// before: it is recorded although it was not read. The current content counts at the end of a
/// turn, before a verb, and before a call that may change the file itself: a person may have
/// shortened it just so.
pub(crate) fn defer_partial_writes(
    batch: &Batch<'_>,
    observation: &mut Observation,
    context: &ScanContext<'_>,
    at: Millis,
) -> Result<(), StoreError> {
    let ending = context.ending.map(|ending| ending.row);
    if context.beginning.or(ending).is_none() {
        return Ok(());
    }
    let may_be_lost = |path: &ProjectPath| {
        let begins = context.beginning.and_then(|row| context.calls.get(row));
        begins.is_some_and(|live| live.could_change(path))
    };
    let has_failed = |row: &i64| context.limits.get(row) == Some(&OwnershipLimit::PredictedOnly);
    let ended = ending.filter(|row| !has_failed(row)).and_then(|row| context.calls.get(row));
    let is_other = |live: &&LiveCall| ![context.beginning, ending].contains(&Some(live.call.row));
    let writing: Vec<_> = context.calls.open_edits(at).filter(is_other).collect();
    for seen in std::mem::take(&mut observation.changes) {
        let targets = |live: &&LiveCall| live.targets_path(&seen.path);
        let writing: Vec<_> = writing.iter().copied().filter(targets).collect();
        let stays = writing.is_empty() || may_be_lost(&seen.path);
        if stays || !is_partial(batch, &writing, ended, &seen)? {
            observation.changes.push(seen);
            continue;
        }
        observation.deferred.push(seen.path.clone());
        if let Some(ended) = ended {
            observation.changes.extend(predicted_step(batch, ended, &seen)?);
        }
    }
    Ok(())
}

/// Returns true if a file holds a beginning of what an edit predicts, and not all of it.
///
/// The edit may have started from the content before, or from what another edit made of that.
fn is_partial(
    batch: &Batch<'_>,
    writing: &[&LiveCall],
    ended: Option<&LiveCall>,
    seen: &ObservedChange,
) -> Result<bool, StoreError> {
    let (before, now) =
        (PathContent::of(batch, &seen.before)?, PathContent::of(batch, &seen.after)?);
    let (Some(before), Some(Some(now))) = (before.known_bytes(), now.known_bytes()) else {
        return Ok(false);
    };
    let by_others = writing.iter().copied().chain(ended);
    let by_others: Vec<_> =
        by_others.filter_map(|live| live.predicted_content(&seen.path, before)).collect();
    if by_others.iter().any(|whole| whole == now) {
        return Ok(false);
    }
    let found = || std::iter::once(before).chain(by_others.iter().map(|bytes| Some(&bytes[..])));
    let is_begun = |live: &LiveCall, found: Option<&[u8]>| {
        let whole = live.predicted_content(&seen.path, found);
        whole.is_some_and(|whole| whole.len() > now.len() && whole.starts_with(now))
    };
    Ok(writing.iter().any(|live| found().any(|found| is_begun(live, found))))
}

/// The step that an edit which has ended announced, to a file that is being overwritten.
fn predicted_step(
    batch: &Batch<'_>,
    ended: &LiveCall,
    seen: &ObservedChange,
) -> Result<Option<ObservedChange>, StoreError> {
    let before = PathContent::of(batch, &seen.before)?;
    let (Some(before), PathState::Known(state)) = (before.known_bytes(), seen.after) else {
        return Ok(None);
    };
    let Some(content) = ended.predicted_content(&seen.path, before) else { return Ok(None) };
    let encoded = encode(ObjectKind::Blob, &content)?;
    batch.put_object(&encoded)?;
    let size = content.len() as u64;
    let after = PathState::Known(FileState { oid: encoded.oid, size, ..state });
    let (path, stat) = (seen.path.clone(), None);
    Ok((after != seen.before).then_some(ObservedChange { path, before: seen.before, after, stat }))
}
