//! Reads the record: changes, their authors, contents and diffs.

use std::collections::HashMap;

use retake_model::{
    AgentId, Change, ChangeId, DialogId, Gap, MAIN_AGENT, Millis, ObjectId, Operation, PathState,
    ProjectPath,
};
use retake_store::{
    ChangeFilter, Dialog, DialogAgent, PendingPath, Spool, StoreError, UserMessage, build_tree,
};

use crate::content::diff::{DiffLine, MAX_DIFF_BYTES, is_binary, is_too_large, unified_diff};
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

    /// The difference that several changes made, file by file.
    ///
    /// `changes` are oldest first. Where something else changed a file in between, its changes
    /// before and after that are shown apart, so that no actor's lines appear as another's. A file
    /// that ends as it began is left out; one that was created and then renamed was created there.
    pub fn net_diff(&self, changes: &[Change]) -> Result<Vec<FileDiff>, StoreError> {
        let mut nets: Vec<NetFileChange> = Vec::new();
        let mut newest = HashMap::new();
        for change in changes {
            let from = change.old_path.as_ref().unwrap_or(&change.path);
            let continues = |&at: &usize| nets[at].after == change.before;
            let at = newest.remove(from).filter(continues).unwrap_or_else(|| {
                nets.push(NetFileChange::starting(from, change.before));
                nets.len() - 1
            });
            nets[at].path = change.path.clone();
            nets[at].after = change.after;
            newest.insert(change.path.clone(), at);
        }
        let mut diffs = Vec::new();
        for net in nets.into_iter().filter_map(NetFileChange::normalised) {
            diffs.push(self.diff_sides(net.old_path, net.path, net.before, net.after)?);
        }
        diffs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(diffs)
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

    fn diff_body(&self, before: DiffSide<'_>, after: DiffSide<'_>) -> Result<DiffBody, StoreError> {
        let states = [before.state, after.state];
        if states.iter().any(|state| matches!(state, PathState::Unknown)) {
            return Ok(DiffBody::NotCaptured);
        }
        let size = |state: &&PathState| state.known().map_or(0, |state| state.size);
        if states.iter().any(|state| size(state) > MAX_DIFF_BYTES) {
            return Ok(DiffBody::TooLarge);
        }
        let content = |side: DiffSide<'_>| match side.content {
            Some(bytes) => Ok(bytes.to_vec()),
            None => self.content(side.state).map(Option::unwrap_or_default),
        };
        Ok(DiffBody::between(&content(before)?, &content(after)?))
    }
}

impl DiffBody {
    /// Returns the difference between two contents.
    pub fn between(before: &[u8], after: &[u8]) -> Self {
        if [before, after].iter().any(|bytes| bytes.len() as u64 > MAX_DIFF_BYTES) {
            return Self::TooLarge;
        }
        if is_binary(before) || is_binary(after) {
            return Self::Binary;
        }
        if is_too_large(before) || is_too_large(after) {
            return Self::TooLarge;
        }
        Self::Lines(unified_diff(before, after))
    }
}

struct NetFileChange {
    old_path: ProjectPath,
    path: ProjectPath,
    before: PathState,
    after: PathState,
}

impl NetFileChange {
    fn starting(path: &ProjectPath, before: PathState) -> Self {
        Self { old_path: path.clone(), path: path.clone(), before, after: before }
    }

    fn normalised(mut self) -> Option<Self> {
        match (self.before.is_absent(), self.after.is_absent()) {
            (true, true) => return None,
            (true, false) => self.old_path = self.path.clone(),
            (false, true) => self.path = self.old_path.clone(),
            (false, false) => {}
        }
        (self.before != self.after || self.old_path != self.path).then_some(self)
    }
}
