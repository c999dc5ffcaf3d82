//! Diffs in git's patch format.
//!
//! A diff is a list of [`PatchLine`]s; the caller decides how names and contents are escaped.
//! [`render_patch`] writes every byte as `git apply` needs it. What git's format cannot say is a line that
//! `git apply` either skips (permissions that git does not know) or stumbles over (content that is
//! not there), never one that it applies wrongly.

use retake_engine::model::foreign_text::git_name;
use retake_engine::model::{FileKind, FileState, PathState};
use retake_engine::{DiffBody, DiffLine, FileDiff, Project, StoreError};

use crate::documents::octal;

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchLine<'a> {
    /// About the file: its names, modes, and that it was renamed.
    Head(String),
    /// The ids of both contents, which programs use and people do not.
    Ids(String),
    /// That there are no lines.
    NoLines(String),
    /// Why there are none; git skips it.
    Reason(String),
    /// The head of a hunk.
    HunkHead(String),
    /// A line of the file.
    Line {
        /// Its number among the lines of the body, from 0.
        at: usize,
        /// Which side has it: `+`, `-` or a space.
        sign: char,
        /// Its bytes, without the newline.
        text: &'a [u8],
    },
    /// That the line above has no newline.
    NoNewline,
}

/// git's marker after a last line without a newline.
pub const NO_NEWLINE: &str = "\\ No newline at end of file";

/// Formats a path with its prefix (`a/`, `b/`).
pub type FormatPath = fn(&str, &[u8]) -> String;

/// The difference as git has it: a file that becomes a link is one file deleted and another made.
pub fn split_for_git(project: &Project, diff: &FileDiff) -> Result<Vec<FileDiff>, StoreError> {
    match (diff.before.known(), diff.after.known()) {
        (Some(before), Some(after)) if before.kind != after.kind => {
            let (old, new) = (diff.old_path.clone(), diff.path.clone());
            let gone = project.diff_sides(old.clone(), old, diff.before, PathState::Absent)?;
            let made = project.diff_sides(new.clone(), new, PathState::Absent, diff.after)?;
            Ok(vec![gone, made])
        }
        _ => Ok(vec![diff.clone()]),
    }
}

/// The difference as `git apply` reads it.
pub fn render_patch(diff: &FileDiff) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in patch_lines(diff, git_name) {
        match part {
            PatchLine::Head(text)
            | PatchLine::Ids(text)
            | PatchLine::NoLines(text)
            | PatchLine::Reason(text)
            | PatchLine::HunkHead(text) => bytes.extend(text.bytes()),
            PatchLine::Line { sign, text, .. } => {
                bytes.extend(sign.to_string().bytes());
                bytes.extend(text);
            }
            PatchLine::NoNewline => bytes.extend(NO_NEWLINE.bytes()),
        }
        bytes.push(b'\n');
    }
    bytes
}

/// The lines as standard parsers read them: two header lines and the hunks (STAT-7).
pub fn render_unified(path: &[u8], lines: &[DiffLine]) -> String {
    let mut text = Vec::new();
    for (sign, prefix) in [("---", "a/"), ("+++", "b/")] {
        text.extend(format!("{sign} {}\n", git_name(prefix, path)).bytes());
    }
    for part in body_lines(lines) {
        match part {
            PatchLine::Line { sign, text: line, .. } => {
                text.extend(sign.to_string().bytes());
                text.extend(line);
            }
            PatchLine::HunkHead(place) => text.extend(place.bytes()),
            _ => text.extend(NO_NEWLINE.bytes()),
        }
        text.push(b'\n');
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns whether it is about symlinks, whose targets are not source text.
pub fn is_of_links(diff: &FileDiff) -> bool {
    let is_link = |side: &PathState| side.known().is_some_and(|state| state.kind == FileKind::Link);
    is_link(&diff.before) || is_link(&diff.after)
}

/// Returns the first line that differs, as lines are numbered on the new side; none if none does.
pub fn first_changed_line(lines: &[DiffLine]) -> Option<u32> {
    let mut next = 1;
    for line in lines {
        match line {
            DiffLine::Header(place) => next = place.new.start + 1,
            DiffLine::Context(_) => next += 1,
            DiffLine::Added(_) | DiffLine::Removed(_) => return Some(next),
            DiffLine::NoNewline => {}
        }
    }
    None
}

/// Lines added and removed.
pub fn count_lines(lines: &[DiffLine]) -> (u64, u64) {
    lines.iter().fold((0, 0), |(added, removed), line| match line {
        DiffLine::Added(_) => (added + 1, removed),
        DiffLine::Removed(_) => (added, removed + 1),
        _ => (added, removed),
    })
}

/// Returns true for a difference in permissions alone that git does not know.
pub fn is_nothing_to_git(diff: &FileDiff) -> bool {
    let sides = diff.before.known().zip(diff.after.known());
    diff.old_path == diff.path
        && sides.is_some_and(|(before, after)| before.oid == after.oid)
        && is_same_git_mode(&diff.before, &diff.after)
}

/// Returns true if git knows no difference between the permissions of two states of a file.
pub fn is_same_git_mode(before: &PathState, after: &PathState) -> bool {
    before.known().map(git_mode) == after.known().map(git_mode)
}

/// The difference of one file, line by line.
pub fn patch_lines(diff: &FileDiff, naming: FormatPath) -> Vec<PatchLine<'_>> {
    let old = naming("a/", diff.old_path.as_bytes());
    let new = naming("b/", diff.path.as_bytes());
    let renamed = diff.old_path != diff.path;
    let (before, after) = (diff.before.known(), diff.after.known());
    if let (Some(before), Some(after), true) = (before, after, is_nothing_to_git(diff)) {
        let name = naming("", diff.path.as_bytes());
        let (before, after) = (octal(before.mode), octal(after.mode));
        return vec![PatchLine::Head(format!("# {name}: permissions {before} → {after}"))];
    }
    let mut parts = vec![PatchLine::Head(format!("diff --git {old} {new}"))];
    let mut head = |text: String| parts.push(PatchLine::Head(text));
    match (before, after) {
        (None, Some(after)) if diff.before.is_absent() => {
            head(format!("new file mode {}", git_mode(after)));
        }
        (Some(before), None) if diff.after.is_absent() => {
            head(format!("deleted file mode {}", git_mode(before)));
        }
        (Some(before), Some(after)) if git_mode(before) != git_mode(after) => {
            head(format!("old mode {}", git_mode(before)));
            head(format!("new mode {}", git_mode(after)));
        }
        _ => {}
    }
    if renamed {
        head(format!("rename from {}", naming("", diff.old_path.as_bytes())));
        head(format!("rename to {}", naming("", diff.path.as_bytes())));
    }
    parts.extend(ids_line(diff));
    let old = if diff.before.is_absent() { "/dev/null".to_owned() } else { old };
    let new = if diff.after.is_absent() { "/dev/null".to_owned() } else { new };
    let why = match &diff.body {
        DiffBody::Lines(lines) => {
            if !lines.is_empty() {
                parts.push(PatchLine::Head(format!("--- {}", with_tab(old))));
                parts.push(PatchLine::Head(format!("+++ {}", with_tab(new))));
            }
            parts.extend(body_lines(lines));
            return parts;
        }
        DiffBody::Binary => None,
        DiffBody::TooLarge => Some("too large to show"),
        DiffBody::NotCaptured => Some("one side was not captured"),
    };
    // In just these words, or `git apply` would take the head for all there is.
    parts.push(PatchLine::NoLines(format!("Binary files {old} and {new} differ")));
    parts.extend(why.map(|why| PatchLine::Reason(format!("# {new}: {why}"))));
    parts
}

fn ids_line(diff: &FileDiff) -> Option<PatchLine<'_>> {
    let oid = |side: &PathState| match side {
        PathState::Known(state) => Some(state.oid.to_string()),
        PathState::Absent => Some("0".repeat(40)),
        PathState::Unknown => None,
    };
    let (before, after) = (oid(&diff.before)?, oid(&diff.after)?);
    (before != after).then(|| PatchLine::Ids(format!("index {before}..{after}")))
}

fn body_lines(lines: &[DiffLine]) -> impl Iterator<Item = PatchLine<'_>> {
    lines.iter().enumerate().map(|(at, line)| {
        let (sign, text) = match line {
            DiffLine::Header(place) => return PatchLine::HunkHead(place.to_string()),
            DiffLine::NoNewline => return PatchLine::NoNewline,
            DiffLine::Context(text) => (' ', text),
            DiffLine::Removed(text) => ('-', text),
            DiffLine::Added(text) => ('+', text),
        };
        PatchLine::Line { at, sign, text }
    })
}

/// git ends a name that holds a space with a tab, so that `patch` knows where it ends.
fn with_tab(name: String) -> String {
    if name.contains(' ') && !name.starts_with('"') { name + "\t" } else { name }
}

/// The modes that git knows.
fn git_mode(state: &FileState) -> &'static str {
    match state.kind {
        FileKind::Link => "120000",
        FileKind::File if state.mode & 0o100 != 0 => "100755",
        FileKind::File => "100644",
    }
}
