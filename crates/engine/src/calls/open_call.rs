//! Calls that can still change files, and the paths that each of them could change.
//!
//! Edit tools own only the paths that they name; shell commands and unknown tools may change the
//! whole project. A shell command of one of the few understood shapes owns just its targets, but it
//! is preceded and followed by a full scan as well: its text never narrows that.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use retake_model::{Change, PathState, ProjectPath};
use retake_store::{BackgroundActivity, Batch, Call, CallState, StoreError, hash_blob};
use serde_json::Value;

use crate::calls::glob_links::may_lead_elsewhere;
use crate::calls::named_paths::NamedPaths;
use crate::calls::{literal_command, named_paths};
use crate::resolve_path::{PathBase, PathResolution, link_target, resolve_path};
use crate::shell::{CommandEffects, CommandTarget, TargetEffect};
use crate::tool::{EditKind, FilePart, FileReading, PredictedFile, ToolIntent, ToolKind};
use crate::{shell, tool};

/// Maximum bytes of content that is predicted: tools do not carry more in their arguments.
const MAX_PREDICTED_BYTES: u64 = 8 * 1024 * 1024;

/// The tool name under which an edit of a host is recorded.
pub(crate) const HOST_EDIT_TOOL: &str = "edit_files";

/// Files that an event shows, each with the part that is shown.
pub(crate) type ShownFiles = Vec<(ProjectPath, FilePart)>;

/// A call with its parsed arguments.
#[derive(Debug)]
pub(crate) struct LiveCall {
    pub(crate) call: Call,
    pub(crate) call_targets: Arc<CallTargets>,
    /// Set if the arguments were parsed for an earlier event: symlinks may lead elsewhere since.
    pub(crate) is_cached: bool,
}

/// The parsed arguments of a call, resolved to paths of the project.
#[derive(Debug)]
pub(crate) struct CallTargets {
    pub(crate) intent: ToolIntent,
    /// The folder that its relative paths start at.
    cwd: Option<String>,
    /// The files that it names, in the project.
    pub(crate) named: Vec<ProjectPath>,
    /// Inodes of those of them that are hard links: their other names change along.
    linked: Vec<u64>,
    /// The files whose content its agent gets to see.
    pub(crate) reads: ShownFiles,
    /// The paths that it names outside of the project.
    pub(crate) outside: Vec<String>,
    edits: Vec<ResolvedEdit>,
    effects: Option<CommandEffects>,
    targets: Vec<PathScope>,
    /// Set if its command can change nothing but the targets.
    is_understood: bool,
    /// Set if it names a path that only its agent can resolve, or the whole project.
    is_unresolved: bool,
}

#[derive(Debug)]
struct ResolvedEdit {
    path: ProjectPath,
    edit: EditKind,
    to: Option<ProjectPath>,
}

/// A part of the project: a path, or everything at and beneath it; `None` is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathScope {
    pub(crate) path: Option<ProjectPath>,
    pub(crate) beneath: bool,
}

impl PathScope {
    pub(crate) fn covers(&self, path: &ProjectPath) -> bool {
        match &self.path {
            None => self.beneath,
            Some(reach) if self.beneath => path.is_beneath(reach),
            Some(reach) => path == reach,
        }
    }
}

impl CallTargets {
    /// Parses a call's arguments.
    pub(crate) fn new(ground: PathBase<'_>, call: &Call, input: &Value) -> Self {
        Self::from_arguments(ground, &call.tool, call.cwd.as_deref(), input)
    }

    /// Parses the arguments of a tool that is called in a folder.
    pub(crate) fn from_arguments(
        ground: PathBase<'_>,
        tool: &str,
        call_cwd: Option<&str>,
        input: &Value,
    ) -> Self {
        let root = ground.root;
        let intent = tool::intent(tool, input);
        let asked = intent.cwd.as_deref().map(|cwd| ground.expand(cwd));
        let is_placed = !matches!(asked, Some(None));
        let cwd = cwd(root, call_cwd, asked.flatten().as_deref());
        let NamedPaths { paths: named, outside, mut is_unresolved } =
            named_paths::resolve_named_paths(ground, cwd.as_deref(), &intent);
        is_unresolved |=
            tool::is_from_server(tool) && named_paths::may_be_elsewhere(ground, &intent);
        let linked = named.iter().filter_map(|path| linked_inode(root, path)).collect();
        let edits = resolve_edits(ground, cwd.as_deref(), &intent);
        let home = ground.home.and_then(Path::to_str);
        let says_home = |effects: &CommandEffects| {
            let mut texts = effects
                .targets
                .iter()
                .flat_map(|target| [Some(&target.path), target.cwd.as_ref()].into_iter().flatten());
            texts.any(|text| text.starts_with('~'))
        };
        let effects = intent.command.as_deref().map(shell::effects);
        // It is no longer known whether a `~` was quoted.
        let is_placed = is_placed && !effects.as_ref().is_some_and(says_home);
        let effects = effects.map(|effects| match home {
            Some(home) => effects.with_home(home),
            None => effects,
        });
        let mut targets = Vec::new();
        for target in effects.iter().flat_map(|effects| &effects.targets) {
            let Some(reach) = resolve_target(root, cwd.as_deref(), target) else { continue };
            let through = reach.path.as_ref().and_then(|path| link_target(root, path));
            targets.extend(through.map(|path| PathScope { path: Some(path), ..reach.clone() }));
            targets.push(reach);
        }
        let shown = effects.iter().flat_map(|effects| &effects.reads).chain(&intent.reads);
        let reads = shown.filter_map(|reading| resolve_read(ground, cwd.as_deref(), reading));
        let reads = reads.collect();
        let is_understood = is_placed
            && !tool::is_from_server(tool)
            && effects
                .as_ref()
                .is_some_and(|effects| literal_command::is_literal(root, cwd.as_deref(), effects));
        Self {
            intent,
            cwd,
            named,
            linked,
            reads,
            outside,
            edits,
            effects,
            targets,
            is_understood,
            is_unresolved,
        }
    }

    /// Kind of a call with these arguments.
    ///
    /// An edit tool whose paths cannot be parsed counts as an unknown tool.
    fn kind(&self) -> ToolKind {
        match self.intent.kind {
            ToolKind::Write | ToolKind::Edit | ToolKind::Delete
                if self.intent.paths.is_empty() || self.is_unresolved =>
            {
                ToolKind::Other
            }
            kind => kind,
        }
    }

    /// Returns true if the call names or targets anything in the project.
    pub(crate) fn reaches_anything(&self) -> bool {
        !self.named.is_empty() || !self.targets.is_empty()
    }

    /// Returns true if the call may change paths that it does not name.
    pub(crate) fn may_be_anywhere(&self) -> bool {
        match self.kind() {
            ToolKind::Other => true,
            ToolKind::Shell => !self.is_understood,
            ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Delete => false,
        }
    }
}

impl LiveCall {
    /// A call whose arguments are not parsed yet.
    pub(crate) fn new(ground: PathBase<'_>, call: Call) -> Self {
        let input = call.input.unpack();
        Self::with_input(ground, call, &input)
    }

    /// A call with these arguments, just parsed.
    pub(crate) fn with_input(ground: PathBase<'_>, call: Call, input: &Value) -> Self {
        let call_targets = Arc::new(CallTargets::new(ground, &call, input));
        Self { call, call_targets, is_cached: false }
    }

    /// Resolves its targets again if they come from the cache.
    pub(crate) fn refresh_targets(&mut self, ground: PathBase<'_>) {
        if self.is_cached {
            self.call_targets =
                Arc::new(CallTargets::new(ground, &self.call, &self.call.input.unpack()));
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
        let cwd = cwd(root, self.call_targets.cwd.as_deref(), target.cwd.as_deref());
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

    fn apply_edit(self, edit: &EditKind) -> Self {
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

    fn matches(&self, batch: &Batch<'_>, side: &PathState) -> Result<bool, StoreError> {
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

/// The inode of a file that has other names.
fn linked_inode(root: &Path, path: &ProjectPath) -> Option<u64> {
    let data = root.join(OsStr::from_bytes(path.as_bytes())).symlink_metadata().ok()?;
    (data.is_file() && data.nlink() > 1).then(|| data.ino())
}

/// The folder that relative paths of the call start at.
fn cwd(root: &Path, event: Option<&str>, argument: Option<&str>) -> Option<String> {
    match (event, argument) {
        (event, None) => event.map(ToOwned::to_owned),
        (event, Some(argument)) => {
            let base = event.map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
            Some(base.join(argument).to_string_lossy().into_owned())
        }
    }
}

fn resolve_edits(
    ground: PathBase<'_>,
    cwd: Option<&str>,
    intent: &ToolIntent,
) -> Vec<ResolvedEdit> {
    let root = ground.root;
    let inside = |text: &str| match resolve_path(root, cwd, &ground.expand(text)?) {
        PathResolution::Inside(path) => Some(link_target(root, &path).unwrap_or(path)),
        PathResolution::Root | PathResolution::Outside => None,
    };
    let placed = |edit: &tool::FileEdit| {
        let to = match &edit.edit {
            EditKind::MoveTo { to, .. } => inside(to),
            _ => None,
        };
        Some(ResolvedEdit { path: inside(&edit.path)?, edit: edit.edit.clone(), to })
    };
    intent.edits.iter().filter_map(placed).collect()
}

fn resolve_read(
    ground: PathBase<'_>,
    cwd: Option<&str>,
    reading: &FileReading,
) -> Option<(ProjectPath, FilePart)> {
    let root = ground.root;
    let cwd = self::cwd(root, cwd, reading.cwd.as_deref());
    match resolve_path(root, cwd.as_deref(), &ground.expand(&reading.path)?) {
        PathResolution::Inside(path) => {
            Some((link_target(root, &path).unwrap_or(path), reading.part))
        }
        PathResolution::Root | PathResolution::Outside => None,
    }
}

/// A glob reaches everything beneath the folder of its first special character:
/// more than it matches, never less.
fn resolve_target(root: &Path, cwd: Option<&str>, target: &CommandTarget) -> Option<PathScope> {
    if target.path.starts_with('~') {
        return None;
    }
    let cwd = self::cwd(root, cwd, target.cwd.as_deref());
    let text = if target.glob { literal_folder(&target.path) } else { &target.path };
    // git's commands on a whole tree do not stop at the folder that they run in.
    if target.what == TargetEffect::CheckoutTree {
        return Some(PathScope { path: None, beneath: true });
    }
    let beneath = target.glob || target.recursive;
    match resolve_path(root, cwd.as_deref(), text) {
        PathResolution::Inside(path) => Some(PathScope { path: Some(path), beneath }),
        PathResolution::Root => Some(PathScope { path: None, beneath }),
        // A folder above the project reaches all of it.
        PathResolution::Outside => is_above(root, cwd.as_deref(), text)
            .then_some(PathScope { path: None, beneath: true })
            .filter(|_| beneath),
    }
}

fn literal_folder(pattern: &str) -> &str {
    let special = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(0) => "/",
        Some(slash) => &pattern[..slash],
        None => ".",
    }
}

fn is_above(root: &Path, cwd: Option<&str>, text: &str) -> bool {
    let base = cwd.map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
    base.join(text).canonicalize().is_ok_and(|folder| root.starts_with(folder))
}
