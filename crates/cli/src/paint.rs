//! Colours one line of a diff, for any terminal.
//!
//! Only the terminal's own sixteen colours are used, so that they fit its background, dark or
//! light. Red and green are kept for removed and added, changed words are reversed, and syntax
//! tokens have the colours that remain. Invariant: without its colours, a line is exactly its
//! escaped text.

use std::fmt::Write as _;
use std::ops::Range;

use anstyle::{AnsiColor, Style as Ansi};
use retake_engine::WordRanges;
use retake_service::syntax::{LineTokens, TokenKind};

use crate::escape::escape_line;
use crate::output::TextStyle;

/// Highlights of a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineHighlights {
    /// The words that changed.
    pub(crate) changed_words: WordRanges,
    /// Its syntax tokens.
    pub(crate) tokens: LineTokens,
}

/// A line of a file with its sign, in colour.
pub(crate) fn paint_line(
    sign: char,
    text: &[u8],
    style: TextStyle,
    marks: &LineHighlights,
) -> String {
    let mut out = StyledText::default();
    out.push(&sign.to_string(), style.ansi());
    for part in segments(text.len(), marks) {
        let ansi = ansi_style(style, token_at(marks, part.start), changed_at(marks, part.start));
        out.push(&escape_line(&text[part]), ansi);
    }
    out.finish()
}

/// Splits a line wherever its style may change.
fn segments(len: usize, marks: &LineHighlights) -> impl Iterator<Item = Range<usize>> {
    let ranges = marks.changed_words.iter().chain(marks.tokens.iter().map(|(range, _)| range));
    let mut cuts: Vec<usize> = ranges.flat_map(|range| [range.start, range.end]).collect();
    cuts.extend([0, len]);
    cuts.retain(|&cut| cut <= len);
    cuts.sort_unstable();
    cuts.dedup();
    (1..cuts.len()).map(move |at| cuts[at - 1]..cuts[at])
}

fn token_at(marks: &LineHighlights, at: usize) -> TokenKind {
    let before = marks.tokens.partition_point(|(range, _)| range.end <= at);
    let found = marks.tokens.get(before).filter(|(range, _)| range.contains(&at));
    found.map_or(TokenKind::Other, |(_, token)| *token)
}

fn changed_at(marks: &LineHighlights, at: usize) -> bool {
    marks.changed_words.iter().any(|range| range.contains(&at))
}

fn ansi_style(style: TextStyle, token: TokenKind, changed: bool) -> Ansi {
    let base = style.ansi();
    if changed {
        return base.invert();
    }
    match token {
        TokenKind::Other => base,
        // Dimmed rather than grey, which some palettes use as background.
        TokenKind::Comment => base.dimmed(),
        TokenKind::Literal => AnsiColor::Yellow.on_default(),
        TokenKind::Keyword => AnsiColor::Magenta.on_default(),
        TokenKind::Name => AnsiColor::Cyan.on_default(),
    }
}

/// Text in which neighbours that look alike share their colour codes.
#[derive(Default)]
struct StyledText {
    out: String,
    style: Ansi,
}

impl StyledText {
    fn push(&mut self, text: &str, style: Ansi) {
        if style != self.style {
            let (old, new) = (self.style, style);
            let _ = write!(self.out, "{old:#}{new}");
            self.style = style;
        }
        self.out.push_str(text);
    }

    fn finish(mut self) -> String {
        self.push("", Ansi::new());
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_bytes_are_spelled_out_whatever_the_marks_are() {
        let text = "let a = \"\x1b[2J\u{202e}\u{9b}\"; // ü\r".as_bytes();
        let mut marks = LineHighlights {
            changed_words: vec![4..5, 9..13],
            tokens: vec![(0..3, TokenKind::Keyword)],
        };
        marks.tokens.push((8..19, TokenKind::Literal));
        let painted = paint_line('+', text, TextStyle::Good, &marks);
        let plain = anstream::adapter::strip_str(&painted).to_string();
        assert_eq!(plain, format!("+{}", escape_line(text)));
        assert!(plain.contains("\\x1b[2J\\u{202e}\\u{9b}"), "{plain}");
    }
}
