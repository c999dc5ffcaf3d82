//! Measures child processes: time and peak memory.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use wait4::Wait4 as _;

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measurement {
    /// From its begin to its end.
    pub(crate) ms: f64,
    /// Peak memory of one of its processes. Linux counts the memory of the parent at the start of
    /// the child, so this never falls below the few MiB of the benchmark itself.
    pub(crate) peak_kib: u64,
}

/// Measures work that takes one or several processes.
pub(crate) struct ProcessTimer {
    begun: Instant,
    peak_kib: u64,
}

impl ProcessTimer {
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), peak_kib: 0 }
    }

    pub(crate) fn stop(&self) -> Measurement {
        Measurement { ms: self.begun.elapsed().as_secs_f64() * 1000.0, peak_kib: self.peak_kib }
    }

    /// Runs a command that must succeed; returns its output.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<String> {
        let child = spawn(command)?;
        self.finish(command, child)
    }

    /// Runs two commands at the same time.
    pub(crate) fn run_both(
        &mut self,
        one: &mut Command,
        other: &mut Command,
    ) -> Result<(String, String)> {
        let children = (spawn(one)?, spawn(other)?);
        Ok((self.finish(one, children.0)?, self.finish(other, children.1)?))
    }

    fn finish(&mut self, command: &Command, child: Child) -> Result<String> {
        text(command, &self.wait_for_output(child)?)
    }

    /// Waits for a process, and returns its output.
    fn wait_for_output(&mut self, mut child: Child) -> Result<Output> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        if let Some(mut pipe) = child.stdout.take() {
            pipe.read_to_end(&mut stdout)?;
        }
        if let Some(mut pipe) = child.stderr.take() {
            pipe.read_to_end(&mut stderr)?;
        }
        let used = child.wait4()?;
        self.peak_kib = self.peak_kib.max(used.rusage.maxrss / 1024);
        Ok(Output { status: used.status, stdout, stderr })
    }
}

/// Runs a command that must succeed and is not measured; returns its output.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    ProcessTimer::start().run(command)
}

/// Measures one command.
pub(crate) fn measure(command: &mut Command) -> Result<Measurement> {
    let mut watch = ProcessTimer::start();
    watch.run(command)?;
    Ok(watch.stop())
}

/// Time until the last of several concurrent processes ended, and their outputs.
#[derive(Debug)]
pub(crate) struct ProcessOutputs {
    pub(crate) took: Duration,
    /// On standard output, of each of them.
    pub(crate) answers: Vec<String>,
    /// On standard error, of each of them.
    pub(crate) remarks: Vec<String>,
}

/// Runs commands at the same time; all of them must succeed.
pub(crate) fn run_at_once(commands: &mut [Command]) -> Result<ProcessOutputs> {
    let mut watch = ProcessTimer::start();
    let children: Vec<Child> = commands.iter_mut().map(spawn).collect::<Result<_>>()?;
    let outputs = children.into_iter().map(|child| watch.wait_for_output(child));
    let outputs: Vec<Output> = outputs.collect::<Result<_>>()?;
    let took = watch.begun.elapsed();
    let mut heard = ProcessOutputs { took, answers: Vec::new(), remarks: Vec::new() };
    for (command, output) in commands.iter().zip(&outputs) {
        heard.answers.push(text(command, output)?);
        heard.remarks.push(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(heard)
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().with_context(|| format!("{name} cannot be started"))
}

fn text(command: &Command, output: &Output) -> Result<String> {
    if !output.status.success() {
        let program = Path::new(command.get_program()).file_name().unwrap_or_default();
        let words: Vec<_> = [program].into_iter().chain(command.get_args()).collect();
        let words = words.join(OsStr::new(" "));
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed ({}): {}", words.display(), output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
