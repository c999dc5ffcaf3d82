//! Cost of the scans around a shell call for an agent: the time of the hook's process before the
//! call and after it, by the files of the project, with a daemon and without, for a command that
//! only reads, one that says what it writes, and one that may do anything.
//!
//! Several programs, as one before a change and one after it, are measured in turns in the same
//! run: noise of the machine hits them alike. Each has projects and homes of its own. The hooks'
//! stderr is reported, and so are unrecorded changes: a hook that does nothing is quick.

mod cold_cache;
mod fixture;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::compare::print_progress;
use crate::files;
use crate::latency::Latencies;
use crate::machine::MachineFacts;
use crate::process::run_at_once;
use crate::tools::BenchTools;
use fixture::{FixtureOptions, HookFixture, ShellCommand};

/// Number of files in the project in which several calls begin at once.
const CONCURRENT_FILES: u64 = 15_000;
const DEFAULT_ROUNDS: usize = 15;
const DEFAULT_SLOW_ROUNDS: usize = 3;

/// What the look around a shell call costs an agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct HookCostArgs {
    /// Measure this binary instead of building one; several are measured in turns
    #[arg(long, value_name = "FILE")]
    retake: Vec<PathBuf>,
    /// In projects of so many files
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [500, CONCURRENT_FILES, 60_000])]
    files: Vec<u64>,
    /// How often each is measured, or a few times more so that everybody is first equally often
    /// [default: 15, and 3 with --slow]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// So many calls begin at once in a project of 15,000 files; 0: not measured
    #[arg(long, value_name = "N", default_value_t = 16)]
    at_once: usize,
    /// Drop the system's caches before each call (as root), and tell which hooks answered in time
    #[arg(long)]
    slow: bool,
    /// Make projects and records in this folder [default: the one for temporary files]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// The measured programs, and their scratch folder.
struct MeasuredPrograms<'a> {
    tools: &'a BenchTools,
    scratch: &'a Path,
    programs: Vec<MeasuredProgram>,
    rounds: usize,
}

/// A measured program.
struct MeasuredProgram {
    /// As tables call it.
    name: String,
    /// Where it is from.
    given: PathBuf,
    /// The copy that is measured.
    path: PathBuf,
}

/// The times of one program.
#[derive(Default)]
struct HookTimes {
    begin: Latencies,
    end: Latencies,
}

/// Measurements of one command in one project.
struct HookCostRow {
    files: u64,
    daemon: bool,
    command: ShellCommand,
    /// An empty program, for comparison.
    empty: Latencies,
    /// Of each program.
    times: Vec<HookTimes>,
}

/// Times of calls that begin at once: until all were answered, of each program.
struct ConcurrentTimes {
    calls: usize,
    times: Vec<Latencies>,
}

/// All measurements.
#[derive(Default)]
struct HookCosts {
    rows: Vec<HookCostRow>,
    crowd: Option<ConcurrentTimes>,
    /// Further remarks for the report.
    notes: Vec<String>,
}

impl HookCostArgs {
    pub(crate) fn run(&self) -> Result<()> {
        let folder = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = files::scratch_in(&folder)?;
        let tools =
            BenchTools::locate(self.retake.first().map(PathBuf::as_path), None, scratch.path())?;
        let rounds =
            self.rounds.unwrap_or(if self.slow { DEFAULT_SLOW_ROUNDS } else { DEFAULT_ROUNDS });
        let programs = programs(&self.retake, &tools, scratch.path())?;
        // Every program is first equally often.
        let rounds = rounds.next_multiple_of(programs.len());
        let range = MeasuredPrograms { tools: &tools, scratch: scratch.path(), programs, rounds };
        for (name, value) in MachineFacts::detect(&tools, scratch.path()).lines() {
            println!("- {name}: {value}");
        }
        for program in &range.programs {
            println!("- measured as {}: {}", program.name, program.given.display());
        }
        println!();
        if self.slow {
            return cold_cache::run(&range, &self.files);
        }
        let mut found = HookCosts::default();
        for &files in &self.files {
            range.without_daemon(files, self.at_once, &mut found)?;
            range.with_daemon(files, &mut found)?;
        }
        print!("{}", report::render_all(&range, &found));
        Ok(())
    }
}

/// Returns the named programs, else the one that was built. Fresh copies of them are measured:
/// hooks of one and the same program took 10 to 20 % longer from a file whose pages the
/// system had dropped and read again than from a fresh copy of it.
fn programs(named: &[PathBuf], tools: &BenchTools, scratch: &Path) -> Result<Vec<MeasuredProgram>> {
    let mut programs: Vec<MeasuredProgram> = Vec::new();
    let built = [tools.retake.clone()];
    for given in if named.is_empty() { &built } else { named } {
        ensure!(given.is_file(), "{} is not there", given.display());
        let short = given.file_name().context("a program has a name")?.to_string_lossy();
        let taken = programs.iter().any(|program| program.name == short);
        let name = if taken { given.display().to_string() } else { short.into_owned() };
        let path = scratch.join(format!("program-{}", programs.len()));
        files::copy(given, &path)?;
        programs.push(MeasuredProgram { name, given: given.clone(), path });
    }
    Ok(programs)
}

impl MeasuredPrograms<'_> {
    fn without_daemon(&self, files: u64, calls: usize, found: &mut HookCosts) -> Result<()> {
        print_progress(&format!("{files} files"));
        let mut seats = self.fixtures(files, false)?;
        self.measure(&mut seats, found)?;
        if files == CONCURRENT_FILES && calls > 0 {
            print_progress(&format!("{files} files, {calls} calls at once"));
            found.crowd = Some(self.measure_concurrent(&mut seats, calls)?);
        }
        self.remove_fixtures(seats, found)
    }

    fn with_daemon(&self, files: u64, found: &mut HookCosts) -> Result<()> {
        print_progress(&format!("{files} files, with a daemon"));
        let mut seats = self.fixtures(files, true)?;
        self.measure(&mut seats, found)?;
        self.remove_fixtures(seats, found)
    }

    /// A project and a home for each program.
    fn fixtures(&self, files: u64, daemon: bool) -> Result<Vec<HookFixture<'_>>> {
        let around = FixtureOptions { files, daemon };
        (0..self.programs.len()).map(|number| self.fixture(number, around)).collect()
    }

    fn fixture(&self, number: usize, around: FixtureOptions) -> Result<HookFixture<'_>> {
        let folder = self.scratch.join(format!("seat-{number}"));
        HookFixture::new(self.tools, &self.programs[number].path, &folder, around)
    }

    /// Measures all commands in turns. The first round is not counted: it fills the caches of the
    /// system and of Retake.
    fn measure(&self, seats: &mut [HookFixture<'_>], found: &mut HookCosts) -> Result<()> {
        let Some(FixtureOptions { files, daemon }) = seats.first().map(|seat| seat.options) else {
            return Ok(());
        };
        let row = |command| HookCostRow {
            files,
            daemon,
            command,
            empty: Latencies::default(),
            times: self.programs.iter().map(|_| HookTimes::default()).collect(),
        };
        let mut rows = ShellCommand::ALL.map(row);
        for round in 0..=self.rounds {
            for row in &mut rows {
                let empty = self.empty()?;
                if round > 0 {
                    row.empty.add(empty.took);
                }
                for turn in 0..seats.len() {
                    let number = (round + turn) % seats.len();
                    let (begin, end) = seats[number].call(row.command, round as u64)?;
                    if round > 0 {
                        row.times[number].begin.add(begin.took);
                        row.times[number].end.add(end.took);
                    }
                }
            }
        }
        found.rows.extend(rows);
        Ok(())
    }

    fn empty(&self) -> Result<crate::process::ProcessOutputs> {
        run_at_once(&mut [self.tools.command(&self.tools.empty, self.scratch)])
    }

    fn measure_concurrent(
        &self,
        seats: &mut [HookFixture<'_>],
        calls: usize,
    ) -> Result<ConcurrentTimes> {
        let mut times: Vec<Latencies> = seats.iter().map(|_| Latencies::default()).collect();
        for round in 0..=self.rounds {
            for turn in 0..seats.len() {
                let number = (round + turn) % seats.len();
                let begun = seats[number].begin_at_once(calls)?;
                if round > 0 {
                    times[number].add(begun.took);
                }
            }
        }
        Ok(ConcurrentTimes { calls, times })
    }

    /// Records the remarks of the seats, and removes them.
    fn remove_fixtures(&self, seats: Vec<HookFixture<'_>>, found: &mut HookCosts) -> Result<()> {
        for (seat, program) in seats.into_iter().zip(&self.programs) {
            let notes = seat.check_and_remove()?;
            found.notes.extend(notes.into_iter().map(|note| format!("{}, {note}", program.name)));
        }
        Ok(())
    }
}
