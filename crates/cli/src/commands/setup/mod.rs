//! `retake setup`: adds Retake's hooks to the settings of agents, and takes them out again.
//!
//! Each file is planned first and shown, and written only after a yes. A file that cannot be
//! read as what it should be is left as it is and named; the others go on.

mod autostart;
mod files;
mod hook_status;
mod plan;
mod record;
mod report;
mod status;
mod symlinks;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use retake_agents::AgentKind;
use retake_agents::setup::{
    ConfigFolders, HookCommand, SetupLevel, SetupTarget, config_folder, program_names,
    setup_targets,
};
use retake_engine::model::ErrorCode;

use crate::args::SetupArgs;
use crate::context::{CommandContext, Exit};
use crate::failure::ApiError;
use crate::output::{ask_yes_no, is_interactive};
use plan::{PlannedSetupFile, SetupGoal, SetupJob};
use record::SetupRecords;

pub(super) fn run(context: &CommandContext, options: &SetupArgs) -> Result<Exit> {
    let machine = SetupEnvironment::new(context)?;
    if options.status {
        return status::run(context, options, &machine);
    }
    let level = if options.here { SetupLevel::Here } else { SetupLevel::User };
    let records = SetupRecords::new(context.retake.folder());
    let agents = machine.selected_agents(options, level, &records);
    if agents.is_empty() {
        return Err(ApiError::new(
            ErrorCode::NoAgents,
            "no agent that Retake knows was found on this machine",
            "name the one you want to set up, for example `retake setup claude-code`",
        )
        .into());
    }
    let goal =
        if options.remove { SetupGoal::Remove } else { SetupGoal::Add(machine.command.clone()?) };
    let job = SetupJob { goal, level, machine: &machine, records: &records };
    let targets = agents.iter().flat_map(|agent| {
        let targets = setup_targets(*agent, level, &machine.folders);
        targets.into_iter().map(|target| (*agent, target))
    });
    let mut planned: Vec<_> =
        targets.map(|(agent, target)| PlannedSetupFile::new(agent, target, &job)).collect();
    let report = report::SetupReport { context, machine: &machine, remove: options.remove, level };
    if options.print {
        return report.print_preview(&planned);
    }
    if planned.iter().any(PlannedSetupFile::writes) && !options.yes {
        if !is_interactive() {
            return report.print_refused(&planned, &needs_yes_failure(&planned));
        }
        if !context.json {
            context.out.text(&report.render_diffs(&planned))?;
        }
        if !ask_yes_no(&confirm_question(&planned, options.remove))? {
            return report.print_refused(&planned, &declined_failure());
        }
    }
    apply_all(&mut planned, &job);
    let exit = report.print_done(&planned)?;
    autostart::apply_choice(context, options)?;
    Ok(exit)
}

/// Applies all steps; removal goes backwards, as the first file had the shared folder made.
fn apply_all(planned: &mut [PlannedSetupFile], job: &SetupJob<'_>) {
    match job.goal {
        SetupGoal::Add(_) => planned.iter_mut().for_each(|file| file.apply(job)),
        SetupGoal::Remove => planned.iter_mut().rev().for_each(|file| file.apply(job)),
    }
}

fn confirm_question(planned: &[PlannedSetupFile], remove: bool) -> String {
    let count = planned.iter().filter(|file| file.writes()).count();
    let files = if count == 1 { "this file".to_owned() } else { format!("these {count} files") };
    let act = if remove { "Take Retake's hooks out of" } else { "Write" };
    format!("{act} {files}? [y/N] ")
}

fn needs_yes_failure(planned: &[PlannedSetupFile]) -> ApiError {
    let mut message = "nothing was changed, since this needs a yes:".to_owned();
    for file in planned.iter().filter(|file| file.writes()) {
        let _ = write!(message, "\n  {}", file.shown);
    }
    ApiError::new(ErrorCode::NeedsYes, message, "--yes does it, --print shows it")
}

fn declined_failure() -> ApiError {
    ApiError::without_hint(ErrorCode::Declined, "nothing was changed")
}

/// Folders and commands of the person's machine that setup needs.
#[derive(Debug)]
struct SetupEnvironment {
    folders: ConfigFolders,
    home: PathBuf,
    project: PathBuf,
    /// The folders of `PATH`.
    path: Vec<PathBuf>,
    /// The command that hooks run, or why it is unknown: only adding hooks needs it.
    command: Result<HookCommand, ApiError>,
    /// Retake's own folder, if it is not the usual one.
    named_home: Option<PathBuf>,
}

impl SetupEnvironment {
    fn new(context: &CommandContext) -> Result<Self> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            std::path::absolute(value).ok()
        };
        let home = variable("HOME").ok_or_else(|| {
            ApiError::new(ErrorCode::NoHome, "HOME is not set", "set it to your home folder")
        })?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path: Vec<_> =
            std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
        let named_home = context.named_home.clone();
        let command = own_program(std::env::current_exe(), &path).and_then(|program| {
            HookCommand::new(&program, named_home.as_deref()).map_err(|error| {
                ApiError::new(ErrorCode::NotText, error.to_string(), "move it elsewhere")
            })
        });
        let project = project_folder(&std::path::absolute(context.start_folder())?);
        let folders = ConfigFolders::new(&home, project.clone(), &variable);
        Ok(Self { folders, home, project, path, command, named_home })
    }

    /// Returns the command that hooks run, if known.
    fn hook_command(&self) -> Option<&HookCommand> {
        self.command.as_ref().ok()
    }

    /// The agents that the person named, else those that are installed; what is removed is
    /// removed from all others as well.
    fn selected_agents(
        &self,
        options: &SetupArgs,
        level: SetupLevel,
        records: &SetupRecords,
    ) -> Vec<AgentKind> {
        let wanted = |agent: &AgentKind| match options.agents.as_slice() {
            [] => {
                self.has_agent(*agent) || options.remove && self.was_set_up(*agent, level, records)
            }
            named => named.contains(agent),
        };
        AgentKind::ALL.into_iter().filter(wanted).collect()
    }

    /// Returns true if the agent's program is on the path, or its settings exist.
    fn has_agent(&self, agent: AgentKind) -> bool {
        let runs = |program: &&str| self.path.iter().any(|folder| folder.join(program).is_file());
        program_names(agent).iter().any(runs) || config_folder(agent, &self.folders).is_dir()
    }

    /// Returns true if setup has changed files of this agent.
    fn was_set_up(&self, agent: AgentKind, level: SetupLevel, records: &SetupRecords) -> bool {
        setup_targets(agent, level, &self.folders)
            .iter()
            .any(|target| records.find(&target.path).is_some() || self.calls_us(target))
    }

    /// Returns true if a file has hooks that run Retake.
    fn calls_us(&self, target: &SetupTarget) -> bool {
        let text = files::read(&target.path).ok().flatten();
        let found = text.and_then(|text| target.form.find(&text, self.hook_command()).ok());
        found.is_some_and(|found| found.present > 0 || !found.calls.is_empty())
    }
}

/// This program, whose file is `own`, by the name under which an upgrade replaces it.
fn own_program(own: std::io::Result<PathBuf>, path: &[PathBuf]) -> Result<PathBuf, ApiError> {
    let gone = |why: String| {
        let message = format!("this program's own file cannot be found: {why}");
        ApiError::new(ErrorCode::NoProgram, message, "run it again from where it is installed")
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
        assert_eq!(failure.code, ErrorCode::NoProgram);
        assert!(failure.message.contains("/nowhere/retake (deleted)"), "{}", failure.message);
    }
}
