//! A file that went away and one that came to be, with the same content, are one move.
//!
//! Only steps with the same author are paired. Equal content decides first; for
//! the rest, text files that are at least half alike, a bounded number of them.

use std::collections::HashMap;

use retake_model::{Actor, PathState};
use retake_store::{Batch, StoreError};

use crate::attribution::rules::{AttributedStep, Attribution};
use crate::content::comparable::comparable_content;
use crate::content::diff::{is_binary, similarity};

/// Maximum files on a side that are compared for similarity, which is quadratic.
const MAX_COMPARED_FILES: usize = 32;
/// Maximum bytes in all that are compared.
const MAX_COMPARED_BYTES: u64 = 2 * 1024 * 1024;
const MIN_SIMILARITY_PERCENT: u32 = 50;

/// Pairs deletions with creations. Steps stay in the order of their paths.
pub(crate) fn pair_renames(
    batch: &Batch<'_>,
    steps: Vec<AttributedStep>,
) -> Result<Vec<AttributedStep>, StoreError> {
    // Retake's own changes are on record by path.
    let could_move = |step: &AttributedStep| {
        let seen = &step.seen;
        seen.after.is_absent() && has_content(&seen.before) && step.by.actor != Actor::Retake
    };
    let (gone, mut steps): (Vec<_>, Vec<_>) = steps.into_iter().partition(could_move);
    let mut gone: Vec<Option<AttributedStep>> = gone.into_iter().map(Some).collect();
    pair_equal(&mut steps, &mut gone);
    pair_similar(batch, &mut steps, &mut gone)?;
    steps.extend(gone.into_iter().flatten());
    steps.sort_by(|a, b| a.seen.path.cmp(&b.seen.path));
    Ok(steps)
}

/// Empty files are all equal, so they are no evidence of a move.
fn has_content(side: &PathState) -> bool {
    side.known().is_some_and(|state| state.size > 0)
}

fn is_new(step: &AttributedStep) -> bool {
    step.from.is_none() && step.seen.before.is_absent() && has_content(&step.seen.after)
}

fn pair_equal(steps: &mut [AttributedStep], gone: &mut [Option<AttributedStep>]) {
    let mut by_content: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, entry) in gone.iter().enumerate().rev() {
        if let Some(state) = entry.as_ref().and_then(|deleted| deleted.seen.before.known()) {
            by_content.entry((state.oid, state.kind)).or_default().push(at);
        }
    }
    for step in steps.iter_mut().filter(|step| is_new(step)) {
        let Some(state) = step.seen.after.known() else {
            continue;
        };
        let Some(places) = by_content.get_mut(&(state.oid, state.kind)) else {
            continue;
        };
        let same_author = |&at: &usize| {
            gone[at].as_ref().is_some_and(|deleted| is_same_author(&deleted.by, &step.by))
        };
        if let Some(place) = places.iter().rposition(same_author) {
            step.from = gone[places.remove(place)].take().map(|deleted| deleted.seen);
        }
    }
}

fn pair_similar(
    batch: &Batch<'_>,
    steps: &mut [AttributedStep],
    gone: &mut [Option<AttributedStep>],
) -> Result<(), StoreError> {
    let new: Vec<usize> = (0..steps.len()).filter(|&at| is_new(&steps[at])).collect();
    let old: Vec<usize> = (0..gone.len()).filter(|&at| gone[at].is_some()).collect();
    let sizes = new.iter().map(|&at| size(&steps[at].seen.after));
    let sizes =
        sizes.chain(old.iter().filter_map(|&at| Some(size(&gone[at].as_ref()?.seen.before))));
    if new.len() > MAX_COMPARED_FILES
        || old.len() > MAX_COMPARED_FILES
        || sizes.sum::<u64>() > MAX_COMPARED_BYTES
    {
        return Ok(());
    }
    let mut old_texts = Vec::new();
    for &at in &old {
        let Some(deleted) = &gone[at] else { continue };
        old_texts.extend(text_content(batch, &deleted.seen.before)?.map(|text| (at, text)));
    }
    for at in new {
        let Some(text) = text_content(batch, &steps[at].seen.after)? else { continue };
        let candidate = |(place, old): &(usize, Vec<u8>)| {
            let by = &gone[*place].as_ref()?.by;
            let near = old.len().min(text.len()) * 2 >= old.len().max(text.len());
            let alike = (near && is_same_author(by, &steps[at].by)).then(|| similarity(old, &text));
            alike.filter(|&alike| alike >= MIN_SIMILARITY_PERCENT).map(|alike| (alike, *place))
        };
        let best = old_texts.iter().filter_map(candidate).max_by_key(|&(alike, _)| alike);
        if let Some((_, place)) = best {
            steps[at].from = gone[place].take().map(|deleted| deleted.seen);
        }
    }
    Ok(())
}

fn size(side: &PathState) -> u64 {
    side.known().map_or(0, |state| state.size)
}

fn is_same_author(a: &Attribution, b: &Attribution) -> bool {
    a.actor == b.actor && a.calls == b.calls
}

fn text_content(batch: &Batch<'_>, side: &PathState) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(comparable_content(batch, side)?.filter(|bytes| !is_binary(bytes)))
}
