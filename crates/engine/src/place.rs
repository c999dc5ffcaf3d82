//! Where a path that an agent wrote down lies in the project.
//!
//! Agents write paths absolute or relative to their working directory, through
//! symlinked folders, and in other spellings of the same place (`/tmp` and
//! `/private/tmp`, PATH-5). Records know only [`ProjectPath`]s (C-7).

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use retake_model::ProjectPath;

/// Where a path lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the project.
    Inside(ProjectPath),
    /// It is the project's root itself.
    Root,
    /// Somewhere else.
    Outside,
}

/// Places `text`, which is absolute or starts at `cwd` (the root if there is none).
pub(crate) fn place(root: &Path, cwd: Option<&str>, text: &str) -> Place {
    if text.is_empty() || text.contains('\0') {
        return Place::Outside;
    }
    let base = match cwd {
        Some(cwd) => root.join(cwd), // an absolute cwd replaces the root
        None => root.to_owned(),
    };
    let lexical = normalise(&base.join(text));
    let placed = beneath(root, &real_folder(&lexical));
    if placed == Place::Outside { beneath(root, &lexical) } else { placed }
}

/// If the last component is a link to a place in the project, that place: tools write through it.
pub(crate) fn link_target(root: &Path, path: &ProjectPath) -> Option<ProjectPath> {
    let absolute = root.join(std::ffi::OsStr::from_bytes(path.as_bytes()));
    if !absolute.is_symlink() {
        return None;
    }
    match beneath(root, &absolute.canonicalize().ok()?) {
        Place::Inside(target) => Some(target),
        Place::Root | Place::Outside => None,
    }
}

fn beneath(root: &Path, path: &Path) -> Place {
    let Ok(rest) = path.strip_prefix(root) else {
        return Place::Outside;
    };
    if rest.as_os_str().is_empty() {
        return Place::Root;
    }
    ProjectPath::new(rest.as_os_str().as_bytes()).map_or(Place::Outside, Place::Inside)
}

/// Resolves `.` and `..` by text, as a shell's `cd` does.
fn normalise(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Resolves links in the folders of a path, as far as they exist, but not its last component.
pub(crate) fn real_folder(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    match folder.canonicalize() {
        Ok(real) => real.join(name),
        Err(_) => real_folder(folder).join(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_place_is_the_same_place() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        std::fs::DirBuilder::new().recursive(true).create(root.join("src")).unwrap();
        std::os::unix::fs::symlink(&root, temp.path().join("alias")).unwrap();
        std::os::unix::fs::symlink("src", root.join("lib")).unwrap();
        let alias = temp.path().join("alias");
        let inside = Place::Inside("src/new/a.rs".parse().unwrap());
        for (cwd, text) in [
            (None, "src/new/a.rs"),
            (None, "./src/../src/new/a.rs"),
            (Some("src"), "new/a.rs"),
            (Some(root.join("src").to_str().unwrap()), "../src/new/a.rs"),
            (None, root.join("src/new/a.rs").to_str().unwrap()),
            (None, alias.join("src/new/a.rs").to_str().unwrap()),
            (Some(alias.to_str().unwrap()), "src/new/a.rs"),
            (None, "lib/new/a.rs"),
        ] {
            assert_eq!(place(&root, cwd, text), inside, "{cwd:?} {text}");
        }
        assert_eq!(place(&root, None, "."), Place::Root);
        let sibling = format!("{}-2/a", root.display());
        for outside in ["/etc/passwd", "../x", "a\0b", "", &sibling] {
            assert_eq!(place(&root, None, outside), Place::Outside, "{outside:?}");
        }
    }
}
