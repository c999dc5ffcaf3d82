//! The files that a tool's arguments name.
//!
//! A tool resolves a path in its own way: by text or through links, from its own folder, on another
//! machine. Invariant: every place in the project that a path may mean is named, or the call counts
//! as one that may change anything.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use retake_model::ProjectPath;

use crate::resolve_path::{
    PathBase, PathResolution, link_target, possible_resolutions, resolve_path,
};
use crate::tool::{ToolIntent, ToolKind};

/// Maximum named paths that are resolved in every way. A call with more counts as one that may
/// change anything: then the first resolution of each path is enough.
const MAX_FULLY_RESOLVED_PATHS: usize = 1_000;

/// The paths that a tool's arguments name.
#[derive(Debug, Default)]
pub(crate) struct NamedPaths {
    /// The files in the project.
    pub(crate) paths: Vec<ProjectPath>,
    /// The paths outside of the project, as they are written.
    pub(crate) outside: Vec<String>,
    /// Set if there is a path that only the tool can resolve, or one that stands for more than a
    /// file.
    pub(crate) is_unresolved: bool,
}

/// Resolves the paths of a call that runs in a folder.
pub(crate) fn resolve_named_paths(
    path_base: PathBase<'_>,
    cwd: Option<&str>,
    intent: &ToolIntent,
) -> NamedPaths {
    let are_many = intent.paths.len() > MAX_FULLY_RESOLVED_PATHS;
    let mut named = NamedPaths { is_unresolved: are_many, ..NamedPaths::default() };
    for text in &intent.paths {
        let Some(text) = path_base.expand(text).map(Cow::into_owned) else {
            named.is_unresolved = true;
            continue;
        };
        let places = if are_many {
            vec![resolve_path(path_base.root, cwd, &text)]
        } else {
            possible_resolutions(path_base.root, cwd, &text)
        };
        named.add(path_base.root, places, &text, intent.kind);
    }
    named.paths.sort();
    named.paths.dedup();
    named
}

/// Returns true if a path may be one of another folder or machine: a server has its own.
pub(crate) fn may_be_elsewhere(path_base: PathBase<'_>, intent: &ToolIntent) -> bool {
    let is_here = |text: &String| {
        let plain = path_base.expand(text);
        plain.is_some_and(|text| Path::new(&*text).starts_with(path_base.root))
    };
    !intent.paths.iter().all(is_here)
}

impl NamedPaths {
    fn add(&mut self, root: &Path, places: Vec<PathResolution>, text: &str, kind: ToolKind) {
        let is_inside = |place: &PathResolution| matches!(place, PathResolution::Inside(_));
        if !places.iter().any(is_inside) {
            self.is_unresolved |= places.contains(&PathResolution::Root);
            self.outside.push(text.to_owned());
        }
        for place in places {
            let PathResolution::Inside(path) = place else { continue };
            if is_version_control(&path) {
                self.outside.push(text.to_owned());
                continue;
            }
            let file = root.join(OsStr::from_bytes(path.as_bytes()));
            // A change of a folder affects its contents, and through a symlink those of another
            // one.
            self.is_unresolved |= file.is_dir() && (kind != ToolKind::Delete || file.is_symlink());
            self.paths.extend(link_target(root, &path));
            self.paths.push(path);
        }
    }
}

/// Version control's own data is not recorded, in whatever case a file system may find it.
fn is_version_control(path: &ProjectPath) -> bool {
    let names: [&[u8]; 3] = [b".git", b".hg", b".svn"];
    path.components().any(|name| names.iter().any(|own| name.eq_ignore_ascii_case(own)))
}
