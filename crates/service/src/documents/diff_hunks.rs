//! The lines of a difference for a user interface: hunks, changed words, tokens.

use std::ops::Range;

use retake_engine::{DiffLine, HunkHeader, WordRanges};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::diff_page::LinesPage;
use crate::syntax::{LineTokens, TokenKind};

/// A place of a difference with the lines around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffHunk {
    /// Its head, as in the text.
    #[schema(example = "@@ -1,3 +1,4 @@")]
    pub header: String,
    /// First line on the old side, from 1; the line before, if it has none there.
    pub old_start: u32,
    /// Lines on the old side.
    pub old_lines: u32,
    /// First line on the new side, from 1; the line before, if it has none there.
    pub new_start: u32,
    /// Lines on the new side.
    pub new_lines: u32,
    /// Whether it begins on the page before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
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
    /// Bytes that are cut off at its end; null if it is whole. The content itself has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<u64>,
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

/// A part of a line, for highlighting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffToken {
    /// Where it starts.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// What it is.
    pub token: TokenKind,
}

impl DiffHunk {
    fn new(place: &HunkHeader, continued: bool) -> Self {
        let start = |range: &Range<u32>| range.start + u32::from(!range.is_empty());
        let lines = |range: &Range<u32>| range.end - range.start;
        Self {
            header: place.to_string(),
            old_start: start(&place.old),
            old_lines: lines(&place.old),
            new_start: start(&place.new),
            new_lines: lines(&place.new),
            continued,
            lines: Vec::new(),
        }
    }
}

/// The lines without the carriage return that ends them.
pub(super) fn without_carriage_returns(lines: &[DiffLine]) -> Vec<DiffLine> {
    let strip = |text: &Vec<u8>| text.strip_suffix(b"\r").unwrap_or(text).to_vec();
    let line = |line: &DiffLine| match line {
        DiffLine::Header(_) | DiffLine::NoNewline => line.clone(),
        DiffLine::Context(text) => DiffLine::Context(strip(text)),
        DiffLine::Removed(text) => DiffLine::Removed(strip(text)),
        DiffLine::Added(text) => DiffLine::Added(strip(text)),
    };
    lines.iter().map(line).collect()
}

/// The hunks of a page, with the marks of each line.
pub(super) fn hunks(
    lines: &[DiffLine],
    marks: impl Iterator<Item = (WordRanges, LineTokens)>,
    page: &LinesPage,
) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    let (mut old, mut new) = (0, 0);
    for (place, (line, (words, tokens))) in lines.iter().zip(marks).enumerate() {
        let (kind, text) = match line {
            DiffLine::Header(place) => {
                (old, new) = (place.old.start, place.new.start);
                hunks.push(DiffHunk::new(place, page.is_continued && hunks.is_empty()));
                continue;
            }
            DiffLine::NoNewline => {
                let last = hunks.last_mut().and_then(|hunk| hunk.lines.last_mut());
                if let Some(line) = last {
                    line.no_newline = true;
                }
                continue;
            }
            DiffLine::Context(text) => (LineKind::Context, text),
            DiffLine::Added(text) => (LineKind::Added, text),
            DiffLine::Removed(text) => (LineKind::Removed, text),
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
            cut: Some(page.cut_at(place)).filter(|cut| *cut > 0),
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
