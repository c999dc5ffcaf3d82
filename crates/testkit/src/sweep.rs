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

use crate::{ProjectCopy, TestProject, child, proof_counts};

/// The fault injected at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
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
pub const ERROR_FAULTS: [InjectedFault; 8] = [
    InjectedFault::Fail("ENOSPC"),
    InjectedFault::Stays("ENOSPC"),
    InjectedFault::Fail("EIO"),
    InjectedFault::Stays("EIO"),
    InjectedFault::Fail("EACCES"),
    InjectedFault::Stays("EACCES"),
    InjectedFault::Fail("EROFS"),
    InjectedFault::Stays("EROFS"),
];

/// Faults that kill the process.
pub const KILL_FAULTS: [InjectedFault; 2] = [InjectedFault::Kill, InjectedFault::Tear];

/// All faults, in three sweeps.
pub const ALL_FAULTS: [&[InjectedFault]; 3] =
    [&KILL_FAULTS, &ERROR_FAULTS, &[InjectedFault::Short]];

impl InjectedFault {
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
    fn applies_to(self, step: &SweepStep) -> bool {
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
pub struct SweepStep {
    /// From 1.
    pub number: u64,
    /// As the seam calls it.
    pub name: String,
}

impl SweepStep {
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
pub struct SweepRun {
    /// The step and its fault.
    pub at: (SweepStep, InjectedFault),
    /// The acknowledgements it had printed by then.
    pub acks: Vec<String>,
    /// Its whole output.
    pub output: String,
    /// `true` if it exited with success.
    pub succeeded: bool,
    /// `false` if a kill did not take effect.
    pub took_effect: bool,
}

impl fmt::Display for SweepRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (SweepStep { number, name }, fault) = &self.at;
        write!(f, "{fault:?} at step {number} ({name}); it said: {}", self.output)
    }
}

/// Returns the steps to kill a program at that counted its steps into this text.
pub fn kill_points(counted: &str) -> Vec<SweepStep> {
    let steps = SweepStep::list(counted);
    let tries = if proof_counts::is_long_run() {
        all_faults(&steps, &[InjectedFault::Kill])
    } else {
        one_fault_per_step(sample_transactions(&steps), &[InjectedFault::Kill])
    };
    tries.into_iter().map(|(step, _)| step).collect()
}

/// A child, and the project in which it acts.
#[derive(Debug)]
pub struct FaultSweep<'s> {
    test: String,
    role: &'s str,
    project: &'s TestProject,
    copy: ProjectCopy,
    steps: Vec<SweepStep>,
    is_sparse: bool,
}

impl<'s> FaultSweep<'s> {
    /// Runs the calling test as a child in this role, in a project as it is now; nothing may have
    /// it open. The child runs undisturbed once, and the project stays in that state.
    pub fn new(role: &'s str, project: &'s TestProject) -> Self {
        Self::with_copy(role, project, project.copy_all())
    }

    /// Like [`Self::new`] for a child that does not touch the project's files: only Retake's home
    /// is restored.
    pub fn for_home(role: &'s str, project: &'s TestProject) -> Self {
        Self::with_copy(role, project, project.copy_home())
    }

    fn with_copy(role: &'s str, project: &'s TestProject, copy: ProjectCopy) -> Self {
        let test = child::test_name();
        let mut sweep = Self { test, role, project, copy, steps: Vec::new(), is_sparse: false };
        // A copy differs in details from the original, and all runs shall begin alike.
        project.restore_copy(&sweep.copy);
        let counted = project.outer().join("steps");
        let output = sweep.run(&[("RETAKE_COUNT_STEPS", counted.display().to_string())]);
        assert!(output.status.success(), "undisturbed, {role} fails: {}", output_text(&output));
        sweep.steps = SweepStep::list(&std::fs::read_to_string(&counted).unwrap());
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
    pub fn steps(&self) -> &[SweepStep] {
        &self.steps
    }

    /// Runs the child once per fault; `verify` checks the project after each run.
    pub fn run_each(&self, faults: &[InjectedFault], mut verify: impl FnMut(&SweepRun)) {
        let tries = match (proof_counts::is_long_run(), self.is_sparse) {
            (true, _) => all_faults(&self.steps, faults),
            (false, true) => one_fault_per_step(first_and_last(&self.steps), faults),
            (false, false) => one_fault_per_step(sample_transactions(&self.steps), faults),
        };
        let mut met = Vec::new();
        for (step, fault) in &tries {
            let done = self.run_once(step, *fault);
            verify(&done);
            met.extend(done.took_effect.then_some(*fault));
        }
        // Pages of a transaction may be more or fewer from run to run.
        assert!(met.len() * 10 >= tries.len() * 9, "only {} of {}", met.len(), tries.len());
        for fault in faults {
            let count = met.iter().filter(|it| *it == fault).count();
            proof_counts::record_count("fault", fault.kind(), self.role, count);
        }
    }

    /// Runs the child with one fault.
    pub fn run_once(&self, step: &SweepStep, fault: InjectedFault) -> SweepRun {
        self.project.restore_copy(&self.copy);
        let output = self.run(&[fault.variable(step.number)]);
        let said = output_text(&output);
        let acks = child::acknowledged(&output.stdout);
        let at = (step.clone(), fault);
        let signal = output.status.signal();
        let was_met = !fault.kills() || signal == Some(9);
        let done = SweepRun {
            at,
            acks,
            output: said,
            succeeded: output.status.success(),
            took_effect: was_met,
        };
        assert!(signal.is_none() || fault.kills(), "signal {signal:?}: {done}");
        done
    }

    fn run(&self, variables: &[(&str, String)]) -> Output {
        let mut command = child::command_for(&self.test, self.role);
        command.env(child::OUTER_VARIABLE, self.project.outer());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.output().unwrap()
    }
}

fn output_text(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

type PlannedFaults = Vec<(SweepStep, InjectedFault)>;

fn all_faults(steps: &[SweepStep], faults: &[InjectedFault]) -> PlannedFaults {
    let each = |step| faults.iter().map(move |fault| (step, *fault));
    let fitting = steps.iter().flat_map(each).filter(|(step, fault)| fault.applies_to(step));
    fitting.map(|(step, fault)| (step.clone(), fault)).collect()
}

/// One fault for each step.
fn one_fault_per_step<'s>(
    steps: impl IntoIterator<Item = &'s SweepStep>,
    faults: &[InjectedFault],
) -> PlannedFaults {
    let mut turn = 0;
    let next = |step: &'s SweepStep| {
        let order = (0..faults.len()).map(|ahead| faults[(turn + ahead) % faults.len()]);
        let fault = order.into_iter().find(|fault| fault.applies_to(step))?;
        turn += 1;
        Some((step.clone(), fault))
    };
    steps.into_iter().filter_map(next).collect()
}

/// Of steps of a transaction in a row the first, the middle and the last.
fn sample_transactions(steps: &[SweepStep]) -> Vec<&SweepStep> {
    let rows = steps.chunk_by(|one, next| one.group().is_some() && one.group() == next.group());
    let some = |row: &'_ [SweepStep]| match row.len() {
        0..=2 => (0..row.len()).collect(),
        many => vec![0, many / 2, many - 1],
    };
    rows.flat_map(|row| some(row).into_iter().map(|at| &row[at])).collect()
}

fn first_and_last(steps: &[SweepStep]) -> Vec<&SweepStep> {
    let is_end = |step: &&SweepStep| {
        let mut same = steps.iter().filter(|other| other.name == step.name);
        let first = same.next();
        first == Some(*step) || same.next_back() == Some(*step)
    };
    steps.iter().filter(is_end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(names: &[&str]) -> Vec<SweepStep> {
        let step = |(number, name): (u64, &&str)| SweepStep { number, name: (*name).to_owned() };
        (1..).zip(names).map(step).collect()
    }

    fn numbers(steps: &[&SweepStep]) -> Vec<u64> {
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
        assert_eq!(numbers(&sample_transactions(&steps)), [1, 3, 5, 6, 7, 8, 9]);
        assert_eq!(numbers(&first_and_last(&steps)), [1, 6, 7, 8, 9]);
        let tries = one_fault_per_step(&steps, &KILL_FAULTS);
        let torn = tries.iter().filter(|(_, fault)| *fault == InjectedFault::Tear);
        assert_eq!(torn.map(|(step, _)| step.number).collect::<Vec<_>>(), [2, 4]);
        let every = all_faults(&steps, &KILL_FAULTS);
        assert_eq!(every.len(), 9 + 6);
    }
}
