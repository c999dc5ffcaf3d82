//! Word-level diff inside lines, for every view that shows a diff.
//!
//! Marks help where a line was edited and mislead where it was replaced: lines with little in
//! common have no marks, nor have very long lines and large blocks. Ranges are in bytes, sorted,
//! disjoint, not empty, and never split a UTF-8 character.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, TokenSource};

use crate::content::diff::DiffLine;

/// Maximum bytes of a line that gets marks; longer lines are data or generated.
const MAX_LINE_BYTES: usize = 1000;
/// Maximum lines of a block that gets marks; larger blocks are rewrites.
const MAX_BLOCK_LINES: usize = 60;
/// Maximum number of lines by which a line may have shifted in its block.
const MAX_LINE_SHIFT: usize = 8;
/// Minimum similarity of two lines, in percent of their bytes that are not white space.
const MIN_SIMILARITY_PERCENT: usize = 40;

/// The byte ranges that changed inside one line.
pub type WordRanges = Vec<Range<usize>>;

/// Returns the words that differ between an old line and a new one; `None` if the lines are too
/// different, too long or equal.
fn changed_words(old: &[u8], new: &[u8]) -> Option<(WordRanges, WordRanges)> {
    if old == new || old.len().max(new.len()) > MAX_LINE_BYTES || !may_be_alike(old, new) {
        return None;
    }
    let input = InternedInput::new(WordTokens(old), WordTokens(new));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let tokens = |side: &[imara_diff::Token]| -> Vec<&[u8]> {
        side.iter().map(|token| input.interner[*token]).collect()
    };
    let (before, after) = (tokens(&input.before), tokens(&input.after));
    let same: usize = before
        .iter()
        .enumerate()
        .filter(|(at, _)| !diff.is_removed(*at as u32))
        .map(|(_, word)| non_space_bytes(word))
        .sum();
    if 2 * same * 100 < MIN_SIMILARITY_PERCENT * (non_space_bytes(old) + non_space_bytes(new)) {
        return None;
    }
    let removed = byte_ranges(&before, diff.hunks().map(|hunk| hunk.before));
    let added = byte_ranges(&after, diff.hunks().map(|hunk| hunk.after));
    Some((removed, added))
}

/// The changed words of a block of removed lines and the block of added lines that replaces it:
/// for each line its ranges, none where a line has no counterpart.
///
/// Lines are paired in order; where one block is longer, each line takes the first that is alike.
fn changed_words_of_block(
    removed: &[&[u8]],
    added: &[&[u8]],
) -> (Vec<WordRanges>, Vec<WordRanges>) {
    let mut old = vec![WordRanges::new(); removed.len()];
    let mut new = vec![WordRanges::new(); added.len()];
    if removed.len().max(added.len()) > MAX_BLOCK_LINES {
        return (old, new);
    }
    let ahead = added.len().saturating_sub(removed.len()).min(MAX_LINE_SHIFT);
    let behind = removed.len().saturating_sub(added.len()).min(MAX_LINE_SHIFT);
    let mut next = 0;
    for (at, line) in removed.iter().enumerate() {
        let first = next.max(at.saturating_sub(behind));
        let candidates = first..added.len().min(at + ahead + 1);
        let found = candidates
            .into_iter()
            .find_map(|other| changed_words(line, added[other]).map(|words| (other, words)));
        if let Some((other, words)) = found {
            (old[at], new[other]) = words;
            next = other + 1;
        }
    }
    (old, new)
}

/// Returns whether the lines can be similar enough, judged by their lengths alone.
fn may_be_alike(old: &[u8], new: &[u8]) -> bool {
    let (old, new) = (non_space_bytes(old), non_space_bytes(new));
    2 * old.min(new) * 100 >= MIN_SIMILARITY_PERCENT * (old + new)
}

/// Counts the bytes that are not white space.
fn non_space_bytes(text: &[u8]) -> usize {
    text.iter().filter(|byte| !byte.is_ascii_whitespace()).count()
}

/// Converts token ranges to byte ranges; ranges with only white space between them are joined.
fn byte_ranges(words: &[&[u8]], changed: impl Iterator<Item = Range<u32>>) -> WordRanges {
    let mut starts = Vec::with_capacity(words.len() + 1);
    starts.push(0);
    for word in words {
        starts.push(starts[starts.len() - 1] + word.len());
    }
    let blank = |from: usize, to: usize| {
        words[from..to].iter().all(|word| word.iter().all(u8::is_ascii_whitespace))
    };
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in changed.filter(|range| !range.is_empty()) {
        let (start, end) = (range.start as usize, range.end as usize);
        match merged.last_mut() {
            Some(last) if blank(last.end, start) => last.end = end,
            _ => merged.push(start..end),
        }
    }
    merged.into_iter().map(|range| starts[range.start]..starts[range.end]).collect()
}

/// Tokenizer of a line: words, runs of white space, single punctuation characters.
#[derive(Clone)]
struct WordTokens<'a>(&'a [u8]);

impl<'a> TokenSource for WordTokens<'a> {
    type Token = &'a [u8];
    type Tokenizer = Self;

    fn tokenize(&self) -> Self {
        self.clone()
    }

    fn estimate_tokens(&self) -> u32 {
        (self.0.len() / 3) as u32
    }
}

impl<'a> Iterator for WordTokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let kind = ByteClass::of(*self.0.first()?);
        let same = |byte: &&u8| kind != ByteClass::Sign && ByteClass::of(**byte) == kind;
        let len = 1 + self.0[1..].iter().take_while(same).count();
        let (word, rest) = self.0.split_at(len);
        self.0 = rest;
        Some(word)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    /// Letters and digits; bytes beyond ASCII too, so that no letter is cut.
    Word,
    Blank,
    Sign,
}

impl ByteClass {
    fn of(byte: u8) -> Self {
        match byte {
            b'_' | 0x80.. => Self::Word,
            _ if byte.is_ascii_alphanumeric() => Self::Word,
            _ if byte.is_ascii_whitespace() => Self::Blank,
            _ => Self::Sign,
        }
    }
}

/// The changed words of every line of a diff.
pub fn changed_words_of_diff(lines: &[DiffLine]) -> Vec<WordRanges> {
    let mut words = vec![WordRanges::new(); lines.len()];
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        match line {
            DiffLine::NoNewline => {}
            DiffLine::Removed(_) if added.is_empty() => removed.push(at),
            DiffLine::Added(_) => added.push(at),
            DiffLine::Removed(_) | DiffLine::Context(_) | DiffLine::Header(_) => {
                mark_block(lines, &mut removed, &mut added, &mut words);
                if matches!(line, DiffLine::Removed(_)) {
                    removed.push(at);
                }
            }
        }
    }
    mark_block(lines, &mut removed, &mut added, &mut words);
    words
}

fn mark_block(
    lines: &[DiffLine],
    removed: &mut Vec<usize>,
    added: &mut Vec<usize>,
    words: &mut [WordRanges],
) {
    let texts = |block: &[usize]| -> Vec<&[u8]> {
        block.iter().filter_map(|&at| line_text(&lines[at])).collect()
    };
    let (old, new) = changed_words_of_block(&texts(removed), &texts(added));
    for (at, ranges) in removed.drain(..).zip(old).chain(added.drain(..).zip(new)) {
        words[at] = ranges;
    }
}

fn line_text(line: &DiffLine) -> Option<&[u8]> {
    match line {
        DiffLine::Context(text) | DiffLine::Removed(text) | DiffLine::Added(text) => Some(text),
        DiffLine::Header(_) | DiffLine::NoNewline => None,
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "one changed word is one range")]
mod tests {
    use super::*;

    /// Both lines with their marks, or `unlike`.
    fn marked(old: &str, new: &str) -> String {
        let Some((removed, added)) = changed_words(old.as_bytes(), new.as_bytes()) else {
            return "unlike".to_owned();
        };
        let mark = |line: &str, ranges: &[Range<usize>]| {
            let mut out = line.to_owned();
            for range in ranges.iter().rev() {
                out.insert(range.end, ']');
                out.insert(range.start, '[');
            }
            out
        };
        format!("{} → {}", mark(old, &removed), mark(new, &added))
    }

    #[test]
    fn one_word_that_differs_is_marked_on_both_sides() {
        let (old, new) = changed_words(b"let a = 1;", b"let b = 1;").unwrap();
        assert_eq!((old, new), (vec![4..5], vec![4..5]));
    }

    #[test]
    fn words_that_differ_are_marked() {
        assert_eq!(marked("let total = 1;", "let sum = 1;"), "let [total] = 1; → let [sum] = 1;");
        assert_eq!(marked("f(a, b)", "f(a, b, c)"), "f(a, b) → f(a, b[, c])");
        assert_eq!(
            marked("the old brown fox ran", "the new red fox ran"),
            "the [old brown] fox ran → the [new red] fox ran"
        );
        assert_eq!(
            marked("die größe ist 1", "die größte ist 1"),
            "die [größe] ist 1 → die [größte] ist 1"
        );
        assert_eq!(marked("  x = 1", "    x = 1"), "[  ]x = 1 → [    ]x = 1");
    }

    #[test]
    fn what_is_unlike_long_or_the_same_has_no_marks() {
        assert_eq!(marked("return None;", "let x = compute(y)?;"), "unlike");
        assert_eq!(marked("", "anything"), "unlike");
        assert_eq!(marked("same", "same"), "unlike");
        let long = "word ".repeat(400);
        assert_eq!(marked(&long, &format!("{long} more")), "unlike");
    }

    #[test]
    fn lines_of_unequal_blocks_find_their_counterpart() {
        let removed: [&[u8]; 2] = [b"alpha = 1", b"beta = 2"];
        let added: [&[u8]; 3] = [b"// a comment of its own", b"alpha = 3", b"beta = 4"];
        let (old, new) = changed_words_of_block(&removed, &added);
        assert_eq!(old, [vec![8..9], vec![7..8]]);
        assert_eq!(new, [vec![], vec![8..9], vec![7..8]]);
        let (new, old) = changed_words_of_block(&added, &removed);
        assert_eq!((old.len(), new.len()), (2, 3));
        assert_eq!(old, [vec![8..9], vec![7..8]]);
    }

    #[test]
    fn large_blocks_have_no_marks() {
        let block = vec![b"a = 1".as_slice(); MAX_BLOCK_LINES + 1];
        let other = vec![b"a = 2".as_slice(); MAX_BLOCK_LINES + 1];
        let (old, new) = changed_words_of_block(&block, &other);
        assert!(old.iter().chain(&new).all(Vec::is_empty));
    }

    #[test]
    fn bytes_that_are_no_text_are_never_cut() {
        let (old, new) = changed_words(b"a \xc3\xbc\xff b c d", b"a \xc3\xbc\xfe b c d").unwrap();
        assert_eq!((old, new), (vec![2..5], vec![2..5]));
    }

    #[test]
    fn blocks_are_paired_and_marks_stay_on_their_lines() {
        let line = |kind: fn(Vec<u8>) -> DiffLine, text: &str| kind(text.as_bytes().to_vec());
        let lines = [
            line(DiffLine::Removed, "a = 1"),
            DiffLine::NoNewline,
            line(DiffLine::Added, "a = 2"),
            line(DiffLine::Context, "same"),
            line(DiffLine::Added, "a = 3"),
            line(DiffLine::Removed, "b = 1"),
            line(DiffLine::Added, "b = 2"),
        ];
        let marked: Vec<usize> = changed_words_of_diff(&lines)
            .iter()
            .enumerate()
            .filter(|(_, w)| !w.is_empty())
            .map(|(n, _)| n)
            .collect();
        assert_eq!(marked, [0, 2, 5, 6]);
    }
}
