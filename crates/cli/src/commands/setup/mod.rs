//! `retake setup`: adds Retake's hooks to the settings of agents, and takes them out again.
//!
//! Each file is planned first and shown in a line, and written only after a yes. A file that cannot be
//! read as what it should be is left as it is and named; the others go on.

mod autostart;
mod home_path;
mod plan;
mod record;
mod report;
mod status;
mod table;

use std::fmt::Write as _;

use anyhow::Result;
use retake_agents::AgentKind;
use retake_agents::setup::{SetupLevel, has_own_setup, setup_targets};
use retake_engine::model::ErrorCode;
use retake_service::setup::SetupEnvironment;

use crate::args::SetupArgs;
use crate::context::{CommandContext, Exit};
use crate::failure::{ApiError, declined_failure};
use crate::output::is_interactive;
use crate::question::confirm;
use plan::{PlannedSetupFile, SetupGoal, SetupJob};
use record::SetupRecords;

pub(super) fn run(context: &CommandContext, options: &SetupArgs) -> Result<Exit> {
    check_own_setup(&options.agents)?;
    let machine = SetupEnvironment::detect(context.start_folder(), context.named_home.clone())?;
    if options.status {
        return status::run(context, options, &machine);
    }
    let level = if options.here { SetupLevel::Here } else { SetupLevel::User };
    let records = SetupRecords::new(context.retake.folder());
    let agents = selected_agents(&machine, options, level, &records);
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
        report.show_plan(&planned);
        let diff = || Ok(report.render_diffs(&planned, true).into_bytes());
        if !confirm(&confirm_question(&planned, options.remove), Some(&diff))? {
            return report.print_refused(&planned, &declined_failure("nothing was changed"));
        }
    }
    apply_all(&mut planned, &job);
    let exit = report.print_done(&planned)?;
    autostart::apply_choice(context, options)?;
    report.print_next_step(&planned)?;
    Ok(exit)
}

/// Refuses agents that have no hook settings of their own.
fn check_own_setup(agents: &[AgentKind]) -> Result<(), ApiError> {
    let Some(agent) = agents.iter().find(|agent| !has_own_setup(**agent)) else { return Ok(()) };
    let message =
        format!("{} has no hook settings of its own: it runs those of other agents", agent.title());
    Err(ApiError::new(
        ErrorCode::NoAgents,
        message,
        "set up claude-code or copilot, with `retake setup claude-code`; its events are told apart",
    ))
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
    format!("{act} {files}?")
}

fn needs_yes_failure(planned: &[PlannedSetupFile]) -> ApiError {
    let mut message = "nothing was changed, since this needs your confirmation:".to_owned();
    for file in planned.iter().filter(|file| file.writes()) {
        let _ = write!(message, "\n  {}", file.shown);
    }
    ApiError::new(ErrorCode::NeedsYes, message, "--yes does it, --print shows it")
}

/// The agents that the person named, else those that are installed; what is removed is
/// removed from all others as well.
fn selected_agents(
    machine: &SetupEnvironment,
    options: &SetupArgs,
    level: SetupLevel,
    records: &SetupRecords,
) -> Vec<AgentKind> {
    let wanted = |agent: &AgentKind| match options.agents.as_slice() {
        [] => {
            machine.has_agent(*agent)
                || options.remove && was_set_up(machine, *agent, level, records)
        }
        named => named.contains(agent),
    };
    AgentKind::ALL.into_iter().filter(wanted).collect()
}

/// Returns true if setup has changed files of this agent.
fn was_set_up(
    machine: &SetupEnvironment,
    agent: AgentKind,
    level: SetupLevel,
    records: &SetupRecords,
) -> bool {
    setup_targets(agent, level, &machine.folders)
        .iter()
        .any(|target| records.find(&target.path).is_some() || machine.calls_us(target))
}
