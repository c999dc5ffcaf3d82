//! Hook cost with cold caches: before each call the system's caches are dropped, so
//! that the hook reads folders and files from the disk. The result is whether it answers in time,
//! and its message if it cannot do all of its work.
//!
//! The program itself is read again first: an agent has called it before. Only root may drop the
//! caches; otherwise the report says that they were warm.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use retake_engine::model::format_count;

use super::fixture::{FixtureOptions, HookFixture, ShellCommand};
use super::{HookTimes, MeasuredPrograms};
use crate::compare::print_progress;
use crate::files;
use crate::latency::Latencies;
use crate::process;
use crate::table::{MarkdownTable, rounded};

/// Deadline for the answer of a hook: a longer wait delays the agent.
const ANSWER_DEADLINE: Duration = Duration::from_millis(2500);

/// Lines that hooks printed, and their counts.
type RemarkCounts = BTreeMap<String, usize>;

pub(super) fn run(range: &MeasuredPrograms<'_>, sizes: &[u64]) -> Result<()> {
    let head = ["files", "command", "program", "begin", "in time", "end", "in time"];
    let (mut table, mut notes) = (MarkdownTable::new(head.to_vec(), 3), Vec::new());
    let mut cold = true;
    for &files in sizes {
        for (number, program) in range.programs.iter().enumerate() {
            print_progress(&format!("{files} files, {}, nothing in memory", program.name));
            let mut seat = range.fixture(number, FixtureOptions { files, daemon: false })?;
            seat.call(ShellCommand::Unknown, 0)?;
            let mut said = RemarkCounts::new();
            for command in ShellCommand::ALL {
                let times = measure(&mut seat, command, range.rounds, &mut said, &mut cold)?;
                let mut cells = vec![format_count(files), command.name().to_owned()];
                cells.push(program.name.clone());
                cells.extend([&times.begin, &times.end].into_iter().flat_map(cells_of));
                table.row(cells);
            }
            let told = said.into_iter().map(|(what, count)| format!("{count} × on stdout, {what}"));
            let told = told.map(|what| format!("{} files, no daemon: {what}", format_count(files)));
            notes.extend(
                told.chain(seat.check_and_remove()?)
                    .map(|note| format!("{}, {note}", program.name)),
            );
        }
    }
    let limit = ANSWER_DEADLINE.as_secs_f64();
    println!("Times in ms, median / most of {} rounds; in time: within {limit} s.", range.rounds);
    println!("No daemon. Caches dropped before each begin: {}.\n", if cold { "yes" } else { "NO" });
    println!("{table}\nWhat hooks said (nothing, unless it is listed):\n");
    for note in notes {
        println!("- {note}");
    }
    Ok(())
}

/// Measures one command several times; `cold` becomes false if the caches cannot be dropped.
fn measure(
    seat: &mut HookFixture<'_>,
    command: ShellCommand,
    rounds: usize,
    said: &mut RemarkCounts,
    cold: &mut bool,
) -> Result<HookTimes> {
    let mut times = HookTimes::default();
    for round in 1..=rounds {
        *cold &= files::drop_caches(&seat.root())?;
        run_once(seat)?;
        let (begin, end) = seat.call(command, round as u64)?;
        times.begin.add(begin.took);
        times.end.add(end.took);
        for (when, answer) in [("PreToolUse", &begin.answers), ("PostToolUse", &end.answers)] {
            for answer in answer.iter().filter(|answer| !answer.is_empty()) {
                let line = format!("{when} of `{}`: {answer}", command.name());
                *said.entry(line).or_default() += 1;
            }
        }
    }
    Ok(times)
}

/// Reads the program into memory.
fn run_once(seat: &HookFixture<'_>) -> Result<()> {
    process::run(&mut seat.command(&["--version"])).map(drop)
}

fn cells_of(latencies: &Latencies) -> [String; 2] {
    let times = [0.5, 1.0].map(|part| rounded(latencies.percentile_ms(part))).join(" / ");
    [times, format!("{} of {}", latencies.within(ANSWER_DEADLINE), latencies.count())]
}
