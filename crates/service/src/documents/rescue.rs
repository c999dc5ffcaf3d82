//! Files of a project that were written into a new folder.

use retake_engine::RescueReport;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::PathName;

/// What was written into a new folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Rescued)]
pub struct RescueDocument {
    /// The folder.
    pub into: String,
    /// The checkpoint whose state it is; null for the last one on record.
    pub checkpoint: Option<String>,
    /// Files and links that were written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether every file was written.
    pub whole: bool,
    /// Files that were not written.
    pub left_count: u64,
    /// The first 1000 of them.
    pub left: Vec<UnrescuedPath>,
}

/// A file that was not written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnrescuedPath {
    /// Its path.
    #[serde(flatten)]
    pub path: PathName,
    /// The reason, for people.
    pub reason: String,
}

impl RescueDocument {
    /// What was written into this folder.
    pub fn new(into: &std::path::Path, checkpoint: Option<String>, done: &RescueReport) -> Self {
        let left = done
            .left
            .iter()
            .map(|file| UnrescuedPath { path: (&file.path).into(), reason: file.reason.clone() });
        Self {
            into: into.to_string_lossy().into_owned(),
            checkpoint,
            files: done.files,
            bytes: done.bytes,
            whole: done.left_count == 0,
            left_count: done.left_count,
            left: left.collect(),
        }
    }
}
