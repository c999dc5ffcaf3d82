//! `retake setup`: adds Retake's hooks to the settings of agents, and takes them out again.
//!
//! Each file is planned first and shown, and written only after a yes. A file that cannot be
//! read as what it should be is left as it is and named; the others go on.

mod autostart;
mod files;
mod place;
mod plan;
mod record;
mod report;
mod standing;
mod status;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use retake_agents::Agent;
use retake_agents::setup::{Folders, HookCommand, Level, Target, config_folder, programs, targets};

use crate::args::Setup;
use crate::context::{Context, Exit};
use crate::failure::Failure;
use crate::output::{ask, can_ask};
use plan::{Aim, Job, Planned};
use record::Records;

pub(super) fn run(context: &Context, options: &Setup) -> Result<Exit> {
    let machine = Machine::new(context)?;
    if options.status {
        return status::run(context, options, &machine);
    }
    let level = if options.here { Level::Here } else { Level::User };
    let records = Records::new(context.retake.folder());
    let agents = machine.chosen(options, level, &records);
    if agents.is_empty() {
        return Err(Failure::new(
            "no_agents",
            "no agent that Retake knows was found on this machine",
            "name the one you want to set up, for example `retake setup claude-code`",
        )
        .into());
    }
    let aim = if options.remove { Aim::Remove } else { Aim::Add(machine.command.clone()?) };
    let job = Job { aim, level, machine: &machine, records: &records };
    let targets = agents.iter().flat_map(|agent| {
        let targets = targets(*agent, level, &machine.folders);
        targets.into_iter().map(|target| (*agent, target))
    });
    let mut planned: Vec<_> =
        targets.map(|(agent, target)| Planned::new(agent, target, &job)).collect();
    let report = report::Report { context, machine: &machine, remove: options.remove, level };
    if options.print {
        return report.preview(&planned);
    }
    if planned.iter().any(Planned::writes) && !options.yes {
        if !can_ask() {
            return report.refused(&planned, &needs_yes(&planned));
        }
        if !context.json {
            context.out.text(&report.diffs(&planned))?;
        }
        if !ask(&question(&planned, options.remove))? {
            return report.refused(&planned, &declined());
        }
    }
    carry_out(&mut planned, &job);
    let exit = report.done(&planned)?;
    autostart::choose(context, options)?;
    Ok(exit)
}

/// Applies all steps; removal goes backwards, as the first file had the shared folder made.
fn carry_out(planned: &mut [Planned], job: &Job<'_>) {
    match job.aim {
        Aim::Add(_) => planned.iter_mut().for_each(|file| file.carry_out(job)),
        Aim::Remove => planned.iter_mut().rev().for_each(|file| file.carry_out(job)),
    }
}

fn question(planned: &[Planned], remove: bool) -> String {
    let count = planned.iter().filter(|file| file.writes()).count();
    let files = if count == 1 { "this file".to_owned() } else { format!("these {count} files") };
    let act = if remove { "Take Retake's hooks out of" } else { "Write" };
    format!("{act} {files}? [y/N] ")
}

fn needs_yes(planned: &[Planned]) -> Failure {
    let mut message = "nothing was changed, since this needs a yes:".to_owned();
    for file in planned.iter().filter(|file| file.writes()) {
        let _ = write!(message, "\n  {}", file.shown);
    }
    Failure::new("needs_yes", message, "--yes does it, --print shows it")
}

fn declined() -> Failure {
    Failure { code: "declined".into(), message: "nothing was changed".to_owned(), hint: None }
}

/// Folders and commands of the person's machine that setup needs.
#[derive(Debug)]
struct Machine {
    folders: Folders,
    home: PathBuf,
    project: PathBuf,
    /// The folders of `PATH`.
    path: Vec<PathBuf>,
    /// The command that hooks run, or why it is unknown: only adding hooks needs it.
    command: Result<HookCommand, Failure>,
    /// Retake's own folder, if it is not the usual one.
    named_home: Option<PathBuf>,
}

impl Machine {
    fn new(context: &Context) -> Result<Self> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            std::path::absolute(value).ok()
        };
        let home = variable("HOME").ok_or_else(|| {
            Failure::new("no_home", "HOME is not set", "set it to your home folder")
        })?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path: Vec<_> =
            std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
        let named_home = context.named_home.clone();
        let command = own_program(std::env::current_exe(), &path).and_then(|program| {
            HookCommand::new(&program, named_home.as_deref())
                .map_err(|error| Failure::new("not_text", error.to_string(), "move it elsewhere"))
        });
        let project = project_folder(&std::path::absolute(context.start())?);
        let folders = Folders::new(&home, project.clone(), &variable);
        Ok(Self { folders, home, project, path, command, named_home })
    }

    /// Returns the command that hooks run, if known.
    fn own(&self) -> Option<&HookCommand> {
        self.command.as_ref().ok()
    }

    /// The agents that the person named, else those that are installed; what is removed is
    /// removed from all others as well.
    fn chosen(&self, options: &Setup, level: Level, records: &Records) -> Vec<Agent> {
        let wanted = |agent: &Agent| match options.agents.as_slice() {
            [] => self.has(*agent) || options.remove && self.has_traces(*agent, level, records),
            named => named.contains(agent),
        };
        Agent::ALL.into_iter().filter(wanted).collect()
    }

    /// Returns true if the agent's program is on the path, or its settings exist.
    fn has(&self, agent: Agent) -> bool {
        let runs = |program: &&str| self.path.iter().any(|folder| folder.join(program).is_file());
        programs(agent).iter().any(runs) || config_folder(agent, &self.folders).is_dir()
    }

    /// Returns true if setup has changed files of this agent.
    fn has_traces(&self, agent: Agent, level: Level, records: &Records) -> bool {
        targets(agent, level, &self.folders)
            .iter()
            .any(|target| records.find(&target.path).is_some() || self.calls_us(target))
    }

    /// Returns true if a file has hooks that run Retake.
    fn calls_us(&self, target: &Target) -> bool {
        let text = files::read(&target.path).ok().flatten();
        let found = text.and_then(|text| target.form.find(&text, self.own()).ok());
        found.is_some_and(|found| found.present > 0 || !found.calls.is_empty())
    }
}

/// This program, whose file is `own`, by the name under which an upgrade replaces it.
fn own_program(own: std::io::Result<PathBuf>, path: &[PathBuf]) -> Result<PathBuf, Failure> {
    let gone = |why: String| {
        let message = format!("this program's own file cannot be found: {why}");
        Failure::new("no_program", message, "run it again from where it is installed")
    };
    let own = own.map_err(|error| gone(error.to_string()))?;
    // Linux adds "(deleted)" to the name of a program that was replaced while it runs.
    let real = own.canonicalize().map_err(|_| gone(own.display().to_string()))?;
    let is_own = |file: &PathBuf| file.canonicalize().is_ok_and(|file| file == real);
    let mut found = path.iter().map(|folder| folder.join("retake"));
    Ok(found.find(|file| file.is_file()).filter(is_own).unwrap_or(own))
}

/// The repository around a folder, else the folder: agents are started there.
fn project_folder(start: &Path) -> PathBuf {
    let repository = start.ancestors().find(|folder| folder.join(".git").exists());
    repository.unwrap_or(start).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_replaced_while_it_runs_is_a_clear_error() {
        let own = PathBuf::from("/nowhere/retake (deleted)");
        let failure = own_program(Ok(own), &[]).unwrap_err();
        assert_eq!(failure.code, "no_program");
        assert!(failure.message.contains("/nowhere/retake (deleted)"), "{}", failure.message);
    }
}
