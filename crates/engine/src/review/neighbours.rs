//! The unchanged lines around a hunk, by which it is known again.

use retake_model::Hunk;

use crate::review::trace::ranges_of;

/// Unchanged lines on each side that belong to a hunk's id.
const NEIGHBOUR_LINES: usize = 3;

/// The nearest unchanged lines on both sides of a place.
#[derive(Debug)]
pub(super) struct Neighbours<'l> {
    pub(super) above: &'l [&'l [u8]],
    pub(super) below: &'l [&'l [u8]],
}

/// The lines that are the same with and without the changes.
#[derive(Debug)]
pub(super) struct UnchangedLines<'a> {
    lines: Vec<&'a [u8]>,
    /// The number of the first line behind each of them, in the file now; in order.
    ends: Vec<usize>,
}

impl<'a> UnchangedLines<'a> {
    /// The lines of the file now that are in no hunk.
    pub(super) fn of(now: &[&'a [u8]], hunks: &[Hunk]) -> Self {
        let (mut lines, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
        let places = hunks.iter().map(|hunk| ranges_of(hunk).1);
        for place in places.chain(std::iter::once(now.len()..now.len())) {
            let same = now.get(at..place.start).unwrap_or_default();
            lines.extend(same);
            ends.extend(at + 1..at + 1 + same.len());
            at = place.end;
        }
        Self { lines, ends }
    }

    /// The lines around a place of the file now.
    pub(super) fn around(&self, place: &std::ops::Range<usize>) -> Neighbours<'_> {
        let above = self.ends.partition_point(|end| *end <= place.start);
        let below = self.ends.partition_point(|end| *end <= place.end);
        Neighbours {
            above: &self.lines[above.saturating_sub(NEIGHBOUR_LINES)..above],
            below: &self.lines[below..(below + NEIGHBOUR_LINES).min(self.lines.len())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_the_nearest_lines_outside_of_hunks() {
        let now: Vec<&[u8]> = "abcdefgh".as_bytes().chunks(1).collect();
        let hunk = |new_start, new_lines| Hunk { old_start: 1, old_lines: 0, new_start, new_lines };
        // c and e are in hunks, and something was removed before h.
        let unchanged = UnchangedLines::of(&now, &[hunk(3, 1), hunk(5, 1), hunk(8, 0)]);
        let around = |place| {
            let found = unchanged.around(&place);
            String::from_utf8([found.above.concat(), b"|".to_vec(), found.below.concat()].concat())
        };
        assert_eq!(around(2..3).unwrap(), "ab|dfg");
        assert_eq!(around(4..5).unwrap(), "abd|fgh");
        assert_eq!(around(7..7).unwrap(), "dfg|h");
        assert_eq!(around(0..0).unwrap(), "|abd");
        assert_eq!(around(8..8).unwrap(), "fgh|");
    }
}
