//! Columns that line up, whatever script the words are in.

use unicode_width::UnicodeWidthStr as _;

use crate::output::TextStyle;

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
}

/// Rows of cells; columns are as wide as their widest cell.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<TableCell>>,
}

impl TextTable {
    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<TableCell>>) {
        self.rows.push(cells.into());
    }

    /// The lines, each after `indent`, with two spaces between columns.
    pub(crate) fn render(&self, indent: &str, colour: bool) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|at| self.width(at)).collect();
        let mut out = String::new();
        for row in &self.rows {
            out.push_str(&render_row(row, &widths, indent, colour));
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
fn render_row(row: &[TableCell], widths: &[usize], indent: &str, colour: bool) -> String {
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
        let mut table = TextTable::default();
        let cell = |text: &str| TableCell::new(text, TextStyle::Plain);
        table.row([cell("漢字"), TableCell::right("1", TextStyle::Plain), cell("x")]);
        table.row([cell("a"), TableCell::right("10", TextStyle::Plain), cell("")]);
        assert_eq!(table.render("- ", false), "- 漢字   1  x\n- a     10\n");
    }
}
