//! The content of a side of a change, as far as it can be compared by lines.

use retake_model::Side;
use retake_store::{Store, StoreError};

use crate::diff::{TOO_LARGE_TO_SHOW, is_too_large};

/// What did not exist is empty; what was not captured, is too large or is damaged is `None`.
pub(crate) fn comparable(store: &Store, side: &Side) -> Result<Option<Vec<u8>>, StoreError> {
    match side {
        Side::Absent => Ok(Some(Vec::new())),
        Side::Known(state) if state.size <= TOO_LARGE_TO_SHOW => {
            Ok(store.read_if_sound(&state.oid)?.filter(|bytes| !is_too_large(bytes)))
        }
        Side::Known(_) | Side::Unknown => Ok(None),
    }
}
