//! Sets of lines, and how they shift when the file changes around them.
//!
//! Lines count from 0 here, and a span is half open. A whole file is one span without an end, so
//! that the number of lines need not be known.

use retake_model::{Hunk, LineSpan};

/// Some lines of a file: spans in order that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineSet(Vec<LineInterval>);

/// Lines from `start` up to, but without, `end`. An empty one is a place between two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LineInterval {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl LineInterval {
    pub(super) const ALL: Self = Self { start: 0, end: u32::MAX };

    fn from_first(first: u32, count: u32) -> Self {
        let start = first.saturating_sub(1);
        Self { start, end: start.saturating_add(count) }
    }

    /// The lines of a hunk before, and after.
    pub(super) fn of_hunk(hunk: &Hunk) -> (Self, Self) {
        (
            Self::from_first(hunk.old_start, hunk.old_lines),
            Self::from_first(hunk.new_start, hunk.new_lines),
        )
    }

    pub(super) fn lines(self) -> LineSpan {
        LineSpan { first: self.start.saturating_add(1), last: self.end }
    }

    fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns whether replacing `old` changes what these lines show. An insertion counts if it is
    /// between two of them, or at the top of a file of which the first line is one of them.
    pub(super) fn is_hit_by(self, old: Self) -> bool {
        if old.is_empty() {
            let within = self.start < old.start && old.start < self.end;
            return within || (old.start == 0 && self.start == 0);
        }
        if self.is_empty() {
            return old.start <= self.start && self.start <= old.end;
        }
        self.start < old.end && old.start < self.end
    }

    /// Returns the parts of these lines that the hunks leave, at their new numbers.
    pub(super) fn after(self, hunks: &[Hunk]) -> Vec<Self> {
        if self.is_empty() {
            let is_hit = hunks.iter().any(|hunk| self.is_hit_by(Self::of_hunk(hunk).0));
            return if is_hit { Vec::new() } else { vec![self.shifted(hunks)] };
        }
        LineSet(vec![self]).after(hunks).0
    }

    /// Returns these lines at their new numbers, if no hunk hits them.
    fn shifted(self, hunks: &[Hunk]) -> Self {
        let shift = |line: u32| {
            if line == u32::MAX {
                return line;
            }
            let before = hunks.iter().map(Self::of_hunk).take_while(|(old, _)| old.end <= line);
            before.last().map_or(line, |(old, new)| new.end.saturating_add(line - old.end))
        };
        // The last line moves with itself, not with what is put in after it.
        let end = if self.is_empty() || self.end == u32::MAX {
            shift(self.end)
        } else {
            shift(self.end - 1).saturating_add(1)
        };
        Self { start: shift(self.start).min(end), end }
    }
}

impl LineSet {
    pub(super) fn all() -> Self {
        Self(vec![LineInterval::ALL])
    }

    pub(super) fn from_lines(lines: &[LineSpan]) -> Self {
        let mut spans = Self::default();
        for lines in lines.iter().filter(|lines| lines.first >= 1 && lines.last >= lines.first) {
            spans.add(LineInterval { start: lines.first - 1, end: lines.last });
        }
        spans
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether replacing these lines changes what the set shows.
    pub(super) fn are_hit_by(&self, old: LineInterval) -> bool {
        self.0.iter().any(|span| span.is_hit_by(old))
    }

    /// Returns the parts of a span not in the set; a place between lines is in it if a line beside
    /// it is.
    pub(super) fn missing_of(&self, span: LineInterval) -> Vec<LineInterval> {
        if span.is_empty() {
            let beside =
                |known: &LineInterval| known.start <= span.start && span.start <= known.end;
            return if self.0.iter().any(beside) { Vec::new() } else { vec![span] };
        }
        let mut missing = Vec::new();
        let mut start = span.start;
        for known in self.0.iter().filter(|known| known.end > span.start) {
            if start < known.start.min(span.end) {
                missing.push(LineInterval { start, end: known.start.min(span.end) });
            }
            start = start.max(known.end);
        }
        if start < span.end {
            missing.push(LineInterval { start, end: span.end });
        }
        missing
    }

    pub(super) fn add(&mut self, new: LineInterval) {
        if new.is_empty() {
            return;
        }
        let (mut start, mut end) = (new.start, new.end);
        self.0.retain(|span| {
            let apart = span.end < start || end < span.start;
            if !apart {
                (start, end) = (start.min(span.start), end.max(span.end));
            }
            apart
        });
        let at = self.0.partition_point(|span| span.start < start);
        self.0.insert(at, LineInterval { start, end });
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|span| self.add(*span));
    }

    /// Returns the parts of the set that these hunks leave, at their new numbers.
    pub(super) fn after(&self, hunks: &[Hunk]) -> Self {
        let mut left = Self::default();
        for span in &self.0 {
            let mut start = span.start;
            for (old, _) in hunks.iter().map(LineInterval::of_hunk) {
                // An insertion, too, separates the lines before from those after.
                let cut = LineInterval { start, end: span.end.min(old.start) };
                if old.end < span.start || span.end < old.start {
                    continue;
                }
                if cut.start < cut.end {
                    left.add_shifted(cut, hunks);
                }
                start = start.max(old.end);
            }
            if start < span.end {
                left.add_shifted(LineInterval { start, end: span.end }, hunks);
            }
        }
        left
    }

    fn add_shifted(&mut self, span: LineInterval, hunks: &[Hunk]) {
        self.add(span.shifted(hunks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(old_start: u32, old_lines: u32, new_start: u32, new_lines: u32) -> Hunk {
        Hunk { old_start, old_lines, new_start, new_lines }
    }

    fn spans(list: &[(u32, u32)]) -> LineSet {
        LineSet(list.iter().map(|&(start, end)| LineInterval { start, end }).collect())
    }

    #[test]
    fn lines_move_with_what_happens_before_them() {
        let ten = spans(&[(0, 10)]);
        assert_eq!(ten.after(&[hunk(11, 2, 11, 5)]), ten);
        assert_eq!(ten.after(&[hunk(1, 0, 1, 3)]), spans(&[(3, 13)]));
        assert_eq!(ten.after(&[hunk(5, 1, 5, 1)]), spans(&[(0, 4), (5, 10)]));
        assert_eq!(ten.after(&[hunk(5, 0, 5, 2)]), spans(&[(0, 4), (6, 12)]));
        assert_eq!(ten.after(&[hunk(5, 2, 5, 0)]), spans(&[(0, 8)]));
        assert_eq!(ten.after(&[hunk(11, 0, 11, 2)]), ten);
        assert_eq!(LineSet::all().after(&[hunk(3, 1, 3, 2)]), spans(&[(0, 2), (4, u32::MAX)]));
        assert_eq!(ten.after(&[hunk(1, 20, 1, 0)]), spans(&[]));
    }

    #[test]
    fn what_is_put_in_hits_only_what_it_parts() {
        let ten = spans(&[(5, 10)]);
        let at = |line| ten.are_hit_by(LineInterval { start: line, end: line });
        assert_eq!([4, 5, 6, 9, 10].map(at), [false, false, true, true, false]);
        assert!(LineSet::all().are_hit_by(LineInterval { start: 0, end: 0 }));
    }
}
