//! The lines of a hunk as a difference, for people.
//!
//! Each removed and each added line has its number in the hunk before it, by which it can be chosen:
//! `-1`, `+2`, and where only some are decided on a sign: `✓` for kept, `✗` for those that wait to be
//! rejected. Invariant: without its colours, what is shown is escaped text.

use std::ops::Range;

use retake_engine::model::HunkKind;
use retake_engine::{
    DiffLine, HunkHeader, HunkLines, ReviewFile, ReviewHunk, changed_words_of_diff,
};
use retake_service::patch::NO_NEWLINE;
use retake_service::syntax::DiffHighlighter;

use crate::describe::{format_size, plural};
use crate::output::TextStyle;
use crate::paint::{LineHighlights, paint_line};

/// Minimum columns of the numbers.
const MIN_NUMBER_WIDTH: usize = 3;

/// What is shown of a hunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownLines {
    /// Number of lines around it.
    pub(super) context: usize,
    /// Maximum number of its own lines; the rest is counted.
    pub(super) max_lines: usize,
    /// Maximum bytes of a line; the rest is counted.
    pub(super) max_line_bytes: usize,
}

/// All lines of a hunk.
pub(super) const ALL_LINES: ShownLines =
    ShownLines { context: 3, max_lines: usize::MAX, max_line_bytes: usize::MAX };
/// The first lines of a hunk, where it is asked what to do with it.
pub(super) const FIRST_LINES: ShownLines =
    ShownLines { context: 3, max_lines: 100, max_line_bytes: 1000 };
/// All lines of a hunk, with more of the file around it.
pub(super) const MORE_LINES: ShownLines = ShownLines { context: 20, ..ALL_LINES };

/// Renders hunks of one command.
#[derive(Debug)]
pub(super) struct HunkLineRenderer {
    colour: bool,
    syntax: DiffHighlighter,
}

impl HunkLineRenderer {
    pub(super) fn new(colour: bool) -> Self {
        Self { colour, syntax: DiffHighlighter::default() }
    }

    /// The lines of a hunk, with some of the file around them.
    pub(super) fn render(
        &mut self,
        file: &ReviewFile,
        hunk: &ReviewHunk,
        shown: ShownLines,
    ) -> String {
        let rows = rows_of(file, hunk, shown);
        let marks = self.highlights(file, hunk, &rows);
        let most = hunk.removed.len().max(hunk.added.len()).to_string().len();
        let width = most.max(MIN_NUMBER_WIDTH);
        let mut text = String::new();
        for (row, marks) in rows.iter().zip(marks) {
            text.push_str(&self.render_row(row, &marks, width, decision_sign(hunk, row)));
            text.push('\n');
        }
        let more = (hunk.removed.len() + hunk.added.len()).saturating_sub(shown.max_lines);
        if more > 0 {
            let more = format!("… {}", plural(more as u64, "more line", "more lines"));
            text.push_str(&TextStyle::Dim.paint(&more, self.colour));
            text.push('\n');
        }
        text
    }

    fn render_row(
        &self,
        row: &HunkRow,
        marks: &LineHighlights,
        width: usize,
        decision: char,
    ) -> String {
        let (sign, style) = match row.side {
            RowSide::Removed => ('-', TextStyle::Bad),
            RowSide::Added => ('+', TextStyle::Good),
            RowSide::Context if row.text.is_empty() => return String::new(),
            RowSide::Context => (' ', TextStyle::Plain),
            RowSide::NoNewline => {
                return format!("{:width$} {NO_NEWLINE}", "");
            }
        };
        let number = row.number.map_or_else(String::new, |number| number.to_string());
        let number = TextStyle::Dim.paint(&format!("{number:>width$}"), self.colour);
        let line = paint_line(sign, &row.text, style, marks);
        let line = if self.colour { line } else { anstream::adapter::strip_str(&line).to_string() };
        let left_out = match row.left_out {
            0 => String::new(),
            bytes => {
                let more = format!(" … {} more", format_size(bytes as u64));
                TextStyle::Dim.paint(&more, self.colour)
            }
        };
        format!("{number}{decision}{line}{left_out}")
    }

    /// The highlights of each row; empty ones without colour.
    fn highlights(
        &mut self,
        file: &ReviewFile,
        hunk: &ReviewHunk,
        rows: &[HunkRow],
    ) -> Vec<LineHighlights> {
        if !self.colour {
            return vec![LineHighlights::default(); rows.len()];
        }
        let lines = diff_lines(hunk, rows);
        // Lines of entangled places are not those of the file, so nothing is known of what is above.
        let text = file.now_text.as_ref().filter(|_| hunk.kind != HunkKind::Entangled);
        let tokens = text.and_then(|text| self.syntax.tokens(file.path.as_bytes(), text, &lines));
        let tokens = tokens.unwrap_or_else(|| vec![Vec::new(); lines.len()]);
        let words = changed_words_of_diff(&lines);
        let marks = words.into_iter().zip(tokens);
        let marks = marks.map(|(words, tokens)| LineHighlights { changed_words: words, tokens });
        // The first line is the head, which is no row.
        marks.skip(1).collect()
    }
}

/// The sign beside a line that is decided on, unless all of the hunk is.
fn decision_sign(hunk: &ReviewHunk, row: &HunkRow) -> char {
    let is_among = |lines: &HunkLines| {
        let numbers = match row.side {
            RowSide::Removed => &lines.removed,
            RowSide::Added => &lines.added,
            RowSide::Context | RowSide::NoNewline => return false,
        };
        row.number.and_then(|at| u32::try_from(at).ok()).is_some_and(|at| numbers.contains(&at))
    };
    if hunk.reviewed {
        ' '
    } else if hunk.queued_lines.as_ref().is_some_and(is_among) {
        '✗'
    } else if is_among(&hunk.seen_lines) {
        '✓'
    } else {
        ' '
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowSide {
    Removed,
    Added,
    Context,
    NoNewline,
}

#[derive(Debug)]
struct HunkRow {
    side: RowSide,
    /// Its number among the lines of its side in the hunk.
    number: Option<usize>,
    text: Vec<u8>,
    /// Bytes at its end that are left out.
    left_out: usize,
}

impl HunkRow {
    fn new(side: RowSide, number: Option<usize>, line: &[u8], max_bytes: usize) -> Self {
        let mut end = line.len().min(max_bytes);
        let is_inside_char = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        while end > 0 && is_inside_char(end) {
            end -= 1;
        }
        Self { side, number, text: line[..end].to_vec(), left_out: line.len() - end }
    }
}

/// The rows of a hunk: lines above, removed lines, added lines, lines below.
fn rows_of(file: &ReviewFile, hunk: &ReviewHunk, shown: ShownLines) -> Vec<HunkRow> {
    let own = || hunk.removed.iter().chain(&hunk.added);
    // Where each line ends so, it is how the file ends its lines, and no news.
    let ends = if own().all(|line| line.ends_with(b"\r\n")) { &b"\r\n"[..] } else { b"\n" };
    let row = |side, number, line: &[u8]| HunkRow::new(side, number, line, shown.max_line_bytes);
    let context = |is_above| {
        let lines = context_lines(file, hunk, shown.context, is_above).into_iter();
        lines.map(|line| row(RowSide::Context, None, line))
    };
    let mut rows: Vec<_> = context(true).collect();
    let sides = [(RowSide::Removed, &hunk.removed), (RowSide::Added, &hunk.added)];
    let lines = sides.into_iter().flat_map(|(side, lines)| {
        lines.iter().enumerate().map(move |(at, line)| (side, at + 1, line))
    });
    for (side, number, line) in lines.take(shown.max_lines) {
        let bare = line.strip_suffix(ends).or_else(|| line.strip_suffix(b"\n"));
        rows.push(row(side, Some(number), bare.unwrap_or(line)));
        if bare.is_none() && hunk.kind != HunkKind::Link {
            rows.push(row(RowSide::NoNewline, None, b""));
        }
    }
    if own().count() <= shown.max_lines {
        rows.extend(context(false));
    }
    rows
}

/// Lines of the file above or below a hunk, without their ends.
fn context_lines<'f>(
    file: &'f ReviewFile,
    hunk: &ReviewHunk,
    count: usize,
    is_above: bool,
) -> Vec<&'f [u8]> {
    let has_place = matches!(hunk.kind, HunkKind::Lines)
        || hunk.kind == HunkKind::Entangled && !hunk.new.is_empty();
    let text = file.now_text.as_deref().filter(|_| has_place).unwrap_or_default();
    let range = if is_above {
        hunk.new.start.saturating_sub(count)..hunk.new.start
    } else {
        hunk.new.end..hunk.new.end + count
    };
    let lines = text.split_inclusive(|byte| *byte == b'\n').skip(range.start).take(range.len());
    let bare = |line: &'f [u8]| {
        let bare = line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n"));
        bare.unwrap_or(line)
    };
    lines.map(bare).collect()
}

/// The rows as a difference with its head.
fn diff_lines(hunk: &ReviewHunk, rows: &[HunkRow]) -> Vec<DiffLine> {
    let changed = |row: &&HunkRow| row.number.is_some();
    let above = rows.iter().take_while(|row| row.side == RowSide::Context).count();
    let below = rows.iter().rev().take_while(|row| row.side == RowSide::Context).count();
    let below = if rows.iter().any(|row| changed(&row)) { below } else { 0 };
    let range = |range: &Range<usize>| {
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        number(range.start.saturating_sub(above))..number(range.end + below)
    };
    let head = HunkHeader { old: range(&hunk.old), new: range(&hunk.new) };
    let line = |row: &HunkRow| match row.side {
        RowSide::Removed => DiffLine::Removed(row.text.clone()),
        RowSide::Added => DiffLine::Added(row.text.clone()),
        RowSide::Context => DiffLine::Context(row.text.clone()),
        RowSide::NoNewline => DiffLine::NoNewline,
    };
    std::iter::once(DiffLine::Header(head)).chain(rows.iter().map(line)).collect()
}
