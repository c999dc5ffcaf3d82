//! Turns of a dialog: what the person asked for, and the work that followed.

use retake_engine::{
    self as engine, ChangeTotals, Dialog, Project, StoreError, TurnRecord, iso_8601,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::MessageDocument;
use crate::Masking;

/// A dialog's work from one message of the person to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Turn)]
pub struct TurnDocument {
    /// The dialog.
    pub dialog: String,
    /// Its number; 0 is what agents did before any message was heard.
    pub turn: u64,
    /// The message that began it, with the checkpoint before it; null if it is not on record.
    pub message: Option<MessageDocument>,
    /// When it began: with its message, else with its first call.
    pub began: Option<String>,
    /// When it ended; null while it is under way.
    pub ended: Option<String>,
    /// Whether it is under way.
    pub open: bool,
    /// Who acted in it.
    pub agents: Vec<TurnAgentDocument>,
    /// How many calls of tools it has.
    pub calls: u64,
    /// What agents changed in it. A change that calls of several turns may have made counts in
    /// each of them.
    pub totals: ChangeTotalsDocument,
    /// Whether it changed files, and none of that is in effect.
    pub undone: bool,
}

impl TurnDocument {
    fn new(dialog: &Dialog, turn: &TurnRecord, masking: Masking) -> Self {
        let message = turn.message.as_ref();
        Self {
            dialog: dialog.id.0.clone(),
            turn: turn.number,
            message: message.map(|message| MessageDocument::new(message, masking)),
            began: turn.began_at.map(iso_8601),
            ended: turn.ended_at.map(iso_8601),
            open: turn.is_open,
            agents: turn.agents.iter().map(TurnAgentDocument::from).collect(),
            calls: turn.calls,
            totals: turn.totals.into(),
            undone: turn.is_undone(),
        }
    }

    /// One turn of a dialog.
    pub fn read(
        project: &Project,
        dialog: &Dialog,
        number: u64,
        masking: Masking,
    ) -> Result<Option<Self>, StoreError> {
        let turn = project.turn(dialog, number)?;
        Ok(turn.map(|turn| Self::new(dialog, &turn, masking)))
    }
}

/// An agent that acted in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TurnAgent)]
pub struct TurnAgentDocument {
    /// Its id.
    pub id: String,
    /// Its product.
    #[schema(example = "claude-code")]
    pub kind: Option<String>,
    /// How many calls it made.
    pub calls: u64,
    /// The models that asked for them, as the agent names them, as far as they are known.
    pub models: Vec<String>,
}

impl From<&engine::TurnAgent> for TurnAgentDocument {
    fn from(agent: &engine::TurnAgent) -> Self {
        Self {
            id: agent.id.0.clone(),
            kind: agent.kind.clone(),
            calls: agent.calls,
            models: agent.models.clone(),
        }
    }
}

/// Sums over changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ChangeTotals)]
pub struct ChangeTotalsDocument {
    /// How many changes.
    pub changes: u64,
    /// How many paths they are of.
    pub files: u64,
    /// Lines that they added.
    pub added: u64,
    /// Lines that they removed.
    pub removed: u64,
    /// Agents' changes that are not reviewed.
    pub pending: u64,
    /// Agents' changes that were accepted.
    pub accepted: u64,
    /// Agents' changes that were rejected.
    pub rejected: u64,
    /// Agents' changes that an operation took back.
    pub reverted: u64,
}

impl From<ChangeTotals> for ChangeTotalsDocument {
    fn from(totals: ChangeTotals) -> Self {
        let ChangeTotals { changes, files, added, removed, .. } = totals;
        let ChangeTotals { pending, accepted, rejected, reverted, .. } = totals;
        Self { changes, files, added, removed, pending, accepted, rejected, reverted }
    }
}

/// A page of turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Turns)]
pub struct TurnList {
    /// The turns, newest first.
    pub turns: Vec<TurnDocument>,
    /// What to send as `before` for the next page; null if this was the last.
    pub next: Option<u64>,
}

impl TurnList {
    /// At most `limit` turns of a dialog with numbers below `before`.
    pub fn read(
        project: &Project,
        dialog: &Dialog,
        before: Option<u64>,
        limit: usize,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let turns = project.turns(dialog, before, limit)?;
        let last = turns.last().map(|turn| turn.number).filter(|_| turns.len() == limit);
        let next = match last {
            // There is one before the first message only if agents did something then.
            Some(1) => project.turn(dialog, 0)?.map(|_| 1),
            Some(0) | None => None,
            Some(number) => Some(number),
        };
        let document = |turn: &TurnRecord| TurnDocument::new(dialog, turn, masking);
        Ok(Self { turns: turns.iter().map(document).collect(), next })
    }
}
