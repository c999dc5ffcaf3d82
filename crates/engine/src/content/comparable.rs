//! Loads the content of a side of a change for a comparison by lines.

use retake_model::PathState;
use retake_store::{Store, StoreError};

use crate::content::diff::{MAX_DIFF_BYTES, is_too_large, line_changes};

/// Reads a side: an absent file is empty; one not captured, too large or damaged is `None`.
pub(crate) fn comparable_content(
    store: &Store,
    side: &PathState,
) -> Result<Option<Vec<u8>>, StoreError> {
    match side {
        PathState::Absent => Ok(Some(Vec::new())),
        PathState::Known(state) if state.size <= MAX_DIFF_BYTES => {
            Ok(store.read_if_intact(&state.oid)?.filter(|bytes| !is_too_large(bytes)))
        }
        PathState::Known(_) | PathState::Unknown => Ok(None),
    }
}

/// Changed lines; `None` if the contents cannot be compared.
pub(crate) fn line_changes_between(
    store: &Store,
    before: &PathState,
    after: &PathState,
) -> Result<Option<retake_model::LineChanges>, StoreError> {
    match (comparable_content(store, before)?, comparable_content(store, after)?) {
        (Some(before), Some(after)) => Ok(line_changes(&before, &after)),
        _ => Ok(None),
    }
}
