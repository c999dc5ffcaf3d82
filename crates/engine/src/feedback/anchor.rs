//! Finds the lines that a comment is about, by their content.

use std::ops::Range;

use retake_model::CommentAnchor;

use crate::content::diff::lines;
use crate::feedback::rejected_lines::{MIN_WORD_CHARS, word_chars};

/// Number of lines above and below that are kept with the lines of a comment.
const CONTEXT_LINES: usize = 3;

/// Makes the anchor of lines of a content, which are counted from 0.
pub(crate) fn anchor_of(content: &[u8], place: &Range<usize>, removed: bool) -> CommentAnchor {
    let all = text_lines(content);
    let slice = |range: Range<usize>| all.get(range).unwrap_or_default().to_vec();
    CommentAnchor {
        removed,
        first_line: u32::try_from(place.start + 1).unwrap_or(u32::MAX),
        lines: slice(place.clone()),
        above: slice(place.start.saturating_sub(CONTEXT_LINES)..place.start),
        below: slice(place.end..(place.end + CONTEXT_LINES).min(all.len())),
    }
}

/// Returns where the lines of an anchor are in a content, from 0; `None` if they are gone.
///
/// Of several places the one with the most equal lines around it is meant, and then the one
/// closest to where they were. Lines that say little are known by those around them alone.
pub(crate) fn find_anchor(content: &[u8], anchor: &CommentAnchor) -> Option<Range<usize>> {
    let all = text_lines(content);
    let count = anchor.lines.len();
    if count == 0 || count > all.len() {
        return None;
    }
    let was = anchor.first_line.saturating_sub(1) as usize;
    let starts = (0..=all.len() - count).filter(|at| all[*at..at + count] == anchor.lines[..]);
    let score = |at: usize| {
        let above = anchor.above.iter().rev().zip(all[..at].iter().rev());
        let below = anchor.below.iter().zip(&all[at + count..]);
        let same = above.chain(below).filter(|(a, b)| a == b).count();
        (same, std::cmp::Reverse(at.abs_diff(was)))
    };
    let best = starts.max_by_key(|at| score(*at))?;
    let around = anchor.above.len() + anchor.below.len();
    let says_little = word_chars(anchor.lines.concat().as_bytes()) < MIN_WORD_CHARS;
    let is_known = !says_little || 2 * score(best).0 >= around;
    is_known.then_some(best..best + count)
}

/// The lines of a content without their ends; what is no text is replaced.
fn text_lines(content: &[u8]) -> Vec<String> {
    let text = |line: &[u8]| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
    };
    lines(content).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_follows_its_lines_or_knows_that_they_are_gone() {
        let before = b"a\nb\nsame\nc\nsame\nd\n";
        let second = anchor_of(before, &(4..5), false);
        assert_eq!(second.first_line, 5);
        let found = |text: &str| find_anchor(text.as_bytes(), &second);
        assert_eq!(found("a\nb\nsame\nc\nsame\nd\n"), Some(4..5));
        assert_eq!(found("x\ny\na\nb\nsame\nc\nsame\nd\n"), Some(6..7));
        assert_eq!(found("c\nsame\nd\na\nb\nsame\n"), Some(1..2), "the lines around it count");
        assert_eq!(found("same\nx\ny\nz\nsame\n"), None, "it could be any line");
        assert_eq!(found("c\nsame\r\nd\n"), Some(1..2));
        assert_eq!(found("a\nb\nc\nd\n"), None);
        assert_eq!(find_anchor(b"a\n", &CommentAnchor::default()), None);
    }

    #[test]
    fn of_equal_lines_that_say_enough_the_closest_is_meant() {
        let line = "a line that is long enough to be known";
        let second = anchor_of(format!("a\nb\nc\nd\n{line}\ne\n").as_bytes(), &(4..5), false);
        let found = |text: &str| find_anchor(text.replace("LINE", line).as_bytes(), &second);
        assert_eq!(found("LINE\nx\ny\nz\nLINE\n"), Some(4..5));
        assert_eq!(found("LINE\nd\nLINE\ne\nx\nx\nLINE\n"), Some(2..3), "first those around it");
        assert_eq!(found("x\ny\nLINE\n"), Some(2..3));
    }
}
