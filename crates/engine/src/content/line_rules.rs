//! Rules by which two lines count as the same, and the line endings of a content.
//!
//! Invariants: by default a line is its bytes, its end included, as git compares. What a rule
//! ignores is ignored for the comparison only: the lines that are shown keep their bytes.

use std::borrow::Cow;

/// How two contents are compared by lines, and how much is shown around what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DiffOptions {
    /// Lines of context around a hunk; `None` shows the whole file.
    pub context: Option<u32>,
    /// White space that makes no difference.
    pub whitespace: WhitespaceRule,
    /// Leaves out places where only blank lines differ, unless they lie in the context of another
    /// place.
    pub ignore_blank_lines: bool,
    /// Compares lines without regard to a carriage return before the newline.
    pub ignore_line_endings: bool,
}

/// Lines of context around a hunk, as git has them.
const DEFAULT_CONTEXT_LINES: u32 = 3;

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            context: Some(DEFAULT_CONTEXT_LINES),
            whitespace: WhitespaceRule::Exact,
            ignore_blank_lines: false,
            ignore_line_endings: false,
        }
    }
}

/// White space that makes no difference between two lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhitespaceRule {
    /// None: lines are compared byte by byte.
    #[default]
    Exact,
    /// White space at the end of a line.
    IgnoreAtEnd,
    /// The amount of white space, and all of it at the end of a line.
    IgnoreAmount,
    /// All white space.
    IgnoreAll,
}

impl DiffOptions {
    /// Returns what is compared of a line.
    pub(crate) fn key_of<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        match self.whitespace {
            WhitespaceRule::Exact if self.ignore_line_endings => without_carriage_return(line),
            WhitespaceRule::Exact => Cow::Borrowed(line),
            WhitespaceRule::IgnoreAtEnd => Cow::Borrowed(trim_end(line)),
            WhitespaceRule::IgnoreAmount => Cow::Owned(with_single_spaces(trim_end(line))),
            WhitespaceRule::IgnoreAll => {
                Cow::Owned(line.iter().copied().filter(|byte| !is_space(*byte)).collect())
            }
        }
    }
}

/// Returns true if a line holds nothing but white space.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| is_space(*byte))
}

/// White space as C and git have it.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn trim_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !is_space(*byte)).map_or(0, |at| at + 1);
    &line[..end]
}

fn without_carriage_return(line: &[u8]) -> Cow<'_, [u8]> {
    match line.strip_suffix(b"\r\n") {
        Some(text) => Cow::Owned([text, b"\n"].concat()),
        None => Cow::Borrowed(line),
    }
}

fn with_single_spaces(line: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(line.len());
    for byte in line {
        match is_space(*byte) {
            true if key.last() == Some(&b' ') => {}
            true => key.push(b' '),
            false => key.push(*byte),
        }
    }
    key
}

/// How the lines of a content end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEndings {
    /// It has no newline.
    None,
    /// All with a newline alone.
    Lf,
    /// All with a carriage return and a newline.
    CrLf,
    /// Some with the one, some with the other.
    Mixed,
}

impl LineEndings {
    /// Returns how the lines of a content end.
    pub fn of(bytes: &[u8]) -> Self {
        let (mut lf, mut crlf) = (false, false);
        let mut before = 0;
        for &byte in bytes {
            if byte == b'\n' {
                crlf |= before == b'\r';
                lf |= before != b'\r';
            }
            before = byte;
        }
        match (lf, crlf) {
            (false, false) => Self::None,
            (true, false) => Self::Lf,
            (false, true) => Self::CrLf,
            (true, true) => Self::Mixed,
        }
    }

    /// The stable name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lf => "lf",
            Self::CrLf => "crlf",
            Self::Mixed => "mixed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WhitespaceRule::{Exact, IgnoreAll, IgnoreAmount, IgnoreAtEnd};
    use super::*;

    #[test]
    fn each_rule_ignores_just_what_it_names() {
        let same = |whitespace, ignore_line_endings, a: &str, b: &str| {
            let options = DiffOptions { whitespace, ignore_line_endings, ..DiffOptions::default() };
            options.key_of(a.as_bytes()) == options.key_of(b.as_bytes())
        };
        assert!(!same(Exact, false, "a\r\n", "a\n"));
        assert!(same(Exact, true, "a\r\n", "a\n"));
        assert!(!same(Exact, true, "a\n", "a"), "a newline that is missing is a difference");
        assert!(!same(Exact, true, "a \n", "a\n"));
        assert!(same(IgnoreAtEnd, false, "a \t\r\n", "a\n"));
        assert!(!same(IgnoreAtEnd, false, " a\n", "a\n"));
        assert!(same(IgnoreAmount, false, "a  \tb \n", "a b\n"));
        assert!(!same(IgnoreAmount, false, "a b\n", "ab\n"));
        assert!(same(IgnoreAll, false, " a b\n", "ab\n"));
        assert!(!same(IgnoreAll, false, "ab\n", "ac\n"));
    }

    #[test]
    fn line_endings_are_told() {
        let of = |text: &str| LineEndings::of(text.as_bytes()).as_str();
        let seen = ["", "a", "a\n", "a\r\n", "a\r\nb\n", "\n", "\r\n\r\n", "a\rb\n"].map(of);
        assert_eq!(seen, ["none", "none", "lf", "crlf", "mixed", "lf", "crlf", "lf"]);
    }
}
