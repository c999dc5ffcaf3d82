//! Differences in git's format, for people or for `git apply`.
//!
//! Readable, names and contents are escaped and coloured for a terminal (see [`crate::paint`]);
//! otherwise every byte is as programs need it (see [`retake_server::patch`]).

use anyhow::Result;
use retake_engine::{DiffBody, FileDiff, Project, changed_words_of_diff};
use retake_server::patch::{self, NO_NEWLINE, Part};
use retake_server::quote::git_name;
use retake_server::syntax::Reader;

use crate::escape::escape_line;
use crate::output::Style;
use crate::paint::{self, Marks};
use crate::quote::readable_name;

/// Output style of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Names and contents are escaped for people.
    pub(crate) readable: bool,
    /// There is colour.
    pub(crate) colour: bool,
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
        let mut bytes = Vec::new();
        for diff in patch::for_git(self.project, diff)? {
            bytes.extend(self.one(&diff));
        }
        Ok(bytes)
    }

    fn one(&mut self, diff: &FileDiff) -> Vec<u8> {
        let marks = self.marks(diff);
        let mut out = Writer { bytes: Vec::new(), look: self.look, marks };
        let naming = if self.look.readable { readable_name } else { git_name };
        for part in patch::parts(diff, naming) {
            out.part(&part);
        }
        out.bytes
    }

    /// Returns the highlights of each line; empty without colour.
    fn marks(&mut self, diff: &FileDiff) -> Vec<Marks> {
        let DiffBody::Lines(lines) = &diff.body else { return Vec::new() };
        if !self.look.colour || !self.look.readable {
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
    fn part(&mut self, part: &Part<'_>) {
        match part {
            Part::Head(text) => self.line(text, Style::Bold),
            Part::Ids(_) if self.look.readable => {}
            Part::Ids(text) | Part::NoLines(text) => self.line(text, Style::Plain),
            Part::Why(text) => self.line(text, Style::Warn),
            Part::Place(text) => self.line(text, Style::Mark),
            Part::Line { at, sign, text } => self.content(*at, *sign, text),
            Part::NoNewline => self.line(NO_NEWLINE, Style::Plain),
        }
    }

    fn line(&mut self, text: &str, style: Style) {
        self.bytes.extend(style.paint(text, self.look.colour).bytes());
        self.bytes.push(b'\n');
    }

    fn content(&mut self, at: usize, sign: char, text: &[u8]) {
        let style = match sign {
            '-' => Style::Bad,
            '+' => Style::Good,
            _ => Style::Plain,
        };
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
