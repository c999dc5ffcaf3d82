//! Columns of a table: how their cells become narrower, and which columns are left out first.

/// How a cell that does not fit becomes narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnFit {
    /// Not at all, unless nothing else helps: ids, numbers, times.
    Whole,
    /// In the middle.
    Path,
    /// At its end, after a word.
    Title,
    /// It goes on in the next line.
    Wrapped,
    /// Not at all: the line may be wider than the terminal. For the last column only.
    Overflow,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(super) fit: ColumnFit,
    /// It is not made narrower than this while another column can be left out.
    pub(super) min: usize,
    /// Its place in the order in which columns are left out; 0 stays.
    pub(super) drop_rank: u8,
}

impl Column {
    /// Ids, numbers and times.
    pub(crate) const WHOLE: Self = Self::new(ColumnFit::Whole, usize::MAX);
    /// Paths.
    pub(crate) const PATH: Self = Self::new(ColumnFit::Path, 24);
    /// Titles, lists of ids and other text that may lose its end.
    pub(crate) const TITLE: Self = Self::new(ColumnFit::Title, 16);
    /// Text that must be read whole.
    pub(crate) const WRAPPED: Self = Self::new(ColumnFit::Wrapped, 24);
    /// Lines of files.
    pub(crate) const CODE: Self = Self::new(ColumnFit::Overflow, 40);

    const fn new(fit: ColumnFit, min: usize) -> Self {
        Self { fit, min, drop_rank: 0 }
    }

    /// The column, not narrower than this while another one can be left out.
    pub(crate) const fn at_least(self, min: usize) -> Self {
        Self { min, ..self }
    }

    /// The column, left out as number `rank` if the table is too wide: 1 is left out first, and
    /// columns of the same rank together.
    pub(crate) const fn dropped(self, rank: u8) -> Self {
        Self { drop_rank: rank, ..self }
    }
}

/// The width of each column in `room`, with two spaces between them; none for those left out.
pub(super) fn fit_columns(
    columns: &[Column],
    natural: &[usize],
    room: usize,
) -> Vec<Option<usize>> {
    // What may overflow claims its minimum only: the other columns do not make room for more.
    let wanted = natural.iter().zip(columns).map(|(width, column)| match column.fit {
        ColumnFit::Overflow => (*width).min(column.min),
        _ => *width,
    });
    let mut widths: Vec<_> = wanted.map(|width| Some(width).filter(|width| *width > 0)).collect();
    let least = |at: usize, width: usize| width.min(columns[at].min);
    while total(&widths, least) > room {
        let rank = |at: &usize| columns[*at].drop_rank;
        let droppable = (0..widths.len()).filter(|at| widths[*at].is_some() && rank(at) > 0);
        // Columns of one rank belong together: no `-1` without its `+2`.
        let Some(first) = droppable.map(|at| rank(&at)).min() else { break };
        for at in (0..widths.len()).filter(|at| rank(at) == first) {
            widths[at] = None;
        }
    }
    for fit in [ColumnFit::Wrapped, ColumnFit::Title, ColumnFit::Path] {
        let is_fit = |at: usize| columns[at].fit == fit;
        narrow(&mut widths, room, |at| if is_fit(at) { columns[at].min } else { usize::MAX });
    }
    narrow(
        &mut widths,
        room,
        |at| if columns[at].fit == ColumnFit::Overflow { usize::MAX } else { 1 },
    );
    widths
}

/// Makes the widest columns narrower, one column of the terminal at a time, down to their minimum.
fn narrow(widths: &mut [Option<usize>], room: usize, min: impl Fn(usize) -> usize) {
    let mut excess = total(widths, |_, width| width).saturating_sub(room);
    while excess > 0 {
        let wide = |at: &usize| widths[*at].filter(|width| *width > min(*at));
        let Some(at) = (0..widths.len()).filter(|at| wide(at).is_some()).max_by_key(wide) else {
            break;
        };
        widths[at] = widths[at].map(|width| width - 1);
        excess -= 1;
    }
}

/// The width of a line, where each column is as wide as `width` says.
fn total(widths: &[Option<usize>], width: impl Fn(usize, usize) -> usize) -> usize {
    let shown = widths.iter().enumerate().filter_map(|(at, wide)| wide.map(|wide| width(at, wide)));
    let (count, sum) = shown.fold((0, 0), |(count, sum), wide| (count + 1, sum + wide));
    sum + super::table::GAP.len() * usize::saturating_sub(count, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] =
        [Column::WHOLE, Column::PATH, Column::WHOLE.dropped(1), Column::TITLE.dropped(2)];

    fn fit(room: usize) -> Vec<Option<usize>> {
        fit_columns(&COLUMNS, &[3, 40, 8, 30], room)
    }

    #[test]
    fn columns_become_narrower_and_then_fewer() {
        assert_eq!(fit(87), [Some(3), Some(40), Some(8), Some(30)]);
        assert_eq!(fit(80), [Some(3), Some(40), Some(8), Some(23)]);
        assert_eq!(fit(66), [Some(3), Some(33), Some(8), Some(16)]);
        assert_eq!(fit(57), [Some(3), Some(24), Some(8), Some(16)]);
        assert_eq!(fit(56), [Some(3), Some(33), None, Some(16)]);
        assert_eq!(fit(40), [Some(3), Some(35), None, None]);
        assert_eq!(fit(10), [Some(3), Some(5), None, None]);
    }

    #[test]
    fn columns_of_one_rank_are_left_out_together() {
        let columns = [Column::PATH, Column::WHOLE.dropped(1), Column::WHOLE.dropped(1)];
        assert_eq!(fit_columns(&columns, &[24, 6, 2], 36), [Some(24), Some(6), Some(2)]);
        assert_eq!(fit_columns(&columns, &[24, 6, 2], 35), [Some(24), None, None]);
    }

    #[test]
    fn lines_of_code_overflow_and_leave_the_others_whole() {
        let columns = [Column::WHOLE, Column::WHOLE.dropped(1), Column::CODE];
        assert_eq!(fit_columns(&columns, &[3, 12, 150], 80), [Some(3), Some(12), Some(40)]);
        assert_eq!(fit_columns(&columns, &[3, 12, 150], 50), [Some(3), None, Some(40)]);
        assert_eq!(fit_columns(&columns, &[3, 12, 20], 50), [Some(3), Some(12), Some(20)]);
    }

    #[test]
    fn empty_columns_take_no_room() {
        assert_eq!(fit_columns(&COLUMNS, &[3, 0, 2, 4], 80), [Some(3), None, Some(2), Some(4)]);
    }
}
