//! Dialogs, their agents, and what was said in them.

use retake_engine::{self as engine, Project, StoreError, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::session::session_name;
use crate::Masking;

/// A conversation between a person and agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Dialog)]
pub struct DialogDocument {
    /// The agent's own id of it.
    pub id: String,
    /// A short name for people, which commands understand as well as the id.
    #[schema(example = "claude-2")]
    #[serde(default)]
    pub name: String,
    /// The product of its main agent.
    #[schema(example = "claude-code")]
    pub kind: Option<String>,
    /// A title for people: the person's own, else the agent's.
    pub title: Option<String>,
    /// The agent's own title, or the begin of the first message.
    pub agent_title: Option<String>,
    /// The title that the person gave it.
    pub given_title: Option<String>,
    /// Messages of the person so far.
    pub turns: u64,
    /// Whether a turn is under way.
    pub turn_open: bool,
    /// When it was first seen.
    #[schema(format = DateTime)]
    pub started: String,
    /// When it last did anything.
    #[schema(format = DateTime)]
    pub last_activity: String,
    /// When it ended, if it did.
    pub ended: Option<String>,
    /// Who acts in it.
    pub agents: Vec<AgentDocument>,
}

impl DialogDocument {
    /// A dialog with its agents.
    pub fn new(dialog: &engine::Dialog, agents: &[engine::DialogAgent], masking: Masking) -> Self {
        Self {
            id: dialog.id.0.clone(),
            name: dialog.name.clone(),
            kind: dialog.kind.clone(),
            title: masking.mask_optional(dialog.title.as_deref()),
            agent_title: masking.mask_optional(dialog.agent_title.as_deref()),
            given_title: masking.mask_optional(dialog.given_title.as_deref()),
            turns: dialog.turns,
            turn_open: dialog.turn_open,
            started: iso_8601(dialog.started_at),
            last_activity: iso_8601(dialog.last_at),
            ended: dialog.ended_at.map(iso_8601),
            agents: agents.iter().map(AgentDocument::from).collect(),
        }
    }
}

/// An agent of a dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Agent)]
pub struct AgentDocument {
    /// Its id; `main` is the one that the person talks to.
    pub id: String,
    /// Its product.
    pub kind: Option<String>,
    /// The agent that started it.
    pub parent: Option<String>,
}

impl From<&engine::DialogAgent> for AgentDocument {
    fn from(agent: &engine::DialogAgent) -> Self {
        Self {
            id: agent.id.0.clone(),
            kind: agent.kind.clone(),
            parent: agent.parent.as_ref().map(|id| id.0.clone()),
        }
    }
}

/// Every dialog, the latest activity first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Dialogs)]
pub struct DialogList {
    /// The dialogs.
    pub dialogs: Vec<DialogDocument>,
}

impl DialogList {
    /// The dialogs of a project.
    pub fn read(project: &Project, masking: Masking) -> Result<Self, StoreError> {
        let dialogs = project.dialogs()?;
        let document =
            |(dialog, agents): &(_, Vec<_>)| DialogDocument::new(dialog, agents, masking);
        Ok(Self { dialogs: dialogs.iter().map(document).collect() })
    }
}

/// A message of the person, which began a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Message)]
pub struct MessageDocument {
    /// Its place in the project's order.
    pub seq: u64,
    /// What it says.
    pub text: String,
    /// Its place in the agent's message history.
    pub message_index: Option<u64>,
    /// The checkpoint that was made before it.
    pub checkpoint: Option<String>,
    /// The work session that it was sent in.
    #[schema(example = "session_1")]
    pub session: Option<String>,
}

impl MessageDocument {
    /// A message.
    pub fn new(message: &engine::UserMessage, masking: Masking) -> Self {
        Self {
            seq: message.seq,
            text: masking.mask_text(&message.text).into_owned(),
            message_index: message.index,
            checkpoint: message.checkpoint.clone(),
            session: message.session.map(session_name),
        }
    }
}
