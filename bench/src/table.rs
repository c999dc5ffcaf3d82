//! Tables, in Markdown with aligned columns: for the terminal and for the document.

use std::fmt::{self, Write as _};

use retake_engine::model::format_count;

use crate::cases::RETAKE;
use crate::goals::{GoalLimit, PerformanceGoal};
use crate::measurements::{MeasuredSeries, Measurements, SeriesUnit};

/// Rows of text under a head.
pub(crate) struct MarkdownTable {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// From this column on, text stands at the right.
    right_from: usize,
}

impl MarkdownTable {
    pub(crate) fn new(head: Vec<impl Into<String>>, right_from: usize) -> Self {
        let head = head.into_iter().map(Into::into).collect();
        Self { head, rows: Vec::new(), right_from }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for MarkdownTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = &self.head;
        let wide = |column: usize| {
            let cells = self.rows.iter().chain([head]).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..head.len()).map(wide).collect();
        let mut line = |cells: &[String]| {
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                if column < self.right_from {
                    write!(f, "| {cell:<width$} ")?;
                } else {
                    write!(f, "| {cell:>width$} ")?;
                }
            }
            writeln!(f, "|")
        };
        line(head)?;
        let rule = |(column, width): (usize, &usize)| {
            if column < self.right_from { "-".repeat(*width) } else { "-".repeat(width - 1) + ":" }
        };
        line(&widths.iter().enumerate().map(rule).collect::<Vec<_>>())?;
        self.rows.iter().try_for_each(|row| line(row))
    }
}

/// Renders all measurements.
pub(crate) fn comparison(book: &Measurements) -> String {
    let mut text = String::new();
    for (name, value) in book.machine.lines() {
        let _ = writeln!(text, "- {name}: {value}");
    }
    for missing in &book.missing {
        let _ = writeln!(text, "- not measured: {missing}");
    }
    for tree in &book.trees {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let (name, size) = (&tree.name, mebibytes(tree.bytes as f64));
        let _ = writeln!(text, "\n### {name}: {} files, {size}\n", format_count(tree.files));
        let _ = write!(text, "{}", of_tree(book, name));
    }
    let rest = of_tree(book, "");
    if !rest.rows.is_empty() {
        let _ = write!(text, "\n### Whatever the tree\n\n{rest}");
    }
    text
}

fn of_tree(book: &Measurements, tree: &str) -> MarkdownTable {
    let head = vec!["case", "who", "median", "least – most", "against Retake", "memory"];
    let mut table = MarkdownTable::new(head, 2);
    let mut cases: Vec<&str> = Vec::new();
    for series in book.series.iter().filter(|series| series.tree == tree) {
        if !cases.contains(&series.case.as_str()) {
            cases.push(&series.case);
        }
    }
    for case in cases {
        let in_case = |series: &&MeasuredSeries| series.tree == tree && series.case == case;
        let mut shown = case;
        for series in book.series.iter().filter(in_case) {
            table.row(row(book, series, shown));
            shown = "";
        }
    }
    table
}

fn row(book: &Measurements, series: &MeasuredSeries, case: &str) -> Vec<String> {
    let unit = |value: f64| match series.unit {
        SeriesUnit::Ms => milliseconds(value),
        SeriesUnit::Bytes => mebibytes(value),
    };
    let spread = match series.values.len() {
        1 => String::new(),
        _ => format!("{} – {}", unit(series.least()), unit(series.most())),
    };
    let ours = book.median(&series.tree, &series.case, RETAKE);
    let against = ours.filter(|_| series.peer != RETAKE).map(|ours| series.median() / ours);
    let memory = (series.peak_kib > 0).then(|| format!("{} MiB", series.peak_kib / 1024));
    vec![
        case.to_owned(),
        series.peer.clone(),
        unit(series.median()),
        spread,
        against.map(times).unwrap_or_default(),
        memory.unwrap_or_default(),
    ]
}

/// Renders the targets, and whether they are met.
pub(crate) fn targets(targets: &[PerformanceGoal]) -> String {
    let mut table = MarkdownTable::new(vec!["tree", "target", "limit", "measured", ""], 2);
    for target in targets {
        let limit = match target.limit {
            GoalLimit::AtLeast(limit) => format!("≥ {limit}"),
            GoalLimit::AtMost(limit) => format!("≤ {limit}"),
        };
        let met = match target.met() {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "not measured",
        };
        table.row(vec![
            target.tree.clone(),
            target.what.clone(),
            limit,
            target.measured.map(rounded).unwrap_or_default(),
            met.to_owned(),
        ]);
    }
    table.to_string()
}

pub(crate) fn milliseconds(value: f64) -> String {
    format!("{} ms", rounded(value))
}

fn mebibytes(bytes: f64) -> String {
    format!("{} MiB", rounded(bytes / 1_048_576.0))
}

pub(crate) fn times(value: f64) -> String {
    format!("{} ×", rounded(value))
}

/// Rounds to three significant digits.
pub(crate) fn rounded(value: f64) -> String {
    match value.abs() {
        size if size >= 99.5 => format_count(value.round() as u64),
        size if size >= 9.95 => format!("{value:.1}"),
        size if size >= 0.995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = MarkdownTable::new(vec!["who", "ms"], 1);
        table.row(vec!["shadow git".to_owned(), "7".to_owned()]);
        table.row(vec!["×".to_owned(), "1,234".to_owned()]);
        let expected = "\
| who        |    ms |
| ---------- | ----: |
| shadow git |     7 |
| ×          | 1,234 |
";
        assert_eq!(table.to_string(), expected);
        let shown = [0.0123, 1.234, 12.34, 123.4, 1_234_567.0].map(rounded);
        assert_eq!(shown, ["0.012", "1.23", "12.3", "123", "1,234,567"]);
    }
}
