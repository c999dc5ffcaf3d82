//! Differences in git's format.
//!
//! Plain, every byte is as `git apply` needs it; readable, names and contents
//! are escaped and coloured for a terminal (see [`crate::paint`]). What git's format cannot say is a
//! line that `git apply` either skips (permissions that git does not know) or
//! stumbles over (content that is not there), never one that it applies wrongly.

use anyhow::Result;
use retake_engine::model::{FileKind, FileState, Side};
use retake_engine::{DiffBody, DiffLine, FileDiff, Project};

use crate::escape::escape_line;
use crate::json::octal;
use crate::output::Style;
use crate::paint::{self, Marks};
use crate::quote::git_name;
use crate::syntax::Reader;

/// How a diff is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Names and contents are escaped for people.
    pub(crate) readable: bool,
    /// There is colour.
    pub(crate) colour: bool,
}

impl Look {
    /// For `git apply` and other programs.
    pub(crate) const PLAIN: Self = Self { readable: false, colour: false };
}

/// Writes the differences of one command.
#[derive(Debug)]
pub(crate) struct Printer<'a> {
    project: &'a Project,
    look: Look,
    syntax: Reader,
}

impl<'a> Printer<'a> {
    /// A printer of diffs of this project.
    pub(crate) fn new(project: &'a Project, look: Look) -> Self {
        Self { project, look, syntax: Reader::default() }
    }

    /// The difference of one file, as bytes.
    pub(crate) fn file(&mut self, diff: &FileDiff) -> Result<Vec<u8>> {
        match (diff.before.known(), diff.after.known()) {
            // To git, a file that becomes a link is one file deleted and another one made.
            (Some(before), Some(after)) if before.kind != after.kind => {
                let (old, new) = (diff.old_path.clone(), diff.path.clone());
                let gone = self.project.diff_sides(old.clone(), old, diff.before, Side::Absent)?;
                let made = self.project.diff_sides(new.clone(), new, Side::Absent, diff.after)?;
                Ok([self.one(&gone), self.one(&made)].concat())
            }
            _ => Ok(self.one(diff)),
        }
    }

    fn one(&mut self, diff: &FileDiff) -> Vec<u8> {
        let marks = self.marks(diff);
        let mut out = Writer { bytes: Vec::new(), look: self.look, marks };
        out.file(diff);
        out.bytes
    }

    /// What is known of the words of each line; nothing if there is no colour to show it.
    fn marks(&mut self, diff: &FileDiff) -> Vec<Marks> {
        let DiffBody::Lines(lines) = &diff.body else { return Vec::new() };
        if !self.look.colour || !self.look.readable {
            return Vec::new();
        }
        let is_link = |side: &Side| side.known().is_some_and(|state| state.kind == FileKind::Link);
        let tokens = if is_link(&diff.before) || is_link(&diff.after) {
            None
        } else {
            // What a plan would merge is not in the store yet: then there is no syntax to colour.
            let after = self.project.content(&diff.after).ok().flatten();
            after.and_then(|after| self.syntax.tokens(diff.path.as_bytes(), &after, lines))
        };
        let tokens = tokens.unwrap_or_else(|| vec![Vec::new(); lines.len()]);
        let marks = paint::words(lines).into_iter().zip(tokens);
        marks.map(|(words, tokens)| Marks { words, tokens }).collect()
    }
}

struct Writer {
    bytes: Vec<u8>,
    look: Look,
    /// For each line of the body, if there is colour.
    marks: Vec<Marks>,
}

impl Writer {
    fn line(&mut self, text: &str, style: Style) {
        self.bytes.extend(style.paint(text, self.look.colour).bytes());
        self.bytes.push(b'\n');
    }

    fn name(&self, prefix: &str, name: &[u8]) -> String {
        git_name(prefix, name, self.look.readable)
    }

    fn file(&mut self, diff: &FileDiff) {
        let old = self.name("a/", diff.old_path.as_bytes());
        let new = self.name("b/", diff.path.as_bytes());
        let renamed = diff.old_path != diff.path;
        let (before, after) = (diff.before.known(), diff.after.known());
        if let (Some(before), Some(after), false) = (before, after, renamed)
            && before.oid == after.oid
            && git_mode(before) == git_mode(after)
        {
            let name = self.name("", diff.path.as_bytes());
            let (before, after) = (octal(before.mode), octal(after.mode));
            return self.line(&format!("# {name}: permissions {before} → {after}"), Style::Bold);
        }
        self.line(&format!("diff --git {old} {new}"), Style::Bold);
        match (before, after) {
            (None, Some(after)) if diff.before.is_absent() => {
                self.line(&format!("new file mode {}", git_mode(after)), Style::Bold);
            }
            (Some(before), None) if diff.after.is_absent() => {
                self.line(&format!("deleted file mode {}", git_mode(before)), Style::Bold);
            }
            (Some(before), Some(after)) if git_mode(before) != git_mode(after) => {
                self.line(&format!("old mode {}", git_mode(before)), Style::Bold);
                self.line(&format!("new mode {}", git_mode(after)), Style::Bold);
            }
            _ => {}
        }
        if renamed {
            let (from, to) =
                (self.name("", diff.old_path.as_bytes()), self.name("", diff.path.as_bytes()));
            self.line(&format!("rename from {from}"), Style::Bold);
            self.line(&format!("rename to {to}"), Style::Bold);
        }
        self.index(diff);
        let old = if diff.before.is_absent() { "/dev/null".to_owned() } else { old };
        let new = if diff.after.is_absent() { "/dev/null".to_owned() } else { new };
        self.body(&diff.body, &old, &new);
    }

    /// The ids of both contents, which programs use and people do not.
    fn index(&mut self, diff: &FileDiff) {
        let oid = |side: &Side| match side {
            Side::Known(state) => Some(state.oid.to_string()),
            Side::Absent => Some("0".repeat(40)),
            Side::Unknown => None,
        };
        if let (Some(before), Some(after)) = (oid(&diff.before), oid(&diff.after))
            && before != after
            && !self.look.readable
        {
            self.line(&format!("index {before}..{after}"), Style::Plain);
        }
    }

    fn body(&mut self, body: &DiffBody, old: &str, new: &str) {
        let why = match body {
            DiffBody::Lines(lines) => return self.lines(lines, old, new),
            DiffBody::Binary => None,
            DiffBody::TooLarge => Some("too large to show"),
            DiffBody::NotCaptured => Some("one side was not captured"),
        };
        // In just these words, or `git apply` would take the head for all there is.
        self.line(&format!("Binary files {old} and {new} differ"), Style::Plain);
        if let Some(why) = why {
            self.line(&format!("# {new}: {why}"), Style::Warn);
        }
    }

    fn lines(&mut self, lines: &[DiffLine], old: &str, new: &str) {
        if lines.is_empty() {
            return;
        }
        self.line(&format!("--- {}", with_tab(old)), Style::Bold);
        self.line(&format!("+++ {}", with_tab(new)), Style::Bold);
        for (at, line) in lines.iter().enumerate() {
            match line {
                DiffLine::Header(place) => self.line(&place.to_string(), Style::Mark),
                DiffLine::Context(text) => self.content(at, ' ', text, Style::Plain),
                DiffLine::Removed(text) => self.content(at, '-', text, Style::Bad),
                DiffLine::Added(text) => self.content(at, '+', text, Style::Good),
                DiffLine::NoNewline => self.line("\\ No newline at end of file", Style::Plain),
            }
        }
    }

    fn content(&mut self, at: usize, sign: char, text: &[u8], style: Style) {
        if let Some(marks) = self.marks.get(at) {
            self.bytes.extend(paint::line(sign, text, style, marks).bytes());
        } else if self.look.readable {
            self.bytes.extend(format!("{sign}{}", escape_line(text)).bytes());
        } else {
            self.bytes.extend(sign.to_string().bytes());
            self.bytes.extend(text);
        }
        self.bytes.push(b'\n');
    }
}

/// git ends a name that holds a space with a tab, so that `patch` knows where it ends.
fn with_tab(name: &str) -> String {
    if name.contains(' ') && !name.starts_with('"') { format!("{name}\t") } else { name.to_owned() }
}

/// The modes that git knows.
fn git_mode(state: &FileState) -> &'static str {
    match state.kind {
        FileKind::Link => "120000",
        FileKind::File if state.mode & 0o100 != 0 => "100755",
        FileKind::File => "100644",
    }
}
