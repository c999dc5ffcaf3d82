//! Files that an open edit is just writing.
//!
//! Most tools truncate a file and then write it, so a look on the occasion of another call may find
//! it empty or half written. That is nobody's version: it is left for the look at the end of the
//! edit. Only the beginning of what the edit announces counts as such, so nothing else is put off.

use retake_model::{FileState, Millis, Side};
use retake_store::{Batch, ObjectKind, StoreError, encode};

use crate::live::{Content, LiveCall};
use crate::observe::{Observation, Observed};
use crate::occasion::Occasion;

/// Takes the files that open edits are just writing out of what was observed.
///
/// If another edit of such a file ends now, what that one announced was there before: it is recorded
/// although it was not seen. At the end of a turn, and before a verb, whatever is there counts.
pub(crate) fn put_off(
    batch: &Batch<'_>,
    observation: &mut Observation,
    occasion: &Occasion<'_>,
    at: Millis,
) -> Result<(), StoreError> {
    let ending = occasion.ending.map(|ending| ending.row);
    if occasion.beginning.or(ending).is_none() {
        return Ok(());
    }
    let ended = ending.and_then(|row| occasion.calls.get(row));
    let is_other = |live: &&LiveCall| ![occasion.beginning, ending].contains(&Some(live.call.row));
    let writing: Vec<_> = occasion.calls.editing(at).filter(is_other).collect();
    for seen in std::mem::take(&mut observation.changes) {
        let aims = |live: &&LiveCall| live.aims_at(&seen.path);
        let writing: Vec<_> = writing.iter().copied().filter(aims).collect();
        if writing.is_empty() || !is_partial(batch, &writing, ended, &seen)? {
            observation.changes.push(seen);
            continue;
        }
        observation.spared.push(seen.path.clone());
        if let Some(ended) = ended {
            observation.changes.extend(announced_before(batch, ended, &seen)?);
        }
    }
    Ok(())
}

/// Whether a file holds a part of what an edit announces, from its beginning, and not all of it.
///
/// The edit may have found what the file held before, or what another one made of that.
fn is_partial(
    batch: &Batch<'_>,
    writing: &[&LiveCall],
    ended: Option<&LiveCall>,
    seen: &Observed,
) -> Result<bool, StoreError> {
    let (before, now) = (Content::of(batch, &seen.before)?, Content::of(batch, &seen.after)?);
    let (Some(before), Some(Some(now))) = (before.told(), now.told()) else { return Ok(false) };
    let by_others = writing.iter().copied().chain(ended);
    let by_others: Vec<_> =
        by_others.filter_map(|live| live.announced(&seen.path, before)).collect();
    if by_others.iter().any(|whole| whole == now) {
        return Ok(false);
    }
    let found = || std::iter::once(before).chain(by_others.iter().map(|bytes| Some(&bytes[..])));
    let is_begun = |live: &LiveCall, found: Option<&[u8]>| {
        let whole = live.announced(&seen.path, found);
        whole.is_some_and(|whole| whole.len() > now.len() && whole.starts_with(now))
    };
    Ok(writing.iter().any(|live| found().any(|found| is_begun(live, found))))
}

/// The step that an edit which has ended announced, to a file that is being overwritten.
fn announced_before(
    batch: &Batch<'_>,
    ended: &LiveCall,
    seen: &Observed,
) -> Result<Option<Observed>, StoreError> {
    let before = Content::of(batch, &seen.before)?;
    let (Some(before), Side::Known(state)) = (before.told(), seen.after) else { return Ok(None) };
    let Some(content) = ended.announced(&seen.path, before) else { return Ok(None) };
    let encoded = encode(ObjectKind::Blob, &content)?;
    batch.put(&encoded)?;
    let size = content.len() as u64;
    let after = Side::Known(FileState { oid: encoded.oid, size, ..state });
    let (path, stat) = (seen.path.clone(), None);
    Ok((after != seen.before).then_some(Observed { path, before: seen.before, after, stat }))
}
