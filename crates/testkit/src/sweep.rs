//! Fault injection: runs a child process once per write, with a fault at that write.
//!
//! A sweep lets the child run undisturbed once and lists its steps (`retake_seam`). Then it runs it
//! again for each of them, every time in the same project, with a fault at that step; the test
//! says what must hold afterwards.
//!
//! By default one of several faults is tried at each step, in turns, and of many steps of SQLite in
//! a row only the first, the middle and the last: between them only pages of one transaction have
//! been written.
//! `RETAKE_LONG=1` tries every fault at every step.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use crate::{Kept, TestProject, child, figures};

/// The fault injected at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed before it.
    Kill,
    /// It writes half of its bytes, then the process is killed.
    Tear,
    /// It writes half of its bytes, and says so.
    Short,
    /// It fails in this way.
    Fail(&'static str),
    /// It and all that come after it fail in this way.
    Stays(&'static str),
}

/// All errors of a disk, each once and permanently.
pub const ERRORS: [Fault; 8] = [
    Fault::Fail("ENOSPC"),
    Fault::Stays("ENOSPC"),
    Fault::Fail("EIO"),
    Fault::Stays("EIO"),
    Fault::Fail("EACCES"),
    Fault::Stays("EACCES"),
    Fault::Fail("EROFS"),
    Fault::Stays("EROFS"),
];

/// Faults that kill the process.
pub const KILLS: [Fault; 2] = [Fault::Kill, Fault::Tear];

/// All faults, in three sweeps.
pub const FAULTS: [&[Fault]; 3] = [&KILLS, &ERRORS, &[Fault::Short]];

impl Fault {
    /// The environment variable that injects the fault into the child.
    pub fn variable(self, step: u64) -> (&'static str, String) {
        match self {
            Self::Kill => ("RETAKE_KILL_AT", step.to_string()),
            Self::Tear => ("RETAKE_TEAR_AT", step.to_string()),
            Self::Short => ("RETAKE_FAIL_AT", format!("{step}:SHORT")),
            Self::Fail(errno) => ("RETAKE_FAIL_AT", format!("{step}:{errno}")),
            Self::Stays(errno) => ("RETAKE_FAIL_FROM", format!("{step}:{errno}")),
        }
    }

    /// Returns `true` if it makes a difference at this step: a statement changes no file, and
    /// only writes of bytes are torn.
    fn fits(self, step: &Step) -> bool {
        match self {
            Self::Kill => !step.is_statement(),
            Self::Tear | Self::Short => step.name.contains("write"),
            Self::Fail(_) | Self::Stays(_) => true,
        }
    }

    fn kills(self) -> bool {
        matches!(self, Self::Kill | Self::Tear)
    }

    /// The kind under which it is counted.
    fn kind(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Tear => "torn write",
            Self::Short => "short write",
            Self::Fail(errno) | Self::Stays(errno) => errno,
        }
    }
}

/// One act of the child on its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// From 1.
    pub number: u64,
    /// As the seam calls it.
    pub name: String,
}

impl Step {
    /// The steps that were written into a file by `RETAKE_COUNT_STEPS`.
    pub fn list(counted: &str) -> Vec<Self> {
        let step = |line: &str| {
            let (number, name) = line.split_once(' ').unwrap();
            Self { number: number.parse().unwrap(), name: name.to_owned() }
        };
        counted.lines().map(step).collect()
    }

    fn is_statement(&self) -> bool {
        self.name.starts_with("sql: ")
    }

    /// Steps of one group follow each other in a transaction.
    fn group(&self) -> Option<&str> {
        match self.name.as_str() {
            _ if self.is_statement() => Some("statement"),
            name if name.starts_with("sqlite ") => Some(name),
            _ => None,
        }
    }
}

/// The outcome of one run of the child.
#[derive(Debug)]
pub struct Try {
    /// The step and its fault.
    pub at: (Step, Fault),
    /// The acknowledgements it had printed by then.
    pub acks: Vec<String>,
    /// Its whole output.
    pub said: String,
    /// `true` if it exited with success.
    pub lived: bool,
    /// `false` if a kill did not take effect.
    pub was_met: bool,
}

impl fmt::Display for Try {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Step { number, name }, fault) = &self.at;
        write!(f, "{fault:?} at step {number} ({name}); it said: {}", self.said)
    }
}

/// Returns the steps to kill a program at that counted its steps into this text.
pub fn kill_points(counted: &str) -> Vec<Step> {
    let steps = Step::list(counted);
    let tries = if figures::is_long() {
        all(&steps, &[Fault::Kill])
    } else {
        in_turns(without_rows(&steps), &[Fault::Kill])
    };
    tries.into_iter().map(|(step, _)| step).collect()
}

/// A child, and the project in which it acts.
#[derive(Debug)]
pub struct Sweep<'s> {
    test: &'s str,
    role: &'s str,
    project: &'s TestProject,
    kept: Kept,
    steps: Vec<Step>,
    is_sparse: bool,
}

impl<'s> Sweep<'s> {
    /// Runs the test of this name, as a child in this role, in a project as it is now; nothing may
    /// have it open. The child runs undisturbed once, and the project stays in that state.
    pub fn new(test: &'s str, role: &'s str, project: &'s TestProject) -> Self {
        Self::with(test, role, project, project.keep())
    }

    /// Like [`Self::new`] for a child that does not touch the project's files: only Retake's home
    /// is restored.
    pub fn of_home(test: &'s str, role: &'s str, project: &'s TestProject) -> Self {
        Self::with(test, role, project, project.keep_home())
    }

    fn with(test: &'s str, role: &'s str, project: &'s TestProject, kept: Kept) -> Self {
        let mut sweep = Self { test, role, project, kept, steps: Vec::new(), is_sparse: false };
        // A copy differs in details from the original, and all runs shall begin alike.
        project.bring_back(&sweep.kept);
        let counted = project.outer().join("steps");
        let output = sweep.run(&[("RETAKE_COUNT_STEPS", counted.display().to_string())]);
        assert!(output.status.success(), "undisturbed, {role} fails: {}", said(&output));
        sweep.steps = Step::list(&std::fs::read_to_string(&counted).unwrap());
        std::fs::remove_file(counted).unwrap();
        let real = sweep.steps.iter().filter(|step| !step.is_statement()).count();
        assert!(real > 5, "only {real} steps: does the seam still see the writes?");
        sweep
    }

    /// For a child that does the same for hundreds of files: by default only the first and the last
    /// step of each name are taken.
    #[must_use]
    pub fn sparse(self) -> Self {
        Self { is_sparse: true, ..self }
    }

    /// The steps of an undisturbed run.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Runs the child once per fault; `verify` checks the project after each run.
    pub fn each(&self, faults: &[Fault], mut verify: impl FnMut(&Try)) {
        let tries = match (figures::is_long(), self.is_sparse) {
            (true, _) => all(&self.steps, faults),
            (false, true) => in_turns(first_and_last(&self.steps), faults),
            (false, false) => in_turns(without_rows(&self.steps), faults),
        };
        let mut met = Vec::new();
        for (step, fault) in &tries {
            let done = self.once(step, *fault);
            verify(&done);
            met.extend(done.was_met.then_some(*fault));
        }
        // Pages of a transaction may be more or fewer from run to run.
        assert!(met.len() * 10 >= tries.len() * 9, "only {} of {}", met.len(), tries.len());
        for fault in faults {
            let count = met.iter().filter(|it| *it == fault).count();
            figures::note("fault", fault.kind(), self.role, count);
        }
    }

    /// Runs the child with one fault.
    pub fn once(&self, step: &Step, fault: Fault) -> Try {
        self.project.bring_back(&self.kept);
        let output = self.run(&[fault.variable(step.number)]);
        let said = said(&output);
        let acks = child::acknowledged(&output.stdout);
        let at = (step.clone(), fault);
        let signal = output.status.signal();
        let was_met = !fault.kills() || signal == Some(9);
        let done = Try { at, acks, said, lived: output.status.success(), was_met };
        assert!(signal.is_none() || fault.kills(), "signal {signal:?}: {done}");
        done
    }

    fn run(&self, variables: &[(&str, String)]) -> Output {
        let mut command = child::command(self.test, self.role);
        command.env(child::OUTER, self.project.outer());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.output().unwrap()
    }
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

type Tries = Vec<(Step, Fault)>;

fn all(steps: &[Step], faults: &[Fault]) -> Tries {
    let each = |step| faults.iter().map(move |fault| (step, *fault));
    let fitting = steps.iter().flat_map(each).filter(|(step, fault)| fault.fits(step));
    fitting.map(|(step, fault)| (step.clone(), fault)).collect()
}

/// One fault for each step.
fn in_turns<'s>(steps: impl IntoIterator<Item = &'s Step>, faults: &[Fault]) -> Tries {
    let mut turn = 0;
    let next = |step: &'s Step| {
        let order = (0..faults.len()).map(|ahead| faults[(turn + ahead) % faults.len()]);
        let fault = order.into_iter().find(|fault| fault.fits(step))?;
        turn += 1;
        Some((step.clone(), fault))
    };
    steps.into_iter().filter_map(next).collect()
}

/// Of steps of a transaction in a row the first, the middle and the last.
fn without_rows(steps: &[Step]) -> Vec<&Step> {
    let rows = steps.chunk_by(|one, next| one.group().is_some() && one.group() == next.group());
    let some = |row: &'_ [Step]| match row.len() {
        0..=2 => (0..row.len()).collect(),
        many => vec![0, many / 2, many - 1],
    };
    rows.flat_map(|row| some(row).into_iter().map(|at| &row[at])).collect()
}

fn first_and_last(steps: &[Step]) -> Vec<&Step> {
    let is_end = |step: &&Step| {
        let mut same = steps.iter().filter(|other| other.name == step.name);
        let first = same.next();
        first == Some(*step) || same.next_back() == Some(*step)
    };
    steps.iter().filter(is_end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(names: &[&str]) -> Vec<Step> {
        let step = |(number, name): (u64, &&str)| Step { number, name: (*name).to_owned() };
        (1..).zip(names).map(step).collect()
    }

    fn numbers(steps: &[&Step]) -> Vec<u64> {
        steps.iter().map(|step| step.number).collect()
    }

    #[test]
    fn which_steps_are_taken() {
        let write = "sqlite write";
        let steps = steps(&[
            write,
            write,
            write,
            write,
            write,
            "sqlite sync",
            "exchange",
            "exchange",
            write,
        ]);
        assert_eq!(numbers(&without_rows(&steps)), [1, 3, 5, 6, 7, 8, 9]);
        assert_eq!(numbers(&first_and_last(&steps)), [1, 6, 7, 8, 9]);
        let tries = in_turns(&steps, &KILLS);
        let torn = tries.iter().filter(|(_, fault)| *fault == Fault::Tear);
        assert_eq!(torn.map(|(step, _)| step.number).collect::<Vec<_>>(), [2, 4]);
        let every = all(&steps, &KILLS);
        assert_eq!(every.len(), 9 + 6);
    }
}
