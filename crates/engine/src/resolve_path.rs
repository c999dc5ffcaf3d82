//! Resolves a path that an agent wrote to a path in the project.
//!
//! Agents write paths absolute or relative to their working directory, through symlinked folders,
//! and in other spellings of the same place (`/tmp` and `/private/tmp`, PATH-5). Records know only
//! [`ProjectPath`]s (C-7).

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use retake_model::ProjectPath;

/// The folders that paths of agents are resolved against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathBase<'a> {
    /// The project's root.
    pub(crate) root: &'a Path,
    /// The person's home.
    pub(crate) home: Option<&'a Path>,
}

impl PathBase<'_> {
    /// A path in plain spelling: `~/…` and `file://…` are resolved. `None` if the text is a path of
    /// a kind that only its agent can resolve.
    pub(crate) fn expand<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        if let Some(rest) = text.strip_prefix('~') {
            let home = self.home?.to_str()?;
            return (rest.is_empty() || rest.starts_with('/'))
                .then(|| format!("{home}{rest}").into());
        }
        if let Some(url) = text.strip_prefix("file://") {
            let path = url.strip_prefix("localhost").unwrap_or(url);
            return path.starts_with('/').then(|| percent_decoded(path))?.map(Cow::from);
        }
        let is_url = text.split_once("://").is_some_and(|(scheme, _)| {
            scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        });
        let is_variable = text.starts_with(['$', '%']);
        let is_own = text.contains("/proc/") || text.starts_with("/dev/fd/");
        (!is_url && !is_variable && !is_own && !text.starts_with("file:")).then_some(text.into())
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).ok()
}

/// Resolution of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathResolution {
    /// In the project.
    Inside(ProjectPath),
    /// It is the project's root itself.
    Root,
    /// Somewhere else.
    Outside,
}

/// Resolves `text`, which is absolute or starts at `cwd` (the root if there is none).
pub(crate) fn resolve_path(root: &Path, cwd: Option<&str>, text: &str) -> PathResolution {
    if text.is_empty() || text.contains('\0') {
        return PathResolution::Outside;
    }
    let base = match cwd {
        Some(cwd) => root.join(cwd), // an absolute cwd replaces the root
        None => root.to_owned(),
    };
    let joined = base.join(text);
    // The system goes up from where a symlink leads.
    let goes_up = joined.components().any(|part| part == Component::ParentDir);
    if goes_up
        && let (Some(folder), Some(name)) = (joined.parent(), joined.file_name())
        && let Ok(real) = folder.canonicalize()
        && let PathResolution::Inside(path) = resolve_by_text(root, &real.join(name))
    {
        return PathResolution::Inside(path);
    }
    let lexical = normalise(&joined);
    let placed = resolve_by_text(root, &resolve_parent_links(&lexical));
    if placed == PathResolution::Outside { resolve_by_text(root, &lexical) } else { placed }
}

/// Every path that a tool may mean by a text: resolved by text, as programs do that know nothing of
/// symlinks, and with symlinks followed, the last one included.
pub(crate) fn possible_resolutions(
    root: &Path,
    cwd: Option<&str>,
    text: &str,
) -> Vec<PathResolution> {
    let mut places = vec![resolve_path(root, cwd, text)];
    if text.is_empty() || text.contains('\0') {
        return places;
    }
    let joined = cwd.map_or_else(|| root.to_owned(), |cwd| root.join(cwd)).join(text);
    let lexical = normalise(&joined);
    let followed = [joined.canonicalize().ok(), lexical.canonicalize().ok()];
    let all = [Some(resolve_parent_links(&lexical)), Some(lexical)].into_iter().chain(followed);
    for path in all.flatten() {
        let place = resolve_by_text(root, &path);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// If the last component is a symlink to a path in the project, that path: tools write through it.
pub(crate) fn link_target(root: &Path, path: &ProjectPath) -> Option<ProjectPath> {
    let absolute = root.join(std::ffi::OsStr::from_bytes(path.as_bytes()));
    if !absolute.is_symlink() {
        return None;
    }
    match resolve_by_text(root, &absolute.canonicalize().ok()?) {
        PathResolution::Inside(target) => Some(target),
        PathResolution::Root | PathResolution::Outside => None,
    }
}

/// Resolves an absolute path by its text.
pub(crate) fn resolve_by_text(root: &Path, path: &Path) -> PathResolution {
    let Ok(rest) = path.strip_prefix(root) else {
        return PathResolution::Outside;
    };
    if rest.as_os_str().is_empty() {
        return PathResolution::Root;
    }
    ProjectPath::new(rest.as_os_str().as_bytes())
        .map_or(PathResolution::Outside, PathResolution::Inside)
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

/// Resolves symlinks in the folders of a path, as far as they exist, but not its last component.
pub(crate) fn resolve_parent_links(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    match folder.canonicalize() {
        Ok(real) => real.join(name),
        Err(_) => resolve_parent_links(folder).join(name),
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
        let inside = PathResolution::Inside("src/new/a.rs".parse().unwrap());
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
            assert_eq!(resolve_path(&root, cwd, text), inside, "{cwd:?} {text}");
        }
        assert_eq!(resolve_path(&root, None, "."), PathResolution::Root);
        let sibling = format!("{}-2/a", root.display());
        for outside in ["/etc/passwd", "../x", "a\0b", "", &sibling] {
            assert_eq!(resolve_path(&root, None, outside), PathResolution::Outside, "{outside:?}");
        }
    }
}
