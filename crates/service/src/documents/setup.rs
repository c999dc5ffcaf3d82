//! Which agents have Retake's hooks.

use retake_engine::iso_8601;
use retake_engine::model::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::setup::{AgentStatus, HookStatus, SetupStatus};

/// Which agents are installed and set up, and when each was last heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Setup)]
pub struct SetupDocument {
    /// The agents that Retake knows.
    pub agents: Vec<AgentSetup>,
}

/// One agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentSetup {
    /// Its name.
    #[schema(example = "claude-code")]
    pub agent: String,
    /// Its name for people.
    pub title: String,
    /// Whether it was never tried with the real agent.
    pub untested: bool,
    /// Whether its program or its settings are on this machine.
    pub installed: bool,
    /// Its hooks for all projects.
    pub user: HookLevel,
    /// Its hooks for the project; null if none is named.
    pub here: Option<HookLevel>,
    /// When it was last heard, in any project.
    pub last_event: Option<String>,
    /// The same in milliseconds.
    #[schema(value_type = Option<i64>)]
    pub last_event_at: Option<Millis>,
}

/// An agent's hooks at one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HookLevel {
    /// The state: `active`, `partly`, `absent`, `off`, `waiting`, `changed`, `broken`,
    /// `unreadable`.
    pub state: String,
    /// What it is about, with the way out.
    pub description: String,
    /// Further explanation.
    pub detail: Option<String>,
    /// The files of the agent's settings.
    pub files: Vec<String>,
}

impl From<&HookStatus> for HookLevel {
    fn from(status: &HookStatus) -> Self {
        Self {
            state: status.state.code().to_owned(),
            description: status.state.describe().to_owned(),
            detail: status.detail.clone(),
            files: status.shown_files(),
        }
    }
}

impl SetupDocument {
    /// The status; with `with_project` also of the hooks in the project.
    pub fn new(status: &SetupStatus, with_project: bool) -> Self {
        let agent = |row: &AgentStatus| AgentSetup {
            agent: row.agent.name().to_owned(),
            title: row.agent.title().to_owned(),
            untested: row.agent.is_untested(),
            installed: row.installed,
            user: (&row.user).into(),
            here: with_project.then(|| (&row.here).into()),
            last_event: row.last.map(iso_8601),
            last_event_at: row.last,
        };
        Self { agents: status.agents.iter().map(agent).collect() }
    }
}
