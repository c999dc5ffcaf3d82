//! Calls that can still change files, and the paths that each of them could change.
//!
//! Edit tools own only the paths that they name; shell commands and unknown tools may change the
//! whole project. A shell command of one of the few understood shapes owns just its targets, but it
//! is preceded and followed by a full scan as well: its text never narrows that.

use std::path::Path;
use std::sync::Arc;

use retake_model::{Change, PathState, ProjectPath};
use retake_store::{BackgroundActivity, Batch, Call, CallState, StoreError};
use serde_json::Value;

use crate::calls::glob_links::may_lead_elsewhere;
use crate::calls::path_content::PathContent;
use crate::calls::targets::{CallTargets, PathScope, ResolvedEdit, resolve_target, working_folder};
use crate::resolve_path::PathBase;
use crate::shell::CommandTarget;
use crate::tool::{self, ToolKind};

/// The tool name under which an edit of a host is recorded.
pub(crate) const HOST_EDIT_TOOL: &str = "edit_files";

/// A call with its parsed arguments.
#[derive(Debug)]
pub(crate) struct LiveCall {
    pub(crate) call: Call,
    pub(crate) call_targets: Arc<CallTargets>,
    /// Set if the arguments were parsed for an earlier event: symlinks may lead elsewhere since.
    pub(crate) is_cached: bool,
}

impl LiveCall {
    /// A call whose arguments are not parsed yet.
    pub(crate) fn new(path_base: PathBase<'_>, call: Call) -> Self {
        let input = call.input.unpack();
        Self::with_input(path_base, call, &input)
    }

    /// A call with these arguments, just parsed.
    pub(crate) fn with_input(path_base: PathBase<'_>, call: Call, input: &Value) -> Self {
        let call_targets = Arc::new(CallTargets::new(path_base, &call, input));
        Self { call, call_targets, is_cached: false }
    }

    /// Resolves its targets again if they come from the cache.
    pub(crate) fn refresh_targets(&mut self, path_base: PathBase<'_>) {
        if self.is_cached {
            self.call_targets =
                Arc::new(CallTargets::new(path_base, &self.call, &self.call.input.unpack()));
            self.is_cached = false;
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.call.state == CallState::Open
    }

    /// Returns true if it is open and may change anything in the project.
    pub(crate) fn is_at_work(&self) -> bool {
        self.is_open() && matches!(self.kind(), ToolKind::Shell | ToolKind::Other)
    }

    /// Returns true if it is an edit tool, which names its files.
    pub(crate) fn is_edit(&self) -> bool {
        matches!(self.kind(), ToolKind::Write | ToolKind::Edit | ToolKind::Delete)
    }

    /// Kind of the call, with its arguments taken into account.
    pub(crate) fn kind(&self) -> ToolKind {
        self.call_targets.kind()
    }

    /// Returns true if the call could change this path while it is open.
    pub(crate) fn could_change(&self, path: &ProjectPath) -> bool {
        match self.kind() {
            ToolKind::Read => false,
            ToolKind::Write | ToolKind::Edit | ToolKind::Delete => self.targets_path(path),
            ToolKind::Shell => !self.is_understood() || self.targets_path(path),
            ToolKind::Other => true,
        }
    }

    /// Returns true if the call names this path, or its command targets it.
    pub(crate) fn targets_path(&self, path: &ProjectPath) -> bool {
        // Deleting a folder deletes its contents.
        let by_name = |named: &ProjectPath| match self.call_targets.intent.kind {
            ToolKind::Delete => path.is_beneath(named),
            _ => path == named,
        };
        self.call_targets.named.iter().any(by_name)
            || self.call_targets.targets.iter().any(|reach| reach.covers(path))
    }

    /// The paths that its command targets.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &ProjectPath> {
        self.call_targets.targets.iter().filter_map(|reach| reach.path.as_ref())
    }

    /// Returns true if its command can change nothing outside of its targets.
    pub(crate) fn is_understood(&self) -> bool {
        self.call_targets.is_understood
    }

    /// Returns true if it may run git commands that change the working tree.
    pub(crate) fn may_run_git(&self) -> bool {
        match self.kind() {
            ToolKind::Shell => {
                self.call_targets.effects.as_ref().is_none_or(|effects| effects.runs_git)
            }
            ToolKind::Other => true,
            ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Delete => false,
        }
    }

    /// Returns true if a part of it outlives its end.
    pub(crate) fn goes_to_background(&self) -> bool {
        self.call_targets.intent.background
            || self.call_targets.effects.as_ref().is_some_and(|effects| effects.background)
    }

    /// Returns true if the call may change this path after its end, and there is evidence for it.
    ///
    /// Once its turn is over the person is at work again, and what continues in the background is
    /// most often a server that writes nothing. So from then on a task that is known to be running
    /// owns its targets and the files that it wrote last, no more.
    pub(crate) fn could_change_late(
        &self,
        batch: &Batch<'_>,
        path: &ProjectPath,
    ) -> Result<bool, StoreError> {
        match self.call.background {
            BackgroundActivity::None => Ok(false),
            _ if self.targets_path(path) => Ok(true),
            BackgroundActivity::TargetsOnly => Ok(false),
            BackgroundActivity::Running if !self.could_change(path) => Ok(false),
            BackgroundActivity::Running => {
                Ok(self.is_in_its_turn(batch)? || self.wrote_last(batch, path)?)
            }
        }
    }

    fn is_in_its_turn(&self, batch: &Batch<'_>) -> Result<bool, StoreError> {
        let dialog = batch.dialog(&self.call.dialog)?;
        Ok(dialog.is_some_and(|dialog| dialog.turn_open && dialog.turns == self.call.turn))
    }

    /// Returns true if it made the newest change of a path.
    pub(crate) fn wrote_last(
        &self,
        batch: &Batch<'_>,
        path: &ProjectPath,
    ) -> Result<bool, StoreError> {
        let last = batch.last_change_of(path)?;
        let by_this = |change: Change| {
            change.dialog.as_ref() == Some(&self.call.dialog)
                && change.call.as_ref() == Some(&self.call.call)
        };
        Ok(last.is_some_and(by_this))
    }

    /// The exact paths that a scan for this call must cover; `None` is the whole project.
    pub(crate) fn scan_paths(&self) -> Option<Vec<ProjectPath>> {
        match self.kind() {
            ToolKind::Read => Some(Vec::new()),
            // The other names of a hard-linked file are not known.
            ToolKind::Write | ToolKind::Edit => {
                self.call_targets.linked.is_empty().then(|| self.call_targets.named.clone())
            }
            // A deleted folder takes unnamed files along, and no text is proof of what a command
            // leaves alone.
            ToolKind::Delete | ToolKind::Shell | ToolKind::Other => None,
        }
    }

    /// Returns true if this inode is a file that it names by another name.
    pub(crate) fn names_inode(&self, inode: u64) -> bool {
        self.is_edit() && self.call_targets.linked.contains(&inode)
    }

    /// Describes it for messages: its command, else its tool.
    pub(crate) fn describe(&self) -> &str {
        self.call_targets.intent.command.as_deref().unwrap_or(&self.call.tool)
    }

    /// The targets that its command is about to destroy, as written.
    pub(crate) fn destroyed_targets(&self) -> &[CommandTarget] {
        self.call_targets.effects.as_ref().map_or(&[], |effects| &effects.destroys)
    }

    /// The files that its command passes to programs which may edit them.
    pub(crate) fn editable_targets(&self) -> &[CommandTarget] {
        self.call_targets.effects.as_ref().map_or(&[], |effects| &effects.may_edit)
    }

    /// Returns true if its command destroys something that cannot be determined before it runs.
    pub(crate) fn destroys_unknown(&self) -> bool {
        self.call_targets.effects.as_ref().is_some_and(|effects| effects.destroys_unknown)
    }

    /// Resolves a target of its command.
    pub(crate) fn resolve_target(&self, root: &Path, target: &CommandTarget) -> Option<PathScope> {
        resolve_target(root, self.call_targets.cwd.as_deref(), target)
    }

    /// Returns true if a pattern may match through a symlink: then its text names nothing that is
    /// there.
    pub(crate) fn goes_through_link(&self, root: &Path, target: &CommandTarget) -> bool {
        let cwd = working_folder(root, self.call_targets.cwd.as_deref(), target.cwd.as_deref());
        let base = cwd.map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
        target.glob && may_lead_elsewhere(root, &base, target)
    }

    /// Returns true if it may delete something that is hidden now.
    pub(crate) fn may_destroy(&self) -> bool {
        !self.destroyed_targets().is_empty()
            || !self.editable_targets().is_empty()
            || !self.removed_paths().is_empty()
            || self.destroys_unknown()
    }

    /// The named paths that go away with everything in them, if they are folders.
    pub(crate) fn removed_paths(&self) -> &[ProjectPath] {
        let moves = self.call_targets.edits.iter().any(|edit| edit.to.is_some());
        match self.kind() {
            ToolKind::Delete | ToolKind::Other => &self.call_targets.named,
            _ if moves => &self.call_targets.named,
            _ => &[],
        }
    }

    /// Returns true if it is an edit of a host, between [`Project::begin_edit`] and its end.
    ///
    /// [`Project::begin_edit`]: crate::Project::begin_edit
    pub(crate) fn is_by_host(&self) -> bool {
        self.call.tool == HOST_EDIT_TOOL
    }

    /// Returns true if the arguments predict a path's new content.
    pub(crate) fn predicts_content(&self, path: &ProjectPath) -> bool {
        self.is_edit() && self.call_targets.edits.iter().any(|edit| edit.path == *path)
    }

    /// The content of a path that the arguments predict, if they do; `content` is `None` for a
    /// missing file.
    pub(crate) fn predicted_content(
        &self,
        path: &ProjectPath,
        content: Option<&[u8]>,
    ) -> Option<Vec<u8>> {
        let mut edits = self.call_targets.edits.iter().filter(|edit| edit.path == *path).peekable();
        edits.peek()?;
        let mut content =
            content.map_or(PathContent::Absent, |bytes| PathContent::Bytes(bytes.to_vec()));
        for edit in edits {
            content = content.apply_edit(&edit.edit);
        }
        match content {
            PathContent::Bytes(bytes) => Some(bytes),
            PathContent::Absent | PathContent::Unknown => None,
        }
    }

    /// Returns true if the arguments predict exactly this step of the path.
    ///
    /// `state_before` gives the state of any path before the step.
    pub(crate) fn predicts(
        &self,
        batch: &Batch<'_>,
        path: &ProjectPath,
        after: &PathState,
        state_before: &dyn Fn(&ProjectPath) -> PathState,
    ) -> Result<bool, StoreError> {
        let concerns = |edit: &&ResolvedEdit| edit.path == *path || edit.to.as_ref() == Some(path);
        let edits: Vec<_> = self.call_targets.edits.iter().filter(concerns).collect();
        if edits.is_empty() {
            return Ok(false);
        }
        let mut content = PathContent::of(batch, &state_before(path))?;
        for edit in edits {
            content = if edit.to.as_ref() == Some(path) {
                match PathContent::of(batch, &state_before(&edit.path))? {
                    PathContent::Bytes(source) => tool::predict_moved(&edit.edit, &source)
                        .map_or(PathContent::Unknown, PathContent::Bytes),
                    PathContent::Absent | PathContent::Unknown => PathContent::Unknown,
                }
            } else {
                content.apply_edit(&edit.edit)
            };
        }
        content.matches(batch, after)
    }
}
