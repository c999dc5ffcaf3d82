//! Detects patterns in a command that lead through a symlink into the project.
//!
//! The text of such a pattern names nothing that is there: it matches where the symlink points.
//! Symlinks that lead out of the project do not count.

use std::path::{Path, PathBuf};

use crate::shell::{CommandTarget, TargetEffect, name_matches};

/// Maximum names that are examined; beyond this a symlink is assumed to be among them.
const MAX_NAMES_EXAMINED: usize = 4_096;

/// Returns true if the pattern of `target`, in the folder `base`, may match through a symlink. A
/// missing folder may be one in another folder, if the command's own was misread.
pub(crate) fn may_lead_elsewhere(root: &Path, base: &Path, target: &CommandTarget) -> bool {
    let text = target.path.as_str();
    if text.starts_with('~') {
        return true;
    }
    let parts: Vec<_> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let literal = parts.iter().take_while(|part| !is_pattern(part)).count();
    let (folders, names) = parts.split_at(literal);
    let mut folder = if text.starts_with('/') { PathBuf::from("/") } else { base.to_owned() };
    for part in folders {
        folder.push(part);
        if points_into_project(root, &folder) {
            return true;
        }
    }
    if !folder.is_dir() {
        return !text.starts_with('/') || folder.starts_with(root);
    }
    let writes = matches!(target.what, TargetEffect::Write | TargetEffect::Append);
    let follows_last = writes || text.ends_with('/');
    SymlinkSearch { root, follows_last, names_left: MAX_NAMES_EXAMINED }.finds_link(&folder, names)
}

fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '[', ']', '\\'])
}

/// Returns true if this is a symlink to the project, to something in it or to a folder above it.
fn points_into_project(root: &Path, path: &Path) -> bool {
    let is_near = |real: PathBuf| real.starts_with(root) || root.starts_with(real);
    path.is_symlink() && path.canonicalize().is_ok_and(is_near)
}

struct SymlinkSearch<'a> {
    root: &'a Path,
    /// Set if a symlink that the last name matches is followed, too.
    follows_last: bool,
    names_left: usize,
}

impl SymlinkSearch<'_> {
    /// Returns true if a symlink matches on the way; `parts` is the rest of the pattern.
    fn finds_link(&mut self, folder: &Path, parts: &[&str]) -> bool {
        let Some((part, rest)) = parts.split_first() else { return false };
        if !is_pattern(part) {
            return self.matches_through(&folder.join(part), rest);
        }
        let goes_deeper = part.contains("**");
        if goes_deeper && self.finds_link(folder, rest) {
            return true;
        }
        let Ok(entries) = folder.read_dir() else { return false };
        for entry in entries.flatten() {
            if self.names_left == 0 {
                return true;
            }
            self.names_left -= 1;
            let path = entry.path();
            let matches = name_matches(part, &entry.file_name().to_string_lossy());
            let is_found = (matches && self.matches_through(&path, rest))
                || (goes_deeper && self.matches_through(&path, parts));
            if is_found {
                return true;
            }
        }
        false
    }

    fn matches_through(&mut self, path: &Path, rest: &[&str]) -> bool {
        let counts = self.follows_last || !rest.is_empty();
        if path.is_symlink() {
            return counts && points_into_project(self.root, path);
        }
        !rest.is_empty() && path.is_dir() && self.finds_link(path, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_match_through_links_are_found() {
        let temp = tempfile::tempdir().unwrap();
        let parent = temp.path().canonicalize().unwrap();
        let root = parent.join("project");
        for folder in ["sub/deep", "build", "docs"] {
            std::fs::DirBuilder::new().recursive(true).create(root.join(folder)).unwrap();
        }
        for (link, to) in [
            ("project/dirlink", "sub"),
            ("project/outb", "build"),
            ("project/sub/deep/up", "../../build"),
            ("project/away", "/usr"),
            ("other", "project"),
        ] {
            std::os::unix::fs::symlink(to, parent.join(link)).unwrap();
        }
        let leads = |path: &str, what: TargetEffect| {
            let path = path.replace("$W", parent.to_str().unwrap());
            let target = CommandTarget { path, cwd: None, glob: true, recursive: false, what };
            may_lead_elsewhere(&root, &root, &target)
        };
        for path in [
            "outb/*",
            "dirlink/*.log",
            "./dirlink/deep/*",
            "o*/x.log",
            "o*/",
            "sub/*/up/x.log",
            "sub/deep/u?/*",
            "**/x.log",
            "missing/*",
            "$W/other/*.log",
            "$W/o*/x.log",
            "$W/p*/o*/x.log",
            "$W/project/missing/*",
            "../other/*",
        ] {
            assert!(leads(path, TargetEffect::Delete), "{path}");
        }
        for path in ["*", "build/*", "b*/x.log", "away/*", "$W/project/build/*", "/missing/*", "o*"]
        {
            assert!(!leads(path, TargetEffect::Delete), "{path}");
        }
        assert!(leads("o*", TargetEffect::Write), "what is written goes through the link itself");
    }
}
