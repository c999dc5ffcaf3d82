//! Which agents are installed and set up, and when each was last heard.

use std::collections::BTreeMap;
use std::path::PathBuf;

use retake_agents::AgentKind;
use retake_agents::setup::{SetupLevel, has_own_setup};
use retake_engine::Retake;
use retake_engine::model::Millis;

use super::{HookStatus, SetupEnvironment};
use crate::ApiError;

/// The status of all agents.
#[derive(Debug)]
pub struct SetupStatus {
    /// The agents.
    pub agents: Vec<AgentStatus>,
    /// The roots of projects whose record could not be read, and why.
    pub problems: Vec<(String, ApiError)>,
}

/// The status of one agent.
#[derive(Debug)]
pub struct AgentStatus {
    /// The agent.
    pub agent: AgentKind,
    /// Set if its program or its settings are on this machine.
    pub installed: bool,
    /// Its hooks for all projects.
    pub user: HookStatus,
    /// Its hooks for the project.
    pub here: HookStatus,
    /// When it was last heard, in any project.
    pub last: Option<Millis>,
}

impl SetupStatus {
    /// Reads the settings of these agents, and all records; none means all agents.
    pub fn read(
        retake: &Retake,
        machine: &SetupEnvironment,
        agents: &[AgentKind],
    ) -> Result<Self, ApiError> {
        let activity = retake.agent_activity()?;
        let problems = activity.problems.into_iter().map(|(root, error)| (root, error.into()));
        Ok(Self {
            agents: read_agents(machine, agents, &activity.kinds),
            problems: problems.collect(),
        })
    }
}

/// Reads the settings of these agents, none means all; `heard` has the time at which each product
/// was last heard.
pub fn read_agents(
    machine: &SetupEnvironment,
    agents: &[AgentKind],
    heard: &BTreeMap<String, Millis>,
) -> Vec<AgentStatus> {
    let wanted =
        |agent: &AgentKind| has_own_setup(*agent) && (agents.is_empty() || agents.contains(agent));
    let status = |agent: AgentKind| AgentStatus {
        agent,
        installed: machine.has_agent(agent),
        user: HookStatus::new(agent, SetupLevel::User, machine),
        here: HookStatus::new(agent, SetupLevel::Here, machine),
        last: heard.get(agent.name()).copied(),
    };
    AgentKind::ALL.into_iter().filter(wanted).map(status).collect()
}

impl HookStatus {
    /// The files, for people.
    pub(crate) fn shown_files(&self) -> Vec<String> {
        self.files.iter().map(|file: &PathBuf| file.display().to_string()).collect()
    }
}
