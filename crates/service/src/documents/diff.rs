//! Diffs, as text in git's format and as lines for a user interface.

use std::ops::Range;

use retake_engine::{
    self as engine, DiffBody, Project, StoreError, WordRanges, changed_words_of_diff,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SideDocument;
use super::path::{PathName, hex_if_needed};
use crate::syntax::{DiffHighlighter, LineTokens, TokenKind};
use crate::{FileContent, Masking, patch};

/// Differences, file by file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Diffs)]
pub struct DiffList {
    /// The files.
    pub files: Vec<FileDiffDocument>,
}

/// The difference that was made to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = FileDiff)]
pub struct FileDiffDocument {
    /// The path after.
    #[serde(flatten)]
    pub path: PathName,
    /// The path before.
    pub old_path: String,
    /// The old path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path_hex: Option<String>,
    /// The state before; null if the file did not exist.
    pub before: Option<SideDocument>,
    /// The state after; null if the file is gone.
    pub after: Option<SideDocument>,
    /// `lines`, or why there are none: `binary`, `too_large`, `not_captured`.
    #[schema(example = "lines")]
    pub body: String,
    /// Lines added.
    pub added: Option<u64>,
    /// Lines removed.
    pub removed: Option<u64>,
    /// The difference in git's form.
    pub diff: String,
    /// The same by lines, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<DiffHunk>>,
}

/// A place of a difference with the lines around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffHunk {
    /// Its head, as in the text.
    #[schema(example = "@@ -1,3 +1,4 @@")]
    pub header: String,
    /// Its lines.
    pub lines: Vec<DiffLineDocument>,
}

/// One line of a difference.
///
/// Places in it count UTF-16 code units, as JavaScript and language servers do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DiffLine)]
pub struct DiffLineDocument {
    /// Which side has it.
    pub kind: LineKind,
    /// Its number before, from 1.
    pub old: Option<u32>,
    /// Its number after, from 1.
    pub new: Option<u32>,
    /// Its text, without the newline.
    pub text: String,
    /// Whether the file ends with it, without a newline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_newline: bool,
    /// The words that changed: the start of each, and where it ends.
    pub words: Vec<(u32, u32)>,
    /// What its words are in the file's language.
    pub tokens: Vec<DiffToken>,
}

/// Which side has a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// Both.
    Context,
    /// The side after.
    Added,
    /// The side before.
    Removed,
}

/// A part of a line, for whoever colours it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffToken {
    /// Where it starts.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// What it is.
    pub token: TokenKind,
}

/// What a difference is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffForm {
    /// As text alone.
    #[default]
    Unified,
    /// Also by lines, with changed words and highlighting.
    Structured,
}

/// Writes the differences of one request.
#[derive(Debug)]
pub struct DiffRenderer<'a> {
    project: &'a Project,
    form: DiffForm,
    masking: Masking,
    syntax: DiffHighlighter,
}

impl<'a> DiffRenderer<'a> {
    /// For differences in a project.
    pub fn new(project: &'a Project, form: DiffForm, masking: Masking) -> Self {
        Self { project, form, masking, syntax: DiffHighlighter::default() }
    }

    /// Several differences.
    pub fn render_files(&mut self, diffs: &[engine::FileDiff]) -> Result<DiffList, StoreError> {
        let files: Result<_, _> = diffs.iter().map(|diff| self.render_file(diff)).collect();
        Ok(DiffList { files: files? })
    }

    /// One difference.
    pub fn render_file(&mut self, diff: &engine::FileDiff) -> Result<FileDiffDocument, StoreError> {
        let text = self.text(diff)?;
        let (body, counts) = match &diff.body {
            DiffBody::Lines(lines) => ("lines", Some(patch::count_lines(lines))),
            DiffBody::Binary => ("binary", None),
            DiffBody::TooLarge => ("too_large", None),
            DiffBody::NotCaptured => ("not_captured", None),
        };
        Ok(FileDiffDocument {
            path: (&diff.path).into(),
            old_path: diff.old_path.to_string(),
            old_path_hex: hex_if_needed(&diff.old_path),
            before: SideDocument::of(&diff.before),
            after: SideDocument::of(&diff.after),
            body: body.to_owned(),
            added: counts.map(|counts| counts.0),
            removed: counts.map(|counts| counts.1),
            diff: String::from_utf8_lossy(&text).into_owned(),
            hunks: self.hunks(diff)?,
        })
    }

    fn text(&self, diff: &engine::FileDiff) -> Result<Vec<u8>, StoreError> {
        let mut text = Vec::new();
        for mut diff in patch::split_for_git(self.project, diff)? {
            self.mask(&mut diff)?;
            text.extend(patch::render_patch(&diff));
        }
        Ok(text)
    }

    /// Takes secrets out of the lines; gives the whole masked content after.
    fn mask(&self, diff: &mut engine::FileDiff) -> Result<Vec<u8>, StoreError> {
        let DiffBody::Lines(lines) = &mut diff.body else { return Ok(Vec::new()) };
        let before = self.project.content(&diff.before)?.unwrap_or_default();
        let after = self.project.content(&diff.after)?.unwrap_or_default();
        let secret = self.masking.secret_name([&diff.old_path, &diff.path]);
        let (old, new) = (secret.unwrap_or(&diff.old_path), secret.unwrap_or(&diff.path));
        let old_side = FileContent { path: old, bytes: &before };
        let new_side = FileContent { path: new, bytes: &after };
        self.masking.mask_diff(old_side, new_side, lines);
        Ok(self.masking.mask_bytes(new, after))
    }

    fn hunks(&mut self, diff: &engine::FileDiff) -> Result<Option<Vec<DiffHunk>>, StoreError> {
        if self.form == DiffForm::Unified || !matches!(diff.body, DiffBody::Lines(_)) {
            return Ok(None);
        }
        let mut diff = diff.clone();
        let after = self.mask(&mut diff)?;
        let DiffBody::Lines(lines) = &diff.body else { return Ok(None) };
        let tokens = if patch::is_of_links(&diff) {
            None
        } else {
            self.syntax.tokens(diff.path.as_bytes(), &after, lines)
        };
        let tokens = tokens.unwrap_or_else(|| vec![LineTokens::new(); lines.len()]);
        let marks = changed_words_of_diff(lines).into_iter().zip(tokens);
        Ok(Some(hunks(lines, marks)))
    }
}

fn hunks(
    lines: &[engine::DiffLine],
    marks: impl Iterator<Item = (WordRanges, LineTokens)>,
) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    let (mut old, mut new) = (0, 0);
    for (line, (words, tokens)) in lines.iter().zip(marks) {
        let (kind, text) = match line {
            engine::DiffLine::Header(place) => {
                (old, new) = (place.old.start, place.new.start);
                hunks.push(DiffHunk { header: place.to_string(), lines: Vec::new() });
                continue;
            }
            engine::DiffLine::NoNewline => {
                let last = hunks.last_mut().and_then(|hunk| hunk.lines.last_mut());
                if let Some(line) = last {
                    line.no_newline = true;
                }
                continue;
            }
            engine::DiffLine::Context(text) => (LineKind::Context, text),
            engine::DiffLine::Added(text) => (LineKind::Added, text),
            engine::DiffLine::Removed(text) => (LineKind::Removed, text),
        };
        let number = |is_there: bool, count: &mut u32| {
            *count += u32::from(is_there);
            is_there.then_some(*count)
        };
        let (old, new) = (
            number(kind != LineKind::Added, &mut old),
            number(kind != LineKind::Removed, &mut new),
        );
        let places = Utf16Offsets::of(text);
        let line = DiffLineDocument {
            kind,
            old,
            new,
            text: String::from_utf8_lossy(text).into_owned(),
            no_newline: false,
            words: words.iter().map(|range| places.range(range)).collect(),
            tokens: tokens.iter().map(|(range, token)| places.token(range, *token)).collect(),
        };
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(line);
        }
    }
    hunks
}

/// From places in bytes to places in UTF-16 code units of the text that is told.
struct Utf16Offsets {
    /// For each byte, and the end; none if they are the same.
    units: Option<Vec<u32>>,
}

impl Utf16Offsets {
    fn of(text: &[u8]) -> Self {
        if text.is_ascii() {
            return Self { units: None };
        }
        let mut units = Vec::with_capacity(text.len() + 1);
        let mut at = 0;
        for chunk in text.utf8_chunks() {
            for char in chunk.valid().chars() {
                units.extend(std::iter::repeat_n(at, char.len_utf8()));
                at += char.len_utf16() as u32;
            }
            // What is no text is told as one replacement character.
            units.extend(std::iter::repeat_n(at, chunk.invalid().len()));
            at += u32::from(!chunk.invalid().is_empty());
        }
        units.push(at);
        Self { units: Some(units) }
    }

    fn range(&self, range: &Range<usize>) -> (u32, u32) {
        let place = |byte: usize| match &self.units {
            Some(units) => units.get(byte).or(units.last()).copied().unwrap_or_default(),
            None => byte as u32,
        };
        (place(range.start), place(range.end))
    }

    fn token(&self, range: &Range<usize>, token: TokenKind) -> DiffToken {
        let (start, end) = self.range(range);
        DiffToken { start, end, token }
    }
}
