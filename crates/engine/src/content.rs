//! Loads the content of a side of a change for a comparison by lines.

use retake_model::Side;
use retake_store::{Store, StoreError};

use crate::diff::{TOO_LARGE_TO_SHOW, is_too_large};

/// Reads a side: an absent file is empty; one not captured, too large or damaged is `None`.
pub(crate) fn comparable(store: &Store, side: &Side) -> Result<Option<Vec<u8>>, StoreError> {
    match side {
        Side::Absent => Ok(Some(Vec::new())),
        Side::Known(state) if state.size <= TOO_LARGE_TO_SHOW => {
            Ok(store.read_if_sound(&state.oid)?.filter(|bytes| !is_too_large(bytes)))
        }
        Side::Known(_) | Side::Unknown => Ok(None),
    }
}
