//! Turns of a dialog: what the person asked for, and the calls and changes that followed.
//!
//! A page of turns costs what its calls and changes cost: each query goes along an index by dialog
//! and turn, or by call.

use std::collections::BTreeMap;

use retake_model::{AgentId, Millis};
use rusqlite::OptionalExtension as _;

use crate::change_totals::{TOTAL_COLUMNS, totals_from};
use crate::events::user_message_from;
use crate::{ChangeTotals, Dialog, Store, StoreError, UserMessage};

/// One turn of a dialog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnRecord {
    /// Its number; 0 is what agents did before any message was heard.
    pub number: u64,
    /// The message that began it, if it is on record.
    pub message: Option<UserMessage>,
    /// When it began: with its message, else with its first call.
    pub began_at: Option<Millis>,
    /// When it ended; none while it is open, or if that is not on record.
    pub ended_at: Option<Millis>,
    /// Whether it is under way.
    pub is_open: bool,
    /// Who acted in it, by id.
    pub agents: Vec<TurnAgent>,
    /// How many calls it has.
    pub calls: u64,
    /// What agents changed in it.
    pub totals: ChangeTotals,
}

impl TurnRecord {
    /// Returns whether agents changed files in it, and nothing of that is in effect.
    pub fn is_undone(&self) -> bool {
        self.totals.changes > 0 && self.totals.pending == 0 && self.totals.accepted == 0
    }
}

/// An agent that acted in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnAgent {
    /// Its id.
    pub id: AgentId,
    /// Its product.
    pub kind: Option<String>,
    /// How many calls it made.
    pub calls: u64,
    /// The models that asked for them, as far as they are known.
    pub models: Vec<String>,
}

/// Turns from the first to the last number.
#[derive(Clone, Copy)]
struct TurnRange {
    first: u64,
    last: u64,
}

impl Store {
    /// At most `limit` turns of a dialog with numbers below `before`, newest first.
    pub fn turns(
        &self,
        dialog: &Dialog,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<TurnRecord>, StoreError> {
        let end = before.unwrap_or(u64::MAX).min(dialog.turns + 1);
        let Some(last) = end.checked_sub(1).filter(|_| limit > 0) else { return Ok(Vec::new()) };
        let first = end.saturating_sub(limit as u64);
        let mut turns = self.turns_between(dialog, TurnRange { first, last })?;
        // Before the first message there is a turn only if agents did something.
        turns.retain(|turn| turn.number > 0 || turn.calls > 0 || turn.totals.changes > 0);
        turns.reverse();
        Ok(turns)
    }

    /// One turn of a dialog.
    pub fn turn(&self, dialog: &Dialog, number: u64) -> Result<Option<TurnRecord>, StoreError> {
        let before = number.checked_add(1);
        let turns = self.turns(dialog, before, 1)?;
        Ok(turns.into_iter().find(|turn| turn.number == number))
    }

    fn turns_between(
        &self,
        dialog: &Dialog,
        range: TurnRange,
    ) -> Result<Vec<TurnRecord>, StoreError> {
        let numbers = range.first..=range.last;
        let mut turns: BTreeMap<u64, TurnRecord> = numbers
            .map(|number| (number, TurnRecord { number, ..TurnRecord::default() }))
            .collect();
        self.add_messages(dialog, range, &mut turns)?;
        self.add_agents(dialog, range, &mut turns)?;
        self.add_totals(dialog, range, &mut turns)?;
        self.add_times(dialog, &mut turns)?;
        Ok(turns.into_values().collect())
    }

    fn add_messages(
        &self,
        dialog: &Dialog,
        range: TurnRange,
        turns: &mut BTreeMap<u64, TurnRecord>,
    ) -> Result<(), StoreError> {
        let removed = self.removed_messages(dialog)?;
        let first = range.first.max(removed + 1);
        let mut query = self.db.prepare_cached(
            "SELECT seq, at, body FROM event WHERE kind = 'user_message' AND dialog = ?1
             ORDER BY seq LIMIT ?2 OFFSET ?3",
        )?;
        let limit = (range.last + 1).saturating_sub(first);
        let mut rows = query.query((&dialog.id.0, limit as i64, (first - removed - 1) as i64))?;
        let mut number = first;
        while let Some(row) = rows.next()? {
            let body = serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default();
            if let Some(turn) = turns.get_mut(&number) {
                turn.message = user_message_from(row.get::<_, i64>(0)? as u64, row.get(1)?, &body);
                turn.began_at = Some(row.get(1)?);
            }
            number += 1;
        }
        Ok(())
    }

    /// How many of the dialog's first messages are not on record any longer. Turns count all of
    /// them, and collections remove the oldest.
    pub(crate) fn removed_messages(&self, dialog: &Dialog) -> Result<u64, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT count(*) FROM event WHERE kind = 'user_message' AND dialog = ?1",
        )?;
        let count: i64 = query.query_row([&dialog.id.0], |row| row.get(0))?;
        Ok(dialog.turns.saturating_sub(count as u64))
    }

    fn add_agents(
        &self,
        dialog: &Dialog,
        range: TurnRange,
        turns: &mut BTreeMap<u64, TurnRecord>,
    ) -> Result<(), StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT k.turn, k.agent, k.model, count(*), min(k.begin_at),
                 coalesce((SELECT a.kind FROM agent a WHERE a.dialog = k.dialog AND a.id = k.agent),
                          ?4)
             FROM call k WHERE k.dialog = ?1 AND k.turn BETWEEN ?2 AND ?3
             GROUP BY k.turn, k.agent, k.model ORDER BY k.turn, k.agent, k.model",
        )?;
        let bounds = (&dialog.id.0, range.first as i64, range.last as i64, &dialog.kind);
        let mut rows = query.query(bounds)?;
        while let Some(row) = rows.next()? {
            let Some(turn) = turns.get_mut(&(row.get::<_, i64>(0)? as u64)) else { continue };
            let (id, calls) = (AgentId(row.get(1)?), row.get::<_, i64>(3)? as u64);
            turn.calls += calls;
            if turn.message.is_none() {
                let began_at: Millis = row.get(4)?;
                turn.began_at = Some(turn.began_at.map_or(began_at, |known| known.min(began_at)));
            }
            if turn.agents.last().is_none_or(|last| last.id != id) {
                turn.agents.push(TurnAgent { id, kind: row.get(5)?, calls: 0, models: Vec::new() });
            }
            if let Some(agent) = turn.agents.last_mut() {
                agent.calls += calls;
                agent.models.extend(row.get::<_, Option<String>>(2)?);
            }
        }
        Ok(())
    }

    /// A change that several calls may have made counts in the turn of each.
    fn add_totals(
        &self,
        dialog: &Dialog,
        range: TurnRange,
        turns: &mut BTreeMap<u64, TurnRecord>,
    ) -> Result<(), StoreError> {
        let mut query = self.db.prepare_cached(&format!(
            "SELECT t.turn, {TOTAL_COLUMNS} FROM (
                 SELECT turn, seq FROM change WHERE dialog = ?1 AND turn BETWEEN ?2 AND ?3
                 UNION
                 SELECT j.turn, s.seq FROM call j JOIN candidate a ON a.call = j.id
                     JOIN change s ON s.seq = a.change
                 WHERE j.dialog = ?1 AND j.turn BETWEEN ?2 AND ?3 AND s.turn IS NULL) t
             JOIN change c ON c.seq = t.seq WHERE c.actor = 'agent' GROUP BY t.turn"
        ))?;
        let mut rows = query.query((&dialog.id.0, range.first as i64, range.last as i64))?;
        while let Some(row) = rows.next()? {
            if let Some(turn) = turns.get_mut(&(row.get::<_, i64>(0)? as u64)) {
                turn.totals = totals_from(row, 1)?;
            }
        }
        Ok(())
    }

    fn add_times(
        &self,
        dialog: &Dialog,
        turns: &mut BTreeMap<u64, TurnRecord>,
    ) -> Result<(), StoreError> {
        let mut next = match turns.last_key_value() {
            Some((number, _)) => self.message_of_turn(&dialog.id, number + 1)?,
            None => None,
        };
        for turn in turns.values_mut().rev() {
            let is_last = turn.number == dialog.turns;
            turn.is_open = is_last && dialog.turn_open;
            let seq = turn.message.as_ref().map_or(0, |message| message.seq);
            if !turn.is_open {
                let until = next.as_ref().map_or(u64::MAX, |next| next.seq);
                let stopped = self.last_turn_end(dialog, seq, until)?;
                let left =
                    if is_last { dialog.ended_at } else { next.as_ref().map(|next| next.at) };
                turn.ended_at = stopped.or(left);
            }
            next.clone_from(&turn.message);
        }
        Ok(())
    }

    /// When the main agent last stopped between two places of the order.
    fn last_turn_end(
        &self,
        dialog: &Dialog,
        after: u64,
        before: u64,
    ) -> Result<Option<Millis>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT at FROM event WHERE kind = 'turn_end' AND dialog = ?1 AND seq > ?2 AND seq < ?3
                 AND (agent IS NULL OR agent = 'main')
             ORDER BY seq DESC LIMIT 1",
        )?;
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        let at = query.query_row((&dialog.id.0, after as i64, before), |row| row.get(0));
        Ok(at.optional()?)
    }
}
