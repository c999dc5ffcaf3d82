//! The change records of editors: one file of one tool call (DM-1…DM-7, API-1…API-5).

use retake_engine::model::{Change, DialogId, FileState, PathState, ProjectPath};
use retake_engine::{FileRecord, MAX_DIFF_BYTES, Project, StoreError, iso_8601, replaced_text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::hex_if_needed;
use crate::Masking;

/// Maximum bytes of contents in one list.
const MAX_CONTENT_BYTES: usize = 4 * 1024 * 1024;

/// The bytes of contents that a list may still hold; when they are used up, its records come
/// without contents.
#[derive(Clone, Copy, Debug)]
pub struct ContentBudget(usize);

impl Default for ContentBudget {
    fn default() -> Self {
        Self(MAX_CONTENT_BYTES)
    }
}

impl ContentBudget {
    /// Takes these bytes; false if there are not as many left.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    fn is_used_up(self) -> bool {
        self.0 == 0
    }
}

/// One file's change by one tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChangeRecord {
    /// The absolute path.
    pub file_path: String,
    /// The path relative to the project's root.
    pub path: String,
    /// The path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// The path before a rename, relative to the project's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// The absolute path before a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_file_path: Option<String>,
    /// The agent, or `unknown`.
    pub agent_id: String,
    /// The product of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_kind: Option<String>,
    /// The model that asked for the call, as the agent names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `create`, `modify` or `delete`.
    pub change_type: String,
    /// The name that all tools of its kind have; an unknown tool keeps its own.
    #[schema(example = "Edit")]
    pub tool_name: Option<String>,
    /// When it was recorded.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// `pending`, `accepted` or `rejected`.
    pub status: String,
    /// The record's unique name: the tool call's id, with `:` and a number if the call changed
    /// several files.
    #[schema(example = "toolu_01:0")]
    pub tool_call_id: String,
    /// The place in the agent's message history of the message that asked for the call.
    pub message_index: Option<u64>,
    /// The lines that were added.
    pub added_ranges: Vec<LineRange>,
    /// The lines that were removed.
    pub removed_ranges: Vec<LineRange>,
    /// What was replaced: the lines of an edit, the whole file if it was overwritten; null for a
    /// new file, and for what is no text, too large or not captured. In a long list the contents
    /// of the later records are left out: `/changes/{change}/diff` has them.
    pub old_content: Option<String>,
    /// The whole file before.
    pub pre_tool_content: Option<String>,
    /// The whole file after.
    pub new_content: Option<String>,
    /// The change on record.
    #[schema(example = "c12")]
    pub change: String,
}

/// Lines from the first to the last, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LineRange {
    /// The first line.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
}

impl FileChangeRecord {
    /// A record, with its contents as far as the list may hold them.
    pub fn read(
        project: &Project,
        record: &FileRecord,
        masking: Masking,
        budget: &mut ContentBudget,
    ) -> Result<Self, StoreError> {
        let change = &record.change;
        let absolute = |path: &ProjectPath| {
            project.root().join(path.to_string()).to_string_lossy().into_owned()
        };
        let ranges = |ranges: &[(u32, u32)]| {
            let range = |&(start_line, end_line): &_| LineRange { start_line, end_line };
            ranges.iter().map(range).collect()
        };
        let mut contents = RecordContents::default();
        if !budget.is_used_up() {
            let read = RecordContents::read(project, change, masking)?;
            contents = if budget.take(read.size()) { read } else { contents };
        }
        Ok(Self {
            file_path: absolute(&change.path),
            path: change.path.to_string(),
            path_hex: hex_if_needed(&change.path),
            old_path: change.old_path.as_ref().map(ToString::to_string),
            old_file_path: change.old_path.as_ref().map(absolute),
            agent_id: record.agent_id().to_owned(),
            agent_kind: change.kind.clone(),
            model: change.model.clone(),
            change_type: record.change_type().to_owned(),
            tool_name: record.tool_name(),
            timestamp: iso_8601(change.at),
            status: record.status().to_owned(),
            tool_call_id: record.tool_call_id.clone(),
            message_index: change.message_index,
            added_ranges: ranges(&record.added_ranges()),
            removed_ranges: ranges(&record.removed_ranges()),
            old_content: contents.old,
            pre_tool_content: contents.before,
            new_content: contents.after,
            change: change.id.to_string(),
        })
    }
}

#[derive(Default)]
struct RecordContents {
    old: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

impl RecordContents {
    fn size(&self) -> usize {
        [&self.old, &self.before, &self.after].into_iter().flatten().map(String::len).sum()
    }

    fn read(project: &Project, change: &Change, masking: Masking) -> Result<Self, StoreError> {
        let text = |path: &ProjectPath, side: &PathState| -> Result<Option<String>, StoreError> {
            let Some(bytes) = content(project, side.known())? else { return Ok(None) };
            let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
            Ok(text.map(|text| masking.mask_content(path, &text).into_owned()))
        };
        let old = masking.masking_path(project, change.from_path(), &change.before)?;
        let new = masking.masking_path(project, &change.path, &change.after)?;
        let secret = masking.secret_name([&old, &new]);
        let before = text(secret.unwrap_or(&old), &change.before)?;
        let after = text(secret.unwrap_or(&new), &change.after)?;
        let old = before.as_deref().map(|before| replaced_text(change, before));
        Ok(Self { old, before, after })
    }
}

/// A content that is there, sound and small enough to tell.
fn content(project: &Project, state: Option<&FileState>) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(state) = state.filter(|state| state.size <= MAX_DIFF_BYTES) else {
        return Ok(None);
    };
    match project.read_object(&state.oid) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::Missing(_) | StoreError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The records of a dialog, the oldest first (API-1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChanges {
    /// The dialog.
    pub session_id: String,
    /// Its records.
    pub file_changes: Vec<FileChangeRecord>,
}

impl FileChanges {
    /// The records of a dialog.
    pub fn read(
        project: &Project,
        dialog: &DialogId,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let mut budget = ContentBudget::default();
        let records = project.file_records(dialog)?;
        let records =
            records.iter().map(|one| FileChangeRecord::read(project, one, masking, &mut budget));
        Ok(Self { session_id: dialog.0.clone(), file_changes: records.collect::<Result<_, _>>()? })
    }
}

/// What accepting or rejecting did (API-2…API-5, G-1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewedFileChanges {
    /// The records that were decided on, as they are now.
    pub file_changes: Vec<FileChangeRecord>,
    /// The `tool_call_id`s of records that went with them because they need them.
    pub cascaded: Vec<String>,
}
