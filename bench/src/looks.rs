//! Cost of the scans around a shell call for an agent: the time of the hook's process before the
//! call and after it, by the files of the project, with a daemon and without, for a command that
//! only reads, one that says what it writes, and one that may do anything.
//!
//! Several programs, as one before a change and one after it, are measured in turns in the same
//! run: noise of the machine hits them alike. Each has projects and homes of its own. The hooks'
//! stderr is reported, and so are unrecorded changes: a hook that does nothing is quick.

mod seat;
mod slow;
mod tell;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::compare::say;
use crate::files;
use crate::latency::Latencies;
use crate::machine::Machine;
use crate::process::at_once;
use crate::tools::Tools;
use seat::{Around, Seat, Shell};

/// Number of files in the project in which several calls begin at once.
const CROWDED: u64 = 15_000;
const ROUNDS: usize = 15;
const SLOW_ROUNDS: usize = 3;

/// What the look around a shell call costs an agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct Looks {
    /// Measure this binary instead of building one; several are measured in turns
    #[arg(long, value_name = "FILE")]
    retake: Vec<PathBuf>,
    /// In projects of so many files
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [500, CROWDED, 60_000])]
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
struct Range<'a> {
    tools: &'a Tools,
    scratch: &'a Path,
    programs: Vec<Program>,
    rounds: usize,
}

/// A measured program.
struct Program {
    /// As tables call it.
    name: String,
    /// Where it is from.
    given: PathBuf,
    /// The copy that is measured.
    path: PathBuf,
}

/// The times of one program.
#[derive(Default)]
struct Times {
    begin: Latencies,
    end: Latencies,
}

/// Measurements of one command in one project.
struct Row {
    files: u64,
    daemon: bool,
    command: Shell,
    /// An empty program, for comparison.
    empty: Latencies,
    /// Of each program.
    times: Vec<Times>,
}

/// Times of calls that begin at once: until all were answered, of each program.
struct Crowd {
    calls: usize,
    times: Vec<Latencies>,
}

/// All measurements.
#[derive(Default)]
struct Found {
    rows: Vec<Row>,
    crowd: Option<Crowd>,
    /// Further remarks for the report.
    notes: Vec<String>,
}

impl Looks {
    pub(crate) fn run(&self) -> Result<()> {
        let folder = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = files::scratch_in(&folder)?;
        let tools = Tools::find(self.retake.first().map(PathBuf::as_path), None, scratch.path())?;
        let rounds = self.rounds.unwrap_or(if self.slow { SLOW_ROUNDS } else { ROUNDS });
        let programs = programs(&self.retake, &tools, scratch.path())?;
        // Every program is first equally often.
        let rounds = rounds.next_multiple_of(programs.len());
        let range = Range { tools: &tools, scratch: scratch.path(), programs, rounds };
        for (name, value) in Machine::here(&tools, scratch.path()).lines() {
            println!("- {name}: {value}");
        }
        for program in &range.programs {
            println!("- measured as {}: {}", program.name, program.given.display());
        }
        println!();
        if self.slow {
            return slow::run(&range, &self.files);
        }
        let mut found = Found::default();
        for &files in &self.files {
            range.without_daemon(files, self.at_once, &mut found)?;
            range.with_daemon(files, &mut found)?;
        }
        print!("{}", tell::all(&range, &found));
        Ok(())
    }
}

/// Returns the named programs, else the one that was built. Fresh copies of them are measured:
/// hooks of one and the same program took 10 to 20 % longer from a file whose pages the
/// system had dropped and read again than from a fresh copy of it.
fn programs(named: &[PathBuf], tools: &Tools, scratch: &Path) -> Result<Vec<Program>> {
    let mut programs: Vec<Program> = Vec::new();
    let built = [tools.retake.clone()];
    for given in if named.is_empty() { &built } else { named } {
        ensure!(given.is_file(), "{} is not there", given.display());
        let short = given.file_name().context("a program has a name")?.to_string_lossy();
        let taken = programs.iter().any(|program| program.name == short);
        let name = if taken { given.display().to_string() } else { short.into_owned() };
        let path = scratch.join(format!("program-{}", programs.len()));
        files::copy(given, &path)?;
        programs.push(Program { name, given: given.clone(), path });
    }
    Ok(programs)
}

impl Range<'_> {
    fn without_daemon(&self, files: u64, calls: usize, found: &mut Found) -> Result<()> {
        say(&format!("{files} files"));
        let mut seats = self.seats(files, false)?;
        self.measure(&mut seats, found)?;
        if files == CROWDED && calls > 0 {
            say(&format!("{files} files, {calls} calls at once"));
            found.crowd = Some(self.crowd(&mut seats, calls)?);
        }
        self.leave(seats, found)
    }

    fn with_daemon(&self, files: u64, found: &mut Found) -> Result<()> {
        say(&format!("{files} files, with a daemon"));
        let mut seats = self.seats(files, true)?;
        self.measure(&mut seats, found)?;
        self.leave(seats, found)
    }

    /// A project and a home for each program.
    fn seats(&self, files: u64, daemon: bool) -> Result<Vec<Seat<'_>>> {
        let around = Around { files, daemon };
        (0..self.programs.len()).map(|number| self.seat(number, around)).collect()
    }

    fn seat(&self, number: usize, around: Around) -> Result<Seat<'_>> {
        let folder = self.scratch.join(format!("seat-{number}"));
        Seat::take(self.tools, &self.programs[number].path, &folder, around)
    }

    /// Measures all commands in turns. The first round is not counted: it fills the caches of the
    /// system and of Retake.
    fn measure(&self, seats: &mut [Seat<'_>], found: &mut Found) -> Result<()> {
        let Some(Around { files, daemon }) = seats.first().map(|seat| seat.around) else {
            return Ok(());
        };
        let row = |command| Row {
            files,
            daemon,
            command,
            empty: Latencies::default(),
            times: self.programs.iter().map(|_| Times::default()).collect(),
        };
        let mut rows = Shell::ALL.map(row);
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

    fn empty(&self) -> Result<crate::process::Heard> {
        at_once(&mut [self.tools.command(&self.tools.empty, self.scratch)])
    }

    fn crowd(&self, seats: &mut [Seat<'_>], calls: usize) -> Result<Crowd> {
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
        Ok(Crowd { calls, times })
    }

    /// Records the remarks of the seats, and removes them.
    fn leave(&self, seats: Vec<Seat<'_>>, found: &mut Found) -> Result<()> {
        for (seat, program) in seats.into_iter().zip(&self.programs) {
            let notes = seat.leave()?;
            found.notes.extend(notes.into_iter().map(|note| format!("{}, {note}", program.name)));
        }
        Ok(())
    }
}
