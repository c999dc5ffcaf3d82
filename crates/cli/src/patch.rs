//! Differences in git's format, for people or for `git apply`.
//!
//! Readable, names and contents are escaped and coloured for a terminal (see [`crate::paint`]);
//! otherwise every byte is as programs need it (see [`retake_service::patch`]).

use anyhow::Result;
use retake_engine::model::foreign_text::{git_name, readable_name};
use retake_engine::{DiffBody, FileDiff, Project, changed_words_of_diff};
use retake_service::patch::{self, NO_NEWLINE, PatchLine};
use retake_service::syntax::DiffHighlighter;

use crate::escape::escape_line;
use crate::output::TextStyle;
use crate::paint::{self, LineHighlights};

/// Output style of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiffStyle {
    /// Names and contents are escaped for people.
    pub(crate) readable: bool,
    /// There is colour.
    pub(crate) colour: bool,
}

/// Writes the differences of one command.
#[derive(Debug)]
pub(crate) struct DiffPrinter<'a> {
    project: &'a Project,
    style: DiffStyle,
    syntax: DiffHighlighter,
}

impl<'a> DiffPrinter<'a> {
    /// A printer of diffs of this project.
    pub(crate) fn new(project: &'a Project, style: DiffStyle) -> Self {
        Self { project, style, syntax: DiffHighlighter::default() }
    }

    /// The difference of one file, as bytes.
    pub(crate) fn render_file(&mut self, diff: &FileDiff) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for diff in patch::split_for_git(self.project, diff)? {
            bytes.extend(self.render_diff(&diff));
        }
        Ok(bytes)
    }

    fn render_diff(&mut self, diff: &FileDiff) -> Vec<u8> {
        let marks = self.line_highlights(diff);
        let mut out = PatchWriter { bytes: Vec::new(), style: self.style, highlights: marks };
        let naming = if self.style.readable { readable_name } else { git_name };
        for part in patch::patch_lines(diff, naming) {
            out.part(&part);
        }
        out.bytes
    }

    /// Returns the highlights of each line; empty without colour.
    fn line_highlights(&mut self, diff: &FileDiff) -> Vec<LineHighlights> {
        let DiffBody::Lines(lines) = &diff.body else { return Vec::new() };
        if !self.style.colour || !self.style.readable {
            return Vec::new();
        }
        let tokens = if patch::is_of_links(diff) {
            None
        } else {
            // What a plan would merge is not in the store yet: then there is no syntax to colour.
            let after = self.project.content(&diff.after).ok().flatten();
            after.and_then(|after| self.syntax.tokens(diff.path.as_bytes(), &after, lines))
        };
        let tokens = tokens.unwrap_or_else(|| vec![Vec::new(); lines.len()]);
        let marks = changed_words_of_diff(lines).into_iter().zip(tokens);
        marks.map(|(words, tokens)| LineHighlights { changed_words: words, tokens }).collect()
    }
}

struct PatchWriter {
    bytes: Vec<u8>,
    style: DiffStyle,
    /// For each line of the body, if there is colour.
    highlights: Vec<LineHighlights>,
}

impl PatchWriter {
    fn part(&mut self, part: &PatchLine<'_>) {
        match part {
            PatchLine::Head(text) => self.line(text, TextStyle::Bold),
            PatchLine::Ids(_) if self.style.readable => {}
            PatchLine::Ids(text) | PatchLine::NoLines(text) => self.line(text, TextStyle::Plain),
            PatchLine::Reason(text) => self.line(text, TextStyle::Warn),
            PatchLine::HunkHead(text) => self.line(text, TextStyle::Mark),
            PatchLine::Line { at, sign, text } => self.content(*at, *sign, text),
            PatchLine::NoNewline => self.line(NO_NEWLINE, TextStyle::Plain),
        }
    }

    fn line(&mut self, text: &str, style: TextStyle) {
        self.bytes.extend(style.paint(text, self.style.colour).bytes());
        self.bytes.push(b'\n');
    }

    fn content(&mut self, at: usize, sign: char, text: &[u8]) {
        let style = match sign {
            '-' => TextStyle::Bad,
            '+' => TextStyle::Good,
            _ => TextStyle::Plain,
        };
        if let Some(marks) = self.highlights.get(at) {
            self.bytes.extend(paint::paint_line(sign, text, style, marks).bytes());
        } else if self.style.readable {
            self.bytes.extend(format!("{sign}{}", escape_line(text)).bytes());
        } else {
            self.bytes.extend(sign.to_string().bytes());
            self.bytes.extend(text);
        }
        self.bytes.push(b'\n');
    }
}
