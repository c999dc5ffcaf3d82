//! Dialogs, their agents, and the tool calls that are or were open.

use retake_model::{AgentId, CallId, ChangeId, DialogId, Millis};
use rusqlite::{OptionalExtension as _, Row};
use serde_json::Value;

use crate::{Batch, Store, StoreError};

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// The agent's own id of it.
    pub id: DialogId,
    /// The product of its main agent.
    pub kind: Option<String>,
    /// A title for people.
    pub title: Option<String>,
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

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Begun, not ended: its window is open.
    Open,
    /// Ended by its own end.
    Ended,
    /// Closed without an end: denied, failed, interrupted.
    Abandoned,
}

/// What an ended call may still do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterlife {
    /// Nothing.
    None,
    /// A background task of it is known to live.
    Living,
    /// It went to the background, but is not known to live: only what it targeted.
    TargetsOnly,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The row.
    pub row: i64,
    /// The conversation.
    pub dialog: DialogId,
    /// Who called.
    pub agent: AgentId,
    /// The agent's own id of the call.
    pub call: CallId,
    /// The tool's name as the agent gave it.
    pub tool: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// The arguments; `null` once the call can do nothing more.
    pub input: Value,
    /// The turn of the dialog.
    pub turn: u64,
    /// Where it stands.
    pub state: CallState,
    /// What it may still do.
    pub afterlife: Afterlife,
    /// When it began.
    pub begin_at: Millis,
    /// Its place in the order; 0 until that is known.
    pub begin_seq: u64,
}

/// What is known when a call begins.
#[derive(Clone, Debug)]
pub struct NewCall<'a> {
    /// The conversation.
    pub dialog: &'a DialogId,
    /// Who calls.
    pub agent: &'a AgentId,
    /// The agent's own id of the call.
    pub call: &'a CallId,
    /// The tool's name.
    pub tool: &'a str,
    /// The working directory.
    pub cwd: Option<&'a str>,
    /// The arguments.
    pub input: &'a Value,
    /// The shell command, for people.
    pub command: Option<&'a str>,
    /// The place in the message history.
    pub message_index: Option<u64>,
    /// The turn of the dialog.
    pub turn: u64,
}

const CALL: &str = "id, dialog, agent, call, tool, cwd, input, turn, state, afterlife, begin_at,
    begin_seq";

fn call_from(row: &Row<'_>) -> rusqlite::Result<(Call, Option<Vec<u8>>)> {
    let call = Call {
        row: row.get(0)?,
        dialog: DialogId(row.get(1)?),
        agent: AgentId(row.get(2)?),
        call: CallId(row.get(3)?),
        tool: row.get(4)?,
        cwd: row.get(5)?,
        input: Value::Null,
        turn: row.get::<_, i64>(7)? as u64,
        state: match row.get(8)? {
            0 => CallState::Open,
            1 => CallState::Ended,
            _ => CallState::Abandoned,
        },
        afterlife: match row.get(9)? {
            1 => Afterlife::Living,
            2 => Afterlife::TargetsOnly,
            _ => Afterlife::None,
        },
        begin_at: row.get(10)?,
        begin_seq: row.get::<_, i64>(11)? as u64,
    };
    Ok((call, row.get(6)?))
}

/// Arguments that cannot be read any more are none: the call stays, and its window with it.
fn with_input((mut call, input): (Call, Option<Vec<u8>>)) -> Call {
    let unpack = |packed: Vec<u8>| {
        let bytes = zstd::decode_all(packed.as_slice()).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    call.input = input.and_then(unpack).unwrap_or(Value::Null);
    call
}

impl Store {
    /// Every call that can still change files, oldest first.
    pub fn live_calls(&self) -> Result<Vec<Call>, StoreError> {
        let sql = format!("SELECT {CALL} FROM call WHERE state = 0 OR afterlife > 0 ORDER BY id");
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map([], |row| call_from(row).map(with_input))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The newest call of a dialog with this id.
    pub fn call(&self, dialog: &DialogId, call: &CallId) -> Result<Option<Call>, StoreError> {
        let sql = format!(
            "SELECT {CALL} FROM call WHERE dialog = ?1 AND call = ?2 ORDER BY id DESC LIMIT 1"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let row = query.query_row([&dialog.0, &call.0], call_from).optional()?;
        Ok(row.map(with_input))
    }

    /// The one call that made a change, if there is just one.
    pub fn call_of(&self, change: ChangeId) -> Result<Option<Call>, StoreError> {
        let sql =
            format!("SELECT {CALL} FROM call WHERE id = (SELECT call FROM change WHERE seq = ?1)");
        let mut query = self.db.prepare_cached(&sql)?;
        let row = query.query_row([change.0 as i64], call_from).optional()?;
        Ok(row.map(with_input))
    }

    /// The place in the message history of the one call that made a change.
    pub fn message_index(&self, change: ChangeId) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT message_index FROM call
            WHERE id = (SELECT call FROM change WHERE seq = ?1)";
        let mut query = self.db.prepare_cached(sql)?;
        let index = query.query_row([change.0 as i64], |row| row.get::<_, Option<i64>>(0));
        Ok(index.optional()?.flatten().map(|index| index as u64))
    }

    /// One dialog.
    pub fn dialog(&self, id: &DialogId) -> Result<Option<Dialog>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{DIALOG} WHERE id = ?1"))?;
        Ok(query.query_row([&id.0], dialog_from).optional()?)
    }

    /// Every dialog, the latest activity first.
    pub fn dialogs(&self) -> Result<Vec<Dialog>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{DIALOG} ORDER BY last_seq DESC"))?;
        let rows = query.query_map([], dialog_from)?;
        Ok(rows.collect::<Result<_, _>>()?)
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

const DIALOG: &str =
    "SELECT id, kind, title, started_at, last_at, ended_at, turns, turn_open FROM dialog";

fn dialog_from(row: &Row<'_>) -> rusqlite::Result<Dialog> {
    Ok(Dialog {
        id: DialogId(row.get(0)?),
        kind: row.get(1)?,
        title: row.get(2)?,
        started_at: row.get(3)?,
        last_at: row.get(4)?,
        ended_at: row.get(5)?,
        turns: row.get::<_, i64>(6)? as u64,
        turn_open: row.get(7)?,
    })
}

impl Batch<'_> {
    /// Makes sure that the dialog exists, and notes that it was active.
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

    /// Makes sure that the agent exists in its dialog.
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
            "UPDATE dialog SET turns = turns + 1, turn_open = 1, title = coalesce(title, ?2)
             WHERE id = ?1",
            (&dialog.0, title),
        )?;
        Ok(())
    }

    /// Notes that a turn is under way, even if its message was not seen.
    pub fn open_turn(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute("open turn", "UPDATE dialog SET turn_open = 1 WHERE id = ?1", [&dialog.0])?;
        Ok(())
    }

    /// Notes the place of the dialog's newest event.
    pub fn mark_dialog(&self, dialog: &DialogId, seq: u64) -> Result<(), StoreError> {
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

    /// Opens a call's window. Its place in the order comes with [`Batch::place_call`].
    pub fn begin_call(&self, call: &NewCall<'_>, at: Millis) -> Result<i64, StoreError> {
        let input = match call.input {
            Value::Null => None,
            input => Some(zstd::encode_all(input.to_string().as_bytes(), 1)?),
        };
        self.execute(
            "begin call",
            "INSERT INTO call(dialog, agent, call, tool, cwd, input, command, message_index, turn,
                              begin_seq, begin_at, state)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, 0)",
            (
                &call.dialog.0,
                &call.agent.0,
                &call.call.0,
                call.tool,
                call.cwd,
                input,
                call.command,
                call.message_index.map(|index| index as i64),
                call.turn as i64,
                at,
            ),
        )?;
        Ok(self.last_row())
    }

    /// Says at which place in the order a call began: after what was found before it.
    pub fn place_call(&self, row: i64, seq: u64) -> Result<(), StoreError> {
        self.execute(
            "place call",
            "UPDATE call SET begin_seq = ?2 WHERE id = ?1",
            (row, seq as i64),
        )?;
        Ok(())
    }

    /// Closes a call's window.
    pub fn close_call(
        &self,
        row: i64,
        state: CallState,
        ok: Option<bool>,
        seq: u64,
        at: Millis,
    ) -> Result<(), StoreError> {
        let state = match state {
            CallState::Open => 0,
            CallState::Ended => 1,
            CallState::Abandoned => 2,
        };
        self.execute(
            "close call",
            "UPDATE call SET state = ?2, ok = ?3, end_seq = ?4, end_at = ?5 WHERE id = ?1",
            (row, state, ok, seq as i64, at),
        )?;
        Ok(())
    }

    /// Sets what a closed call may still do.
    pub fn set_afterlife(&self, row: i64, afterlife: Afterlife) -> Result<(), StoreError> {
        let code = match afterlife {
            Afterlife::None => 0,
            Afterlife::Living => 1,
            Afterlife::TargetsOnly => 2,
        };
        self.execute("set afterlife", "UPDATE call SET afterlife = ?2 WHERE id = ?1", (row, code))?;
        Ok(())
    }

    /// Lets go of the arguments of calls that can do nothing more; the record of them stays.
    pub fn drop_inputs(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute(
            "drop inputs",
            "UPDATE call SET input = NULL
             WHERE dialog = ?1 AND input IS NOT NULL AND state = 1 AND afterlife = 0",
            [&dialog.0],
        )?;
        Ok(())
    }

    /// Lets go of all arguments of a dialog that is over.
    pub fn drop_all_inputs(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute(
            "drop all inputs",
            "UPDATE call SET input = NULL WHERE dialog = ?1 AND input IS NOT NULL",
            [&dialog.0],
        )?;
        Ok(())
    }
}
