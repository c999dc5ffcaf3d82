//! Reads the record: changes, their authors, contents and diffs.

use retake_model::{
    AgentId, Change, ChangeId, DialogId, Gap, MAIN_AGENT, Millis, ObjectId, Operation, OperationId,
    PathState, ProjectPath,
};
use retake_store::{
    ChangeFilter, Dialog, DialogAgent, PendingPath, Spool, StoreError, UserMessage, build_tree,
};

use crate::content::diff::{DiffLine, MAX_DIFF_BYTES, is_binary, is_too_large, unified_diff};
use crate::content::line_rules::DiffOptions;
use crate::plan::PlannedFile;
use crate::project::Project;

/// Unreviewed changes of agents, and unprotected files.
#[derive(Clone, Debug)]
pub struct ProjectStatus {
    /// By dialog and agent, the latest dialog first; changes that dialogs share come last.
    pub dialogs: Vec<DialogStatus>,
    /// What git took back of it: it is in no file now, and counts again if git brings it back.
    pub taken_back_by_git: Vec<PendingPath>,
    /// What is not protected, and since when.
    pub gaps: Vec<(Gap, Millis)>,
    /// Files that are tracked.
    pub files: u64,
    /// Changes on record.
    pub changes: u64,
    /// Events in the spool.
    pub spooled: usize,
    /// Bytes that the record takes on disk.
    pub store_bytes: u64,
}

/// What the agents of one dialog did.
#[derive(Clone, Debug)]
pub struct DialogStatus {
    /// The dialog's id; none for changes that several dialogs share.
    pub id: Option<DialogId>,
    /// What else is known of it.
    pub dialog: Option<Dialog>,
    /// Its agents, each with the paths that it changed.
    pub agents: Vec<(Option<AgentId>, Vec<PendingPath>)>,
}

/// The difference that a change, or several in a row, made to a file.
#[derive(Clone, Debug)]
pub struct FileDiff {
    /// The path before.
    pub old_path: ProjectPath,
    /// The path after.
    pub path: ProjectPath,
    /// The state before.
    pub before: PathState,
    /// The state after.
    pub after: PathState,
    /// What differs.
    pub body: DiffBody,
}

/// What differs between two states of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffBody {
    /// Lines; none if only mode or name differ.
    Lines(Vec<DiffLine>),
    /// One side is binary.
    Binary,
    /// One side is too large to show.
    TooLarge,
    /// One side was not captured.
    NotCaptured,
}

/// One side of a difference.
#[derive(Clone, Copy)]
struct DiffSide<'a> {
    state: &'a PathState,
    /// The content, where the store does not have it.
    content: Option<&'a [u8]>,
}

impl<'a> DiffSide<'a> {
    fn stored(state: &'a PathState) -> Self {
        Self { state, content: None }
    }
}

impl Project {
    /// Returns the unreviewed changes of agents, and the unprotected files.
    pub fn status(&self) -> Result<ProjectStatus, StoreError> {
        let store = self.store();
        let mut dialogs: Vec<DialogStatus> = Vec::new();
        let (pending, taken_back_by_git) = self.pending_rows()?;
        for row in pending {
            if dialogs.last().is_none_or(|status| status.id != row.dialog) {
                let id = row.dialog.clone();
                let dialog = id.as_ref().map(|id| store.dialog(id)).transpose()?.flatten();
                dialogs.push(DialogStatus { id, dialog, agents: Vec::new() });
            }
            let Some(status) = dialogs.last_mut() else {
                continue;
            };
            match status.agents.last_mut() {
                Some((agent, rows)) if *agent == row.agent => rows.push(row),
                _ => status.agents.push((row.agent.clone(), vec![row])),
            }
        }
        dialogs.sort_by_key(|status| std::cmp::Reverse(status.dialog.as_ref().map(|d| d.last_at)));
        Ok(ProjectStatus {
            dialogs,
            taken_back_by_git,
            gaps: store.gaps()?,
            files: store.manifest_len()?,
            changes: store.change_count()?,
            spooled: Spool::new(store.folder()).entries()?.0.len(),
            store_bytes: store.disk_size(),
        })
    }

    /// The changes that a filter lets through.
    pub fn changes(&self, filter: &ChangeFilter) -> Result<Vec<Change>, StoreError> {
        self.store().changes(filter)
    }

    /// The same; once there are `max_hunks` hunks, changes come without theirs, since a long list
    /// would hold more than memory should.
    pub fn changes_with_few_hunks(
        &self,
        filter: &ChangeFilter,
        max_hunks: usize,
    ) -> Result<Vec<Change>, StoreError> {
        let (mut changes, mut hunks) = (Vec::new(), 0);
        self.store().for_each_change(filter, &mut |mut change| {
            if let Some(lines) = &mut change.lines {
                hunks += lines.hunks.len();
                if hunks > max_hunks {
                    lines.hunks = Vec::new();
                }
            }
            changes.push(change);
        })?;
        Ok(changes)
    }

    /// One change.
    pub fn change(&self, id: ChangeId) -> Result<Option<Change>, StoreError> {
        self.store().change(id)
    }

    /// Every dialog with its agents, the latest activity first.
    pub fn dialogs(&self) -> Result<Vec<(Dialog, Vec<DialogAgent>)>, StoreError> {
        let store = self.store();
        let with_agents = |dialog: Dialog| {
            let agents = store.agents(&dialog.id)?;
            Ok((dialog, agents))
        };
        store.dialogs()?.into_iter().map(with_agents).collect()
    }

    /// One dialog.
    pub fn dialog(&self, id: &DialogId) -> Result<Option<Dialog>, StoreError> {
        self.store().dialog(id)
    }

    /// The exact content of a side of a change; `None` if the file did not exist.
    pub fn content(&self, side: &PathState) -> Result<Option<Vec<u8>>, StoreError> {
        match side {
            PathState::Absent => Ok(None),
            PathState::Known(state) => self.store().read(&state.oid).map(Some),
            PathState::Unknown => Err(StoreError::NotCaptured),
        }
    }

    /// Returns the message of the person that a change was made for.
    pub fn message_for_change(&self, change: &Change) -> Result<Option<UserMessage>, StoreError> {
        let (Some(dialog), Some(turn)) = (&change.dialog, change.turn) else { return Ok(None) };
        self.store().message_of_turn(dialog, turn)
    }

    /// Returns the agent's text in the message whose call made a change.
    pub fn agent_text_for_change(&self, change: &Change) -> Result<Option<String>, StoreError> {
        let (Some(dialog), Some(index)) = (&change.dialog, change.message_index) else {
            return Ok(None);
        };
        let agent = change.agent.as_ref().filter(|agent| agent.0 != MAIN_AGENT);
        self.store().assistant_text(dialog, agent, index)
    }

    /// The difference that one change made.
    pub fn diff(&self, change: &Change) -> Result<FileDiff, StoreError> {
        let old_path = change.old_path.clone().unwrap_or_else(|| change.path.clone());
        self.diff_sides(old_path, change.path.clone(), change.before, change.after)
    }

    /// The id of the tree of everything that is tracked: what `git write-tree` would print.
    pub fn tree_id(&self) -> Result<ObjectId, StoreError> {
        let files: Vec<_> = self
            .store()
            .manifest()?
            .into_iter()
            .filter_map(|entry| {
                PathState::from(entry.state).known().map(|state| (entry.path, *state))
            })
            .collect();
        build_tree(&files, &mut |_| Ok(()))
    }

    /// One operation.
    pub fn operation(&self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        self.store().operation(id)
    }

    /// The operations, newest first.
    pub fn operations(&self, limit: usize) -> Result<Vec<Operation>, StoreError> {
        self.store().operations(limit)
    }

    /// The difference between two states of a file.
    pub fn diff_sides(
        &self,
        old_path: ProjectPath,
        path: ProjectPath,
        before: PathState,
        after: PathState,
    ) -> Result<FileDiff, StoreError> {
        let body = self.diff_body(DiffSide::stored(&before), DiffSide::stored(&after))?;
        Ok(FileDiff { old_path, path, before, after, body })
    }

    /// The difference that a plan makes to a file.
    pub fn planned_diff(&self, file: &PlannedFile) -> Result<FileDiff, StoreError> {
        let before = DiffSide { state: &file.now, content: file.now_content.as_deref() };
        let after = DiffSide { state: &file.then, content: file.content.as_deref() };
        let body = self.diff_body(before, after)?;
        let path = file.path.clone();
        Ok(FileDiff { old_path: path.clone(), path, before: file.now, after: file.then, body })
    }

    /// Reads both contents of a difference; those that are too large to compare are not read.
    pub fn diff_contents(
        &self,
        before: &PathState,
        after: &PathState,
    ) -> Result<DiffContents, StoreError> {
        self.side_contents(DiffSide::stored(before), DiffSide::stored(after))
    }

    fn diff_body(&self, before: DiffSide<'_>, after: DiffSide<'_>) -> Result<DiffBody, StoreError> {
        Ok(self.side_contents(before, after)?.compare(&DiffOptions::default()))
    }

    fn side_contents(
        &self,
        before: DiffSide<'_>,
        after: DiffSide<'_>,
    ) -> Result<DiffContents, StoreError> {
        let states = [before.state, after.state];
        if states.iter().any(|state| matches!(state, PathState::Unknown)) {
            return Ok(DiffContents::NotCaptured);
        }
        let size = |state: &&PathState| state.known().map_or(0, |state| state.size);
        if states.iter().any(|state| size(state) > MAX_DIFF_BYTES) {
            return Ok(DiffContents::TooLarge);
        }
        let content = |side: DiffSide<'_>| match side.content {
            Some(bytes) => Ok(bytes.to_vec()),
            None => self.content(side.state).map(Option::unwrap_or_default),
        };
        Ok(DiffContents::Both { before: content(before)?, after: content(after)? })
    }
}

/// Both contents of a difference, or why they are not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffContents {
    /// The contents; that of a side without a file is empty.
    Both {
        /// The content before.
        before: Vec<u8>,
        /// The content after.
        after: Vec<u8>,
    },
    /// One side is too large to be read.
    TooLarge,
    /// One side was not captured.
    NotCaptured,
}

impl DiffContents {
    /// Returns the difference between the contents.
    pub fn compare(&self, options: &DiffOptions) -> DiffBody {
        match self {
            Self::Both { before, after } => DiffBody::compare(before, after, options),
            Self::TooLarge => DiffBody::TooLarge,
            Self::NotCaptured => DiffBody::NotCaptured,
        }
    }
}

impl DiffBody {
    /// Returns the difference between two contents, compared as git does.
    pub fn between(before: &[u8], after: &[u8]) -> Self {
        Self::compare(before, after, &DiffOptions::default())
    }

    /// Returns the difference between two contents.
    pub fn compare(before: &[u8], after: &[u8], options: &DiffOptions) -> Self {
        if [before, after].iter().any(|bytes| bytes.len() as u64 > MAX_DIFF_BYTES) {
            return Self::TooLarge;
        }
        if is_binary(before) || is_binary(after) {
            return Self::Binary;
        }
        if is_too_large(before) || is_too_large(after) {
            return Self::TooLarge;
        }
        Self::Lines(unified_diff(before, after, options))
    }
}
