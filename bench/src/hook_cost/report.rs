//! Renders the measurements as tables.

use std::fmt::Write as _;

use retake_engine::model::format_count;

use super::{ConcurrentTimes, HookCostRow, HookCosts, MeasuredPrograms};
use crate::latency::Latencies;
use crate::table::{MarkdownTable, rounded, times};

/// Renders all: the calls one by one, those that begin at once, and the remarks.
pub(super) fn render_all(range: &MeasuredPrograms<'_>, found: &HookCosts) -> String {
    let names: Vec<&str> = range.programs.iter().map(|program| program.name.as_str()).collect();
    let mut text = format!("Times in ms, median / p95 of {} rounds.\n\n", range.rounds);
    let _ = write!(text, "{}", calls_table(&names, &found.rows));
    if let Some(crowd) = &found.crowd {
        let _ = write!(text, "\n{}", concurrent_table(&names, crowd));
    }
    let _ = writeln!(text);
    for note in &found.notes {
        let _ = writeln!(text, "- {note}");
    }
    text
}

/// A row for each command in each project. A ratio is that of the medians to the first program's.
fn calls_table(names: &[&str], rows: &[HookCostRow]) -> MarkdownTable {
    let mut head: Vec<String> =
        ["files", "daemon", "command", "empty process"].map(Into::into).into();
    for (number, name) in names.iter().enumerate() {
        head.extend([format!("{name}: begin"), format!("{name}: end")]);
        if number > 0 {
            head.extend(["begin, ratio".to_owned(), "end, ratio".to_owned()]);
        }
    }
    let mut table = MarkdownTable::new(head, 3);
    for row in rows {
        let daemon = if row.daemon { "yes" } else { "no" };
        let mut cells =
            vec![format_count(row.files), daemon.to_owned(), row.command.name().to_owned()];
        cells.push(middle_and_bad(&row.empty));
        for (number, program) in row.times.iter().enumerate() {
            cells.extend([&program.begin, &program.end].map(middle_and_bad));
            if number > 0 {
                let first = &row.times[0];
                cells.push(ratio(&program.begin, &first.begin));
                cells.push(ratio(&program.end, &first.end));
            }
        }
        table.row(cells);
    }
    table
}

/// A row for each program.
fn concurrent_table(names: &[&str], crowd: &ConcurrentTimes) -> MarkdownTable {
    let what = format!("{} begins at once, until all are answered", crowd.calls);
    let mut table =
        MarkdownTable::new(vec![what, "median / p95".to_owned(), "ratio".to_owned()], 1);
    for (name, program) in names.iter().zip(&crowd.times) {
        let cells = [middle_and_bad(program), ratio(program, &crowd.times[0])];
        table.row([vec![(*name).to_owned()], cells.into()].concat());
    }
    table
}

fn middle_and_bad(latencies: &Latencies) -> String {
    format!(
        "{} / {}",
        rounded(latencies.percentile_ms(0.5)),
        rounded(latencies.percentile_ms(0.95))
    )
}

fn ratio(latencies: &Latencies, first: &Latencies) -> String {
    times(latencies.percentile_ms(0.5) / first.percentile_ms(0.5))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::HookTimes;
    use super::super::fixture::ShellCommand;
    use super::*;

    fn latencies(ms: u64) -> Latencies {
        let mut latencies = Latencies::default();
        latencies.add(Duration::from_millis(ms));
        latencies
    }

    #[test]
    fn all_but_the_first_program_are_compared_to_it() {
        let times = [(20, 40), (10, 44)];
        let times =
            times.map(|(begin, end)| HookTimes { begin: latencies(begin), end: latencies(end) });
        let (command, empty) = (ShellCommand::Reader, latencies(1));
        let row = HookCostRow { files: 15_000, daemon: false, command, empty, times: times.into() };
        let expected = "\
| files  | daemon | command | empty process |    old: begin |      old: end |    new: begin |      new: end | begin, ratio | end, ratio |
| ------ | ------ | ------- | ------------: | ------------: | ------------: | ------------: | ------------: | -----------: | ---------: |
| 15,000 | no     | ls src  |   1.00 / 1.00 |   20.0 / 20.0 |   40.0 / 40.0 |   10.0 / 10.0 |   44.0 / 44.0 |      0.500 × |     1.10 × |
";
        let squeeze = |text: &str| text.replace([' ', '-'], "");
        assert_eq!(squeeze(&calls_table(&["old", "new"], &[row]).to_string()), squeeze(expected));
    }
}
