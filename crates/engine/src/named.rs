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

use crate::place::{Ground, Place, link_target, readings};
use crate::tool::{Intent, ToolKind};

/// A call that names more paths than this counts as one that may change anything.
const MAX_PATHS: usize = 1_000;

/// What a tool's arguments name.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The files in the project.
    pub(crate) paths: Vec<ProjectPath>,
    /// The paths outside of the project, as they are written.
    pub(crate) outside: Vec<String>,
    /// A path that only the tool can resolve, or one that stands for more than a file.
    pub(crate) is_unresolved: bool,
}

/// Places the paths of a call that runs in a folder.
pub(crate) fn of(ground: Ground<'_>, cwd: Option<&str>, intent: &Intent) -> Named {
    // Very many names cost more to look up than everything costs to look at.
    let is_unresolved = intent.paths.len() > MAX_PATHS;
    let mut named = Named { is_unresolved, ..Named::default() };
    for text in intent.paths.iter().take(MAX_PATHS) {
        match ground.plain(text).map(Cow::into_owned) {
            Some(text) => named.add(ground.root, cwd, &text, intent.kind),
            None => named.is_unresolved = true,
        }
    }
    named.paths.sort();
    named.paths.dedup();
    named
}

/// Whether a path may be one of another folder or machine: a server has its own.
pub(crate) fn is_elsewhere(ground: Ground<'_>, intent: &Intent) -> bool {
    let is_here = |text: &String| {
        let plain = ground.plain(text);
        plain.is_some_and(|text| Path::new(&*text).starts_with(ground.root))
    };
    !intent.paths.iter().all(is_here)
}

impl Named {
    fn add(&mut self, root: &Path, cwd: Option<&str>, text: &str, kind: ToolKind) {
        let places = readings(root, cwd, text);
        let is_inside = |place: &Place| matches!(place, Place::Inside(_));
        if !places.iter().any(is_inside) {
            self.is_unresolved |= places.contains(&Place::Root);
            self.outside.push(text.to_owned());
        }
        for place in places {
            let Place::Inside(path) = place else { continue };
            if is_version_control(&path) {
                self.outside.push(text.to_owned());
                continue;
            }
            let file = root.join(OsStr::from_bytes(path.as_bytes()));
            // What happens to a folder happens to what is in it, and through a link to what is in
            // another one.
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
