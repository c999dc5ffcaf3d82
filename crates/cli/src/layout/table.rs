//! Tables: columns that line up, whatever script the words are in, and fit the terminal.

use unicode_width::UnicodeWidthStr as _;

use super::column::{Column, ColumnFit, fit_columns};
use super::shorten::{shorten_path, shorten_title, wrap_words};
use crate::output::{Output, TextStyle};

/// Between two columns.
pub(super) const GAP: &str = "  ";

/// One cell: a word that is safe to show, and how it looks.
#[derive(Clone, Debug)]
pub(crate) struct TableCell {
    text: String,
    style: TextStyle,
    right: bool,
}

impl TableCell {
    /// A cell that starts at the left of its column.
    pub(crate) fn new(text: impl Into<String>, style: TextStyle) -> Self {
        Self { text: text.into(), style, right: false }
    }

    /// A cell that ends at the right of its column.
    pub(crate) fn right(text: impl Into<String>, style: TextStyle) -> Self {
        Self { text: text.into(), style, right: true }
    }

    /// A cell without text.
    pub(crate) fn empty() -> Self {
        Self::new("", TextStyle::Plain)
    }
}

/// Rows of cells; columns are as wide as their widest cell, if the terminal is.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<TableCell>>,
    /// Whether the first row has the names of the columns.
    has_head: bool,
}

impl TextTable {
    /// A table with these columns. Without any, cells stay whole, and the last one is wrapped.
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), ..Self::default() }
    }

    /// The table with the names of its columns on top; a column without anything below its name is
    /// left out.
    pub(crate) fn with_head<const N: usize>(mut self, names: [&str; N]) -> Self {
        self.row(names.map(|name| TableCell::new(name, TextStyle::Bold)));
        self.has_head = true;
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<TableCell>>) {
        self.rows.push(cells.into());
    }

    /// The lines, each after `indent`, with two spaces between columns.
    pub(crate) fn render(&self, indent: &str, out: Output) -> String {
        self.render_rows(indent, out).concat()
    }

    /// The lines of each row, for other text to be put between them.
    pub(crate) fn render_rows(&self, indent: &str, out: Output) -> Vec<String> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let columns: Vec<Column> = (0..count).map(|at| self.column(at, count)).collect();
        let natural: Vec<usize> = (0..count).map(|at| self.natural_width(at)).collect();
        let room = out.width.map_or(usize::MAX, |width| width.saturating_sub(indent.width()));
        let widths = fit_columns(&columns, &natural, room);
        let render = |row: &Vec<TableCell>| {
            let mut text = String::new();
            render_row(row, &columns, &widths, indent, out.colour, &mut text);
            text
        };
        self.rows.iter().map(render).collect()
    }

    fn column(&self, at: usize, count: usize) -> Column {
        let last = if at + 1 == count { Column::WRAPPED } else { Column::WHOLE };
        self.columns.get(at).copied().unwrap_or(last)
    }

    fn natural_width(&self, column: usize) -> usize {
        let width = |row: &Vec<TableCell>| row.get(column).map_or(0, |cell| cell.text.width());
        let below_head = self.rows.iter().skip(usize::from(self.has_head)).map(width).max();
        match below_head {
            Some(0) => 0,
            _ => self.rows.iter().map(width).max().unwrap_or(0),
        }
    }
}

fn render_row(
    row: &[TableCell],
    columns: &[Column],
    widths: &[Option<usize>],
    indent: &str,
    colour: bool,
    text: &mut String,
) {
    let shown: Vec<_> = row
        .iter()
        .zip(columns)
        .zip(widths)
        .filter_map(|((cell, column), width)| {
            width.map(|width| FittedCell::new(cell, *column, width))
        })
        .collect();
    let height = shown.iter().map(|cell| cell.lines.len()).max().unwrap_or(1);
    for line in 0..height {
        text.push_str(indent);
        // The last cell is not padded, so that no line ends in spaces.
        let last = shown.iter().rposition(|cell| !cell.line(line).is_empty());
        for (at, cell) in shown.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
            cell.render(line, Some(at) == last, colour, text);
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
}

/// A cell in the lines that its column has room for.
struct FittedCell<'a> {
    cell: &'a TableCell,
    width: usize,
    lines: Vec<String>,
}

impl<'a> FittedCell<'a> {
    fn new(cell: &'a TableCell, column: Column, width: usize) -> Self {
        let text = &cell.text;
        let lines = match column.fit {
            _ if text.width() <= width => vec![text.clone()],
            ColumnFit::Path => vec![shorten_path(text, width)],
            ColumnFit::Whole | ColumnFit::Title => vec![shorten_title(text, width)],
            ColumnFit::Wrapped => wrap_words(text, width),
            ColumnFit::Overflow => vec![text.clone()],
        };
        Self { cell, width, lines }
    }

    fn line(&self, number: usize) -> &str {
        self.lines.get(number).map_or("", String::as_str)
    }

    fn render(&self, number: usize, is_last: bool, colour: bool, text: &mut String) {
        let line = self.line(number);
        let padding = " ".repeat(self.width.saturating_sub(line.width()));
        if self.cell.right {
            text.push_str(&padding);
        }
        text.push_str(&self.cell.style.paint(line, colour));
        if !is_last {
            if !self.cell.right {
                text.push_str(&padding);
            }
            text.push_str(GAP);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn cell(text: &str) -> TableCell {
        TableCell::new(text, TextStyle::Plain)
    }

    fn number(text: &str) -> TableCell {
        TableCell::right(text, TextStyle::Plain)
    }

    fn out(width: Option<usize>) -> Output {
        Output { terminal: false, colour: false, width }
    }

    #[test]
    fn wide_letters_take_two_columns() {
        let mut table = TextTable::default();
        table.row([cell("漢字"), number("1"), cell("x")]);
        table.row([cell("a"), number("10"), cell("")]);
        assert_eq!(table.render("- ", out(None)), "- 漢字   1  x\n- a     10\n");
    }

    #[test]
    fn a_column_with_nothing_but_a_name_is_left_out() {
        let mut table = TextTable::default().with_head(["ID", "NOTE", "WHO"]);
        assert_eq!(table.render("", out(None)), "ID  NOTE  WHO\n");
        table.row([cell("c1"), cell(""), cell("you")]);
        assert_eq!(table.render("", out(None)), "ID  WHO\nc1  you\n");
    }

    #[test]
    fn rows_fit_the_terminal() {
        let columns = [Column::WHOLE, Column::PATH, Column::WHOLE.dropped(1), Column::WRAPPED];
        let mut table = TextTable::new(columns);
        table.row([cell("left"), cell("src/a/b/checkout_page.tsx"), number("1"), cell("changed")]);
        table.row([
            cell("left"),
            cell("页面/结账/测试.tsx"),
            number("12"),
            cell("later changes touch the same lines"),
        ]);
        expect![[r"
            left  src/a/b/checkout_page.tsx   1  changed
            left  页面/结账/测试.tsx         12  later changes touch the same lines
        "]]
        .assert_eq(&table.render("", out(None)));
        expect![[r"
            | left  src/a/b/checkout_page.tsx   1  changed
            | left  页面/结账/测试.tsx         12  later changes touch the
            |                                      same lines
        "]]
        .assert_eq(&table.render("| ", out(Some(65))));
        expect![[r"
            | left  src/…/checkout_page.tsx   changed
            | left  页面/结账/测试.tsx        later changes touch the
            |                                 same lines
        "]]
        .assert_eq(&table.render("| ", out(Some(58))));
        for width in 4..80 {
            for line in table.render("", out(Some(width))).lines() {
                assert!(line.width() <= width.max(14), "{width}: {line}");
            }
        }
    }
}
