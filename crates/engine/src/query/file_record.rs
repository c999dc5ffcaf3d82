//! Agents' changes as editors know them: one file of one tool call (DM-1…DM-7).

use retake_model::{Actor, Change, ChangeMethod, ChangeStatus, ChangeType, DialogId, Hunk};
use retake_store::{ChangeFilter, StoreError};

use crate::project::Project;
use crate::query::record_name::RecordNames;
use crate::tool::{ToolKind, kind_of};

/// One file's change by one tool call, under its unique name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// Its unique name: the tool call's id, with a number if the call changed several files (DM-3).
    pub tool_call_id: String,
    /// The change.
    pub change: Change,
}

impl Project {
    /// Returns the changes of a dialog's agents, the oldest first.
    pub fn file_records(&self, dialog: &DialogId) -> Result<Vec<FileRecord>, StoreError> {
        let filter = ChangeFilter {
            dialogs: vec![dialog.clone()],
            actors: vec![Actor::Agent],
            oldest_first: true,
            ..ChangeFilter::default()
        };
        let changes = self.changes(&filter)?;
        let mut names = RecordNames::default();
        for change in &changes {
            names.count_change(change);
        }
        let record = |change: Change| FileRecord { tool_call_id: names.name_of(&change), change };
        Ok(changes.into_iter().map(record).collect())
    }
}

impl FileRecord {
    /// The agent, or `unknown` (DM-1).
    pub fn agent_id(&self) -> &str {
        self.change.agent.as_ref().map_or("unknown", |id| id.0.as_str())
    }

    /// Three words for five (DM-2): a moved file and one with other permissions are modified.
    pub fn change_type(&self) -> &'static str {
        match self.change.change_type {
            ChangeType::Create => "create",
            ChangeType::Delete => "delete",
            ChangeType::Modify | ChangeType::Rename | ChangeType::Mode => "modify",
        }
    }

    /// Three words for four (DM-2): what was taken back is rejected.
    pub fn status(&self) -> &'static str {
        match self.change.status {
            ChangeStatus::Pending => "pending",
            ChangeStatus::Accepted => "accepted",
            ChangeStatus::Rejected | ChangeStatus::Reverted => "rejected",
        }
    }

    /// The name that all tools of its kind have (DET-4); an unknown one keeps its own.
    pub fn tool_name(&self) -> Option<String> {
        self.change.tool.as_deref().map(canonical_tool_name)
    }

    /// The first and the last of the lines that were added, at each place (DM-7).
    pub fn added_ranges(&self) -> Vec<(u32, u32)> {
        self.ranges(|hunk| (hunk.new_start, hunk.new_lines))
    }

    /// The first and the last of the lines that were removed, at each place (DM-7).
    pub fn removed_ranges(&self) -> Vec<(u32, u32)> {
        self.ranges(|hunk| (hunk.old_start, hunk.old_lines))
    }

    fn ranges(&self, side: impl Fn(&Hunk) -> (u32, u32)) -> Vec<(u32, u32)> {
        let hunks = self.change.lines.as_ref().map_or(&[][..], |lines| &lines.hunks);
        let range = |(start, lines)| (lines > 0).then(|| (start, start + lines - 1));
        hunks.iter().filter_map(|hunk| range(side(hunk))).collect()
    }
}

/// Returns the text that a change replaced (DM-5): of an edit the lines from the first to the last,
/// else all.
pub fn replaced_text(change: &Change, before: &str) -> String {
    let hunks = change.lines.as_ref().map_or(&[][..], |lines| &lines.hunks);
    let (ChangeMethod::Patch, Some(first), Some(last)) =
        (change.method, hunks.first(), hunks.last())
    else {
        return before.to_owned();
    };
    let from = first.old_start as usize - 1;
    let to = (last.old_start as usize - 1 + last.old_lines as usize).max(from);
    before.split_inclusive('\n').skip(from).take(to - from).collect()
}

/// The name that all tools of a kind have (DET-4); an unknown one keeps its own.
fn canonical_tool_name(tool: &str) -> String {
    match kind_of(tool) {
        ToolKind::Read => "Read".to_owned(),
        ToolKind::Write => "Write".to_owned(),
        ToolKind::Edit => "Edit".to_owned(),
        ToolKind::Delete => "Delete".to_owned(),
        ToolKind::Shell => "Bash".to_owned(),
        ToolKind::Other => tool.to_owned(),
    }
}
