//! Columns that line up, whatever script the words are in.

use unicode_width::UnicodeWidthStr as _;

use crate::output::Style;

/// One cell: a word that is safe to show, and how it looks.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
    right: bool,
}

impl Cell {
    /// A cell that starts at the left of its column.
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, right: false }
    }

    /// A cell that ends at the right of its column.
    pub(crate) fn right(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, right: true }
    }
}

/// Rows of cells; columns are as wide as their widest cell.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    /// The lines, each after `indent`, with two spaces between columns.
    pub(crate) fn render(&self, indent: &str, colour: bool) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|at| self.width(at)).collect();
        let mut out = String::new();
        for row in &self.rows {
            out.push_str(&line(row, &widths, indent, colour));
            out.push('\n');
        }
        out
    }

    fn width(&self, column: usize) -> usize {
        self.rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|c| c.text.width())
            .max()
            .unwrap_or(0)
    }
}

/// The last cell is not padded, so that no line ends in spaces.
fn line(row: &[Cell], widths: &[usize], indent: &str, colour: bool) -> String {
    let mut line = indent.to_owned();
    let last = row.iter().rposition(|cell| !cell.text.is_empty());
    for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
        if last.is_none_or(|last| at > last) {
            break;
        }
        let padding = " ".repeat(width.saturating_sub(cell.text.width()));
        if cell.right {
            line.push_str(&padding);
        }
        line.push_str(&cell.style.paint(&cell.text, colour));
        if Some(at) != last {
            if !cell.right {
                line.push_str(&padding);
            }
            line.push_str("  ");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_take_two_columns() {
        let mut table = Table::default();
        let cell = |text: &str| Cell::new(text, Style::Plain);
        table.row([cell("漢字"), Cell::right("1", Style::Plain), cell("x")]);
        table.row([cell("a"), Cell::right("10", Style::Plain), cell("")]);
        assert_eq!(table.render("- ", false), "- 漢字   1  x\n- a     10\n");
    }
}
