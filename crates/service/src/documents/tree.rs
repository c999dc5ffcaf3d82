//! The files and folders of a checkpoint.

use retake_engine::CheckpointEntry;
use retake_engine::model::{Checkpoint, FileKind, ProjectPath};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::octal;
use super::path::PathName;

/// A page of the entries of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CheckpointTree)]
pub struct CheckpointTreePage {
    /// The checkpoint.
    pub checkpoint: String,
    /// The folder; null for the root.
    pub folder: Option<String>,
    /// Its entries, by name.
    pub entries: Vec<TreeEntryDocument>,
    /// What to send as `cursor` for the next page; null if this was the last.
    pub next: Option<String>,
}

/// A file or folder of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TreeEntry)]
pub struct TreeEntryDocument {
    /// The path.
    #[serde(flatten)]
    pub path: PathName,
    /// `file`, `link` or `folder`.
    #[schema(example = "file")]
    pub kind: String,
    /// The content's id, or the id of the folder's tree; both are git's.
    pub oid: String,
    /// The content's length in bytes; null for a folder, and for what the store does not have.
    pub size: Option<u64>,
    /// The permission bits in octal digits, as git keeps them; null for a folder.
    #[schema(example = "0644")]
    pub mode: Option<String>,
}

impl CheckpointTreePage {
    /// These entries of a folder.
    pub fn new(
        checkpoint: &Checkpoint,
        folder: Option<&ProjectPath>,
        entries: &[CheckpointEntry],
        next: Option<String>,
    ) -> Self {
        Self {
            checkpoint: checkpoint.id.to_string(),
            folder: folder.map(ToString::to_string),
            entries: entries.iter().map(TreeEntryDocument::from).collect(),
            next,
        }
    }
}

impl From<&CheckpointEntry> for TreeEntryDocument {
    fn from(entry: &CheckpointEntry) -> Self {
        let kind = match entry.kind {
            None => "folder",
            Some(FileKind::File) => "file",
            Some(FileKind::Link) => "link",
        };
        Self {
            path: (&entry.path).into(),
            kind: kind.to_owned(),
            oid: entry.oid.to_string(),
            size: entry.size,
            mode: entry.mode.map(octal),
        }
    }
}
