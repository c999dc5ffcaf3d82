//! Content of a path before and after predicted edits.

use retake_model::PathState;
use retake_store::{Batch, StoreError, hash_blob};

use crate::tool::{self, EditKind, PredictedFile};

/// Maximum bytes of content that is predicted: tools do not carry more in their arguments.
const MAX_PREDICTED_BYTES: u64 = 8 * 1024 * 1024;

/// Content of a path, as far as it is known.
pub(crate) enum PathContent {
    Absent,
    Bytes(Vec<u8>),
    Unknown,
}

impl PathContent {
    pub(crate) fn of(batch: &Batch<'_>, side: &PathState) -> Result<Self, StoreError> {
        match side {
            PathState::Absent => Ok(Self::Absent),
            PathState::Known(state) if state.size <= MAX_PREDICTED_BYTES => {
                let bytes = batch.read_if_intact(&state.oid)?;
                Ok(bytes.map_or(Self::Unknown, Self::Bytes))
            }
            PathState::Known(_) | PathState::Unknown => Ok(Self::Unknown),
        }
    }

    /// The bytes, `Some(None)` if there is no file; `None` if the content is not known.
    #[expect(clippy::option_option, reason = "to be absent and to be unknown are two things")]
    pub(crate) fn known_bytes(&self) -> Option<Option<&[u8]>> {
        match self {
            Self::Absent => Some(None),
            Self::Bytes(bytes) => Some(Some(bytes)),
            Self::Unknown => None,
        }
    }

    pub(super) fn apply_edit(self, edit: &EditKind) -> Self {
        let predicted = match &self {
            Self::Absent => tool::predict(edit, None),
            Self::Bytes(bytes) => tool::predict(edit, Some(bytes)),
            // A whole new content, or none, does not depend on the one before.
            Self::Unknown if matches!(edit, EditKind::Content(_) | EditKind::Delete) => {
                tool::predict(edit, None)
            }
            Self::Unknown => None,
        };
        match predicted {
            Some(PredictedFile::Content(bytes)) => Self::Bytes(bytes),
            Some(PredictedFile::Absent) => Self::Absent,
            None => Self::Unknown,
        }
    }

    pub(super) fn matches(&self, batch: &Batch<'_>, side: &PathState) -> Result<bool, StoreError> {
        match (self, side) {
            (Self::Absent, PathState::Absent) => Ok(true),
            (Self::Bytes(bytes), PathState::Known(state)) if bytes.len() as u64 == state.size => {
                let is_it = hash_blob(bytes)? == state.oid;
                if is_it {
                    batch.cache_object(&state.oid, bytes);
                }
                Ok(is_it)
            }
            _ => Ok(false),
        }
    }
}
