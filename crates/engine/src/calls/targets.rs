//! The targets of a call: its parsed arguments, resolved to paths of the project.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use retake_model::ProjectPath;
use retake_store::Call;
use serde_json::Value;

use crate::calls::named_paths::NamedPaths;
use crate::calls::{literal_command, named_paths};
use crate::resolve_path::{PathBase, PathResolution, link_target, resolve_path};
use crate::shell::{CommandEffects, CommandTarget, TargetEffect};
use crate::tool::{EditKind, FilePart, FileReading, ToolIntent, ToolKind};
use crate::{shell, tool};

/// Files that an event shows, each with the part that is shown.
pub(crate) type ShownFiles = Vec<(ProjectPath, FilePart)>;

/// The parsed arguments of a call, resolved to paths of the project.
#[derive(Debug)]
pub(crate) struct CallTargets {
    pub(crate) intent: ToolIntent,
    /// The folder that its relative paths start at.
    pub(super) cwd: Option<String>,
    /// The files that it names, in the project.
    pub(crate) named: Vec<ProjectPath>,
    /// Inodes of those of them that are hard links: their other names change along.
    pub(super) linked: Vec<u64>,
    /// The files whose content its agent gets to see.
    pub(crate) reads: ShownFiles,
    /// The paths that it names outside of the project.
    pub(crate) outside: Vec<String>,
    pub(super) edits: Vec<ResolvedEdit>,
    pub(super) effects: Option<CommandEffects>,
    pub(super) targets: Vec<PathScope>,
    /// Set if its command can change nothing but the targets.
    pub(super) is_understood: bool,
    /// Set if it names a path that only its agent can resolve, or the whole project.
    is_unresolved: bool,
}

#[derive(Debug)]
pub(super) struct ResolvedEdit {
    pub(super) path: ProjectPath,
    pub(super) edit: EditKind,
    pub(super) to: Option<ProjectPath>,
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
    pub(crate) fn new(path_base: PathBase<'_>, call: &Call, input: &Value) -> Self {
        Self::from_arguments(path_base, &call.tool, call.cwd.as_deref(), input)
    }

    /// Parses the arguments of a tool that is called in a folder.
    pub(crate) fn from_arguments(
        path_base: PathBase<'_>,
        tool: &str,
        call_cwd: Option<&str>,
        input: &Value,
    ) -> Self {
        let root = path_base.root;
        let intent = tool::intent(tool, input);
        let asked = intent.cwd.as_deref().map(|cwd| path_base.expand(cwd));
        let is_placed = !matches!(asked, Some(None));
        let cwd = working_folder(root, call_cwd, asked.flatten().as_deref());
        let NamedPaths { paths: named, outside, mut is_unresolved } =
            named_paths::resolve_named_paths(path_base, cwd.as_deref(), &intent);
        is_unresolved |=
            tool::is_from_server(tool) && named_paths::may_be_elsewhere(path_base, &intent);
        let linked = named.iter().filter_map(|path| linked_inode(root, path)).collect();
        let edits = resolve_edits(path_base, cwd.as_deref(), &intent);
        let home = path_base.home.and_then(Path::to_str);
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
        let reads = shown.filter_map(|reading| resolve_read(path_base, cwd.as_deref(), reading));
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
    pub(super) fn kind(&self) -> ToolKind {
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
    pub(crate) fn targets_anything(&self) -> bool {
        !self.named.is_empty() || !self.targets.is_empty()
    }

    /// Returns true if the call may change paths that it does not name.
    pub(crate) fn may_change_unnamed_paths(&self) -> bool {
        match self.kind() {
            ToolKind::Other => true,
            ToolKind::Shell => !self.is_understood,
            ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Delete => false,
        }
    }
}

/// The inode of a file that has other names.
fn linked_inode(root: &Path, path: &ProjectPath) -> Option<u64> {
    let data = root.join(OsStr::from_bytes(path.as_bytes())).symlink_metadata().ok()?;
    (data.is_file() && data.nlink() > 1).then(|| data.ino())
}

/// The folder that relative paths of the call start at.
pub(super) fn working_folder(
    root: &Path,
    event: Option<&str>,
    argument: Option<&str>,
) -> Option<String> {
    match (event, argument) {
        (event, None) => event.map(ToOwned::to_owned),
        (event, Some(argument)) => {
            let base = event.map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
            Some(base.join(argument).to_string_lossy().into_owned())
        }
    }
}

fn resolve_edits(
    path_base: PathBase<'_>,
    cwd: Option<&str>,
    intent: &ToolIntent,
) -> Vec<ResolvedEdit> {
    let root = path_base.root;
    let inside = |text: &str| match resolve_path(root, cwd, &path_base.expand(text)?) {
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
    path_base: PathBase<'_>,
    cwd: Option<&str>,
    reading: &FileReading,
) -> Option<(ProjectPath, FilePart)> {
    let root = path_base.root;
    let cwd = working_folder(root, cwd, reading.cwd.as_deref());
    match resolve_path(root, cwd.as_deref(), &path_base.expand(&reading.path)?) {
        PathResolution::Inside(path) => {
            Some((link_target(root, &path).unwrap_or(path), reading.part))
        }
        PathResolution::Root | PathResolution::Outside => None,
    }
}

/// A glob reaches everything beneath the folder of its first special character:
/// more than it matches, never less.
pub(super) fn resolve_target(
    root: &Path,
    cwd: Option<&str>,
    target: &CommandTarget,
) -> Option<PathScope> {
    if target.path.starts_with('~') {
        return None;
    }
    let cwd = working_folder(root, cwd, target.cwd.as_deref());
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
        PathResolution::Outside => is_above_root(root, cwd.as_deref(), text)
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

fn is_above_root(root: &Path, cwd: Option<&str>, text: &str) -> bool {
    let base = cwd.map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
    base.join(text).canonicalize().is_ok_and(|folder| root.starts_with(folder))
}
