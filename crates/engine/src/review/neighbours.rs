//! The lines around a hunk, by which it is known again.
//!
//! They are those of the file without the changes of the scope. What other hunks removed counts and
//! what they added does not, so that a hunk keeps its id while others are kept or taken back.

use std::ops::Range;

/// Lines on each side that belong to a hunk's id.
const NEIGHBOUR_LINES: usize = 3;

/// The nearest lines on both sides of a place.
#[derive(Debug)]
pub(super) struct Neighbours<'l> {
    pub(super) above: &'l [&'l [u8]],
    pub(super) below: &'l [&'l [u8]],
}

impl<'l> Neighbours<'l> {
    /// The lines around a place of the file without the changes.
    pub(super) fn of(base: &'l [&'l [u8]], place: &Range<usize>) -> Self {
        let lines = |range: Range<usize>| base.get(range).unwrap_or_default();
        let start = place.start.min(base.len());
        let end = place.end.min(base.len());
        Self {
            above: lines(start.saturating_sub(NEIGHBOUR_LINES)..start),
            below: lines(end..(end + NEIGHBOUR_LINES).min(base.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_the_nearest_lines_on_both_sides() {
        let base: Vec<&[u8]> = "abcdefgh".as_bytes().chunks(1).collect();
        let around = |place| {
            let found = Neighbours::of(&base, &place);
            String::from_utf8([found.above.concat(), b"|".to_vec(), found.below.concat()].concat())
        };
        assert_eq!(around(3..5).unwrap(), "abc|fgh");
        assert_eq!(around(1..2).unwrap(), "a|cde");
        assert_eq!(around(7..7).unwrap(), "efg|h");
        assert_eq!(around(0..0).unwrap(), "|abc");
        assert_eq!(around(8..8).unwrap(), "fgh|");
        assert_eq!(around(9..12).unwrap(), "fgh|", "beyond the end");
    }
}
