//! Follows lines of a content to where they are in a later one.

use std::ops::Range;

use retake_model::Hunk;

use crate::content::diff::{LineEdit, edits_between, lines};

/// The edits between two contents, in order, none overlapping the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineMap {
    edits: Vec<LineEdit>,
}

impl LineMap {
    /// The edits that lead from one content to another.
    pub(crate) fn between(before: &[u8], after: &[u8]) -> Self {
        let (before, after): (Vec<_>, Vec<_>) = (lines(before).collect(), lines(after).collect());
        Self { edits: edits_between(&before, &after) }
    }

    /// The edits of a change, by its hunks.
    pub(crate) fn of_hunks(hunks: &[Hunk]) -> Self {
        let range = |start: u32, count: u32| {
            let start = start.saturating_sub(1) as usize;
            start..start + count as usize
        };
        let edit = |hunk: &Hunk| LineEdit {
            old: range(hunk.old_start, hunk.old_lines),
            new: range(hunk.new_start, hunk.new_lines),
        };
        Self { edits: hunks.iter().map(edit).collect() }
    }

    /// Returns the lines that are there now instead of these: lines that were edited are all that
    /// they became, and an empty range is a place between lines.
    pub(crate) fn follow(&self, lines: &Range<usize>) -> Range<usize> {
        let (start, end) = (self.follow_start(lines.start), self.follow_end(lines.end));
        start.min(end)..start.max(end)
    }

    /// The place of a first line; text inserted before it is not part of it.
    fn follow_start(&self, at: usize) -> usize {
        let passed = self.edits.partition_point(|edit| edit.old.end <= at);
        match self.edits.get(passed) {
            Some(edit) if edit.old.start < at => edit.new.start,
            _ => self.shifted(passed, at),
        }
    }

    /// The place after a last line; text inserted after it is not part of it.
    fn follow_end(&self, at: usize) -> usize {
        let passed = self.edits.partition_point(|edit| edit.old.start < at);
        match passed.checked_sub(1).map(|last| &self.edits[last]) {
            Some(edit) if edit.old.end > at => edit.new.end,
            _ => self.shifted(passed, at),
        }
    }

    /// A line behind the first `passed` edits.
    fn shifted(&self, passed: usize, at: usize) -> usize {
        match passed.checked_sub(1).map(|last| &self.edits[last]) {
            Some(edit) => edit.new.end + (at - edit.old.end),
            None => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(before: &str, after: &str) -> LineMap {
        let split = |text: &str| -> Vec<u8> {
            text.chars().flat_map(|line| format!("{line}\n").into_bytes()).collect()
        };
        LineMap::between(&split(before), &split(after))
    }

    #[test]
    fn lines_are_found_where_they_are_now() {
        let rows = [
            ("abcdef", "abcdef", 2..4, 2..4),
            ("abcdef", "xyabcdef", 2..4, 4..6),
            // What is inserted right before and after is not part of them.
            ("abcdef", "abxcdyef", 2..4, 3..5),
            // What is inserted in between is.
            ("abcdef", "abcxdef", 2..4, 2..5),
            // Edited lines are all that they became.
            ("abcdef", "abXYZef", 2..4, 2..5),
            ("abcdef", "abcXYf", 2..4, 2..5),
            ("abcdef", "Xdef", 2..4, 0..2),
            // Removed lines are the place where they were.
            ("abcdef", "abef", 2..4, 2..2),
            ("abcdef", "", 2..4, 0..0),
            // A place between lines.
            ("abcdef", "xabcdef", 2..2, 3..3),
            ("abcdef", "abxcdef", 2..2, 2..3),
        ];
        for (before, after, lines, expected) in rows {
            assert_eq!(map(before, after).follow(&lines), expected, "{before} {after} {lines:?}");
        }
    }

    #[test]
    fn hunks_on_record_lead_to_the_same_places() {
        let (before, after) = ("abcdef", "aXcdefYZ");
        let hunks = [
            Hunk { old_start: 2, old_lines: 1, new_start: 2, new_lines: 1 },
            Hunk { old_start: 7, old_lines: 0, new_start: 7, new_lines: 2 },
        ];
        let (of_hunks, between) = (LineMap::of_hunks(&hunks), map(before, after));
        for start in 0..=6 {
            for end in start..=6 {
                let lines = start..end;
                assert_eq!(of_hunks.follow(&lines), between.follow(&lines), "{lines:?}");
            }
        }
    }
}
