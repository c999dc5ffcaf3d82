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

use crate::place::{Ground, Place, link_target, place, readings};
use crate::tool::{Intent, ToolKind};

/// Maximum named paths that are resolved in every way. A call with more counts as one that may
/// change anything: then the first resolution of each path is enough.
const MAX_READ_IN_EVERY_WAY: usize = 1_000;

/// The paths that a tool's arguments name.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The files in the project.
    pub(crate) paths: Vec<ProjectPath>,
    /// The paths outside of the project, as they are written.
    pub(crate) outside: Vec<String>,
    /// Set if there is a path that only the tool can resolve, or one that stands for more than a
    /// file.
    pub(crate) is_unresolved: bool,
}

/// Resolves the paths of a call that runs in a folder.
pub(crate) fn of(ground: Ground<'_>, cwd: Option<&str>, intent: &Intent) -> Named {
    let are_many = intent.paths.len() > MAX_READ_IN_EVERY_WAY;
    let mut named = Named { is_unresolved: are_many, ..Named::default() };
    for text in &intent.paths {
        let Some(text) = ground.plain(text).map(Cow::into_owned) else {
            named.is_unresolved = true;
            continue;
        };
        let places = if are_many {
            vec![place(ground.root, cwd, &text)]
        } else {
            readings(ground.root, cwd, &text)
        };
        named.add(ground.root, places, &text, intent.kind);
    }
    named.paths.sort();
    named.paths.dedup();
    named
}

/// Returns true if a path may be one of another folder or machine: a server has its own.
pub(crate) fn is_elsewhere(ground: Ground<'_>, intent: &Intent) -> bool {
    let is_here = |text: &String| {
        let plain = ground.plain(text);
        plain.is_some_and(|text| Path::new(&*text).starts_with(ground.root))
    };
    !intent.paths.iter().all(is_here)
}

impl Named {
    fn add(&mut self, root: &Path, places: Vec<Place>, text: &str, kind: ToolKind) {
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
