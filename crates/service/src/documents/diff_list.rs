//! The files of a difference, without their lines: what a list shows before a file is opened.

use retake_engine::model::{ChangeType, PathState};
use retake_engine::{MAX_DIFF_BYTES, NetFileChange};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathName, hex_if_needed};
use super::{FileDiffDocument, SideDocument, enum_schemas};

/// A page of the files of a difference, by path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DiffFiles)]
pub struct DiffFilesPage {
    /// The files.
    pub files: Vec<DiffFileEntry>,
    /// How many there are in all pages.
    pub count: u64,
    /// What to send as `cursor` for the next page; null if this was the last.
    pub next: Option<String>,
}

/// A file of a difference. `…/diff/file` has its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DiffFile)]
pub struct DiffFileEntry {
    /// The path after.
    #[serde(flatten)]
    pub path: PathName,
    /// The path before.
    pub old_path: String,
    /// The old path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path_hex: Option<String>,
    /// What happened to the path in all.
    #[schema(schema_with = enum_schemas::change_type)]
    pub change_type: ChangeType,
    /// The state before; null if the file did not exist.
    pub before: Option<SideDocument>,
    /// The state after; null if the file is gone.
    pub after: Option<SideDocument>,
    /// Lines added; null where only comparing the contents would tell.
    pub added: Option<u64>,
    /// Lines removed; null where only comparing the contents would tell.
    pub removed: Option<u64>,
    /// Why there are no lines to ask for, where that is known: `not_captured`, `too_large`.
    pub no_text: Option<String>,
    /// The changes that made it.
    #[serde(flatten)]
    pub changes: NetChangePart,
}

/// The changes in a row that made a difference to a file.
///
/// Where something else changed the file in between, it has several parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NetChangePart {
    /// The first of the changes.
    #[schema(example = "c12")]
    pub first: String,
    /// The last of them.
    #[schema(example = "c15")]
    pub last: String,
    /// How many they are.
    pub changes: u64,
    /// The number of this part of the file, from 1.
    pub part: u64,
    /// How many parts the file has.
    pub parts: u64,
}

/// The lines of a file of a difference, and the changes that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NetFileDiff {
    /// The difference.
    #[serde(flatten)]
    pub diff: FileDiffDocument,
    /// The changes that made it.
    #[serde(flatten)]
    pub changes: NetChangePart,
}

impl NetChangePart {
    /// The part at this place of `nets`, which are all net changes of at least its file, by path.
    pub fn new(nets: &[NetFileChange], place: usize) -> Self {
        let net = &nets[place];
        let is_same = |other: &&NetFileChange| other.path == net.path;
        let before = nets[..place].iter().rev().take_while(is_same).count() as u64;
        let after = nets[place..].iter().take_while(is_same).count() as u64;
        Self {
            first: net.first.to_string(),
            last: net.last.to_string(),
            changes: net.changes,
            part: before + 1,
            parts: before + after,
        }
    }
}

impl DiffFileEntry {
    /// The file at this place of `nets`, which are all net changes of at least its file, by path.
    pub fn new(nets: &[NetFileChange], place: usize) -> Self {
        let net = &nets[place];
        Self {
            path: (&net.path).into(),
            old_path: net.old_path.to_string(),
            old_path_hex: hex_if_needed(&net.old_path),
            change_type: net.change_type(),
            before: SideDocument::of(&net.before),
            after: SideDocument::of(&net.after),
            added: net.lines.map(|lines| lines.added),
            removed: net.lines.map(|lines| lines.removed),
            no_text: no_text(net).map(ToOwned::to_owned),
            changes: NetChangePart::new(nets, place),
        }
    }
}

fn no_text(net: &NetFileChange) -> Option<&'static str> {
    let sides = [&net.before, &net.after];
    if sides.iter().any(|side| matches!(side, PathState::Unknown)) {
        return Some("not_captured");
    }
    let is_large =
        |side: &&PathState| side.known().is_some_and(|state| state.size > MAX_DIFF_BYTES);
    sides.iter().any(is_large).then_some("too_large")
}
