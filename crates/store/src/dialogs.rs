//! Dialogs, their turns and their agents.

use std::collections::HashSet;

use retake_model::{AgentId, DialogId, Millis};
use rusqlite::{OptionalExtension as _, Row};

use crate::{Batch, Store, StoreError};

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// The agent's own id of it.
    pub id: DialogId,
    /// The product of its main agent.
    pub kind: Option<String>,
    /// A title for people: the person's own, else the agent's.
    pub title: Option<String>,
    /// The agent's own title, or the begin of the first message.
    pub agent_title: Option<String>,
    /// The title that the person gave it.
    pub given_title: Option<String>,
    /// When it was first seen.
    pub started_at: Millis,
    /// When it last did anything.
    pub last_at: Millis,
    /// When it ended, if it did.
    pub ended_at: Option<Millis>,
    /// User messages so far.
    pub turns: u64,
    /// Whether a turn is under way.
    pub turn_open: bool,
}

/// An agent of a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialogAgent {
    /// Its id.
    pub id: AgentId,
    /// Its product.
    pub kind: Option<String>,
    /// The agent that started it.
    pub parent: Option<AgentId>,
}

impl Store {
    /// One dialog.
    pub fn dialog(&self, id: &DialogId) -> Result<Option<Dialog>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT_DIALOG} WHERE id = ?1"))?;
        Ok(query.query_row([&id.0], dialog_from).optional()?)
    }

    /// Every dialog, the latest activity first.
    pub fn dialogs(&self) -> Result<Vec<Dialog>, StoreError> {
        let mut query =
            self.db.prepare_cached(&format!("{SELECT_DIALOG} ORDER BY last_seq DESC"))?;
        let rows = query.query_map([], dialog_from)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The dialogs with work that waits for approval, the latest activity first: what is in the
    /// files and not approved, and what was approved and taken back since.
    pub fn dialogs_to_approve(&self) -> Result<Vec<Dialog>, StoreError> {
        let mut waiting = HashSet::new();
        for sql in SELECT_DIALOGS_TO_APPROVE {
            let mut query = self.db.prepare_cached(sql)?;
            let rows = query.query_map([], |row| row.get::<_, String>(0))?;
            waiting.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        let mut dialogs = self.dialogs()?;
        dialogs.retain(|dialog| waiting.contains(&dialog.id.0));
        Ok(dialogs)
    }

    /// The dialog whose id is this text, else those whose id begins with it, at most two.
    pub fn dialogs_by_prefix(&self, text: &str) -> Result<Vec<DialogId>, StoreError> {
        if let Some(dialog) = self.dialog(&DialogId(text.to_owned()))? {
            return Ok(vec![dialog.id]);
        }
        let sql = "SELECT id FROM dialog WHERE id BETWEEN ?1 AND ?1 || char(0x10ffff) LIMIT 2";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([text], |row| Ok(DialogId(row.get(0)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The product of a dialog's agent; of its main agent if that one is not known.
    pub fn agent_kind(
        &self,
        dialog: &DialogId,
        agent: Option<&AgentId>,
    ) -> Result<Option<String>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT coalesce((SELECT kind FROM agent WHERE dialog = ?1 AND id = ?2),
                (SELECT kind FROM dialog WHERE id = ?1))",
        )?;
        Ok(query.query_row((&dialog.0, agent.map(|agent| &agent.0)), |row| row.get(0))?)
    }

    /// The agents of a dialog.
    pub fn agents(&self, dialog: &DialogId) -> Result<Vec<DialogAgent>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT id, kind, parent FROM agent WHERE dialog = ?1 ORDER BY id")?;
        let rows = query.query_map([&dialog.0], |row| {
            Ok(DialogAgent {
                id: AgentId(row.get(0)?),
                kind: row.get(1)?,
                parent: row.get::<_, Option<String>>(2)?.map(AgentId),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Queries for dialogs with work that waits for approval: their own, approved and reverted since,
/// shared with other dialogs and not approved by this one.
const SELECT_DIALOGS_TO_APPROVE: [&str; 3] = [
    "SELECT DISTINCT dialog FROM change WHERE dialog NOT NULL AND actor = 'agent'
         AND status IN ('pending', 'accepted') AND approved IS NULL",
    "SELECT DISTINCT dialog FROM change WHERE dialog NOT NULL AND actor = 'agent'
         AND status IN ('rejected', 'reverted') AND approved IS NOT NULL",
    "SELECT DISTINCT k.dialog FROM change c JOIN candidate a ON a.change = c.seq
         JOIN call k ON k.id = a.call
     WHERE c.actor = 'agent' AND c.agent IS NULL AND c.dialog IS NULL AND c.approved IS NULL
         AND c.status IN ('pending', 'accepted')
         AND NOT EXISTS (SELECT 1 FROM shared_approval s
             WHERE s.change = c.seq AND s.dialog = k.dialog)",
];

/// Query of all columns that [`dialog_from`] reads.
const SELECT_DIALOG: &str =
    "SELECT id, kind, title, started_at, last_at, ended_at, turns, turn_open,
        (SELECT g.title FROM dialog_title g WHERE g.dialog = dialog.id) FROM dialog";

fn dialog_from(row: &Row<'_>) -> rusqlite::Result<Dialog> {
    let agent_title: Option<String> = row.get(2)?;
    let given_title: Option<String> = row.get(8)?;
    Ok(Dialog {
        id: DialogId(row.get(0)?),
        kind: row.get(1)?,
        title: given_title.clone().or_else(|| agent_title.clone()),
        agent_title,
        given_title,
        started_at: row.get(3)?,
        last_at: row.get(4)?,
        ended_at: row.get(5)?,
        turns: row.get::<_, i64>(6)? as u64,
        turn_open: row.get(7)?,
    })
}

impl Batch<'_> {
    /// Inserts the dialog if it is new, and updates its last activity.
    pub fn touch_dialog(
        &self,
        id: &DialogId,
        kind: Option<&str>,
        title: Option<&str>,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.execute(
            "touch dialog",
            "INSERT INTO dialog(id, kind, title, started_at, last_at, last_seq)
             VALUES(?1, ?2, ?3, ?4, ?4, 0)
             ON CONFLICT(id) DO UPDATE SET
                 kind = coalesce(kind, excluded.kind), title = coalesce(excluded.title, title),
                 last_at = excluded.last_at, ended_at = NULL",
            (&id.0, kind, title, at),
        )?;
        Ok(())
    }

    /// Sets the person's title of a dialog, or takes it away; the agent's own stays.
    pub fn set_given_title(&self, id: &DialogId, title: Option<&str>) -> Result<(), StoreError> {
        let sql = "DELETE FROM dialog_title WHERE dialog = ?1";
        self.execute("take title away", sql, [&id.0])?;
        if let Some(title) = title {
            let sql = "INSERT INTO dialog_title(dialog, title) VALUES(?1, ?2)";
            self.execute("give title", sql, (&id.0, title))?;
        }
        Ok(())
    }

    /// Inserts the agent into its dialog if it is new.
    pub fn touch_agent(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        kind: Option<&str>,
        parent: Option<&AgentId>,
    ) -> Result<(), StoreError> {
        self.execute(
            "touch agent",
            "INSERT INTO agent(dialog, id, kind, parent) VALUES(?1, ?2, ?3, ?4)
             ON CONFLICT(dialog, id) DO UPDATE SET
                 kind = coalesce(excluded.kind, kind), parent = coalesce(excluded.parent, parent)",
            (&dialog.0, &agent.0, kind, parent.map(|parent| &parent.0)),
        )?;
        Ok(())
    }

    /// Begins the dialog's next turn, titled by its first message.
    pub fn begin_turn(&self, dialog: &DialogId, title: &str) -> Result<(), StoreError> {
        self.execute(
            "begin turn",
            "UPDATE dialog SET turns = turns + 1, turn_open = 1, title = coalesce(title, nullif(?2, ''))
             WHERE id = ?1",
            (&dialog.0, title),
        )?;
        Ok(())
    }

    /// Marks a turn as open, even if its message was not seen.
    pub fn open_turn(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute("open turn", "UPDATE dialog SET turn_open = 1 WHERE id = ?1", [&dialog.0])?;
        Ok(())
    }

    /// Sets the `seq` of the dialog's newest event.
    pub fn set_dialog_seq(&self, dialog: &DialogId, seq: u64) -> Result<(), StoreError> {
        self.execute(
            "mark dialog",
            "UPDATE dialog SET last_seq = ?2 WHERE id = ?1",
            (&dialog.0, seq as i64),
        )?;
        Ok(())
    }

    /// Ends the dialog's turn.
    pub fn end_turn(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute("end turn", "UPDATE dialog SET turn_open = 0 WHERE id = ?1", [&dialog.0])?;
        Ok(())
    }

    /// Ends the dialog.
    pub fn end_dialog(&self, dialog: &DialogId, at: Millis) -> Result<(), StoreError> {
        self.execute(
            "end dialog",
            "UPDATE dialog SET turn_open = 0, ended_at = ?2 WHERE id = ?1",
            (&dialog.0, at),
        )?;
        Ok(())
    }
}
