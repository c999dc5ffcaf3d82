//! Tool calls, open and closed.

use retake_model::{AgentId, CallId, ChangeId, DialogId, Millis, ProcessKey, Stamp};
use rusqlite::{OptionalExtension as _, Row};
use serde_json::Value;

use crate::call_arguments::ShortArguments;
use crate::compression::{MAX_TEXT_BYTES, zstd_compress, zstd_decompress_up_to};
use crate::{Batch, Store, StoreError};

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Begun, not ended: its window is open.
    Open,
    /// Ended by its own end.
    Ended,
    /// Closed without an end: denied by another program, failed, interrupted.
    Abandoned,
    /// Denied by Retake when it began.
    Denied,
}

/// Changes that an ended call may still make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundActivity {
    /// Nothing.
    None,
    /// A background task of it is known to live.
    Running,
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
    /// The arguments; none once the call can do nothing more.
    pub input: CallInput,
    /// The turn of the dialog.
    pub turn: u64,
    /// Where it stands.
    pub state: CallState,
    /// What it may still do.
    pub background: BackgroundActivity,
    /// The agent's name for the background task that it left.
    pub task: Option<String>,
    /// When it began.
    pub begin_at: Millis,
    /// Its place in the order; 0 until that is known.
    pub begin_seq: u64,
    /// The process of the agent, if its hook could tell.
    pub process: Option<ProcessKey>,
}

/// The arguments of a call, compressed as stored and unpacked on demand. Equal bytes mean equal
/// arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallInput(Option<Vec<u8>>);

impl CallState {
    pub(crate) fn from_code(code: i64) -> Self {
        match code {
            0 => Self::Open,
            1 => Self::Ended,
            3 => Self::Denied,
            _ => Self::Abandoned,
        }
    }
}

impl CallInput {
    /// Packs arguments; `null` is none.
    pub fn pack(input: &Value) -> Result<Self, StoreError> {
        match input {
            Value::Null => Ok(Self(None)),
            input => Ok(Self(Some(zstd_compress(input.to_string().as_bytes())?))),
        }
    }

    /// Decompresses the arguments; damaged ones are `null`: the call stays, and its window with it.
    pub fn unpack(&self) -> Value {
        let unpacked =
            self.0.as_deref().and_then(|packed| zstd_decompress_up_to(packed, MAX_TEXT_BYTES).ok());
        unpacked.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null)
    }

    /// Returns whether the call has no arguments.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Size of the compressed arguments in bytes.
    pub fn size(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::len)
    }
}

/// A call to which no change is ascribed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallWithoutChanges {
    /// The conversation.
    pub dialog: DialogId,
    /// Who called.
    pub agent: AgentId,
    /// The product of the agent.
    pub kind: Option<String>,
    /// The agent's own id of the call.
    pub call: CallId,
    /// The tool's name as the agent gave it.
    pub tool: String,
    /// The shell command, if it was one.
    pub command: Option<String>,
    /// When it began.
    pub begin_at: Millis,
}

/// A call that can still do something, as far as it tells who its agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCall {
    /// The conversation.
    pub dialog: DialogId,
    /// Who called.
    pub agent: AgentId,
    /// The agent's own id of the call.
    pub call: CallId,
    /// The beginning of the shell command, if it is one.
    pub command: Option<String>,
    /// The process of the agent, if its hook could tell.
    pub process: Option<ProcessKey>,
    /// Set while its end was not heard; else it left a task in the background.
    pub is_open: bool,
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
    pub input: &'a CallInput,
    /// The shell command, for people.
    pub command: Option<&'a str>,
    /// The place in the message history.
    pub message_index: Option<u64>,
    /// The turn of the dialog.
    pub turn: u64,
    /// The process of the agent, if its hook could tell.
    pub process: Option<&'a ProcessKey>,
    /// The model that asked for the call, if that is known when it begins.
    pub model: Option<&'a str>,
    /// The arguments that stay on record once the call is over.
    pub arguments: &'a ShortArguments,
}

/// What asked for a call, as the agent's own record of the conversation has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallOrigin<'a> {
    /// The place in the message history of the message that carried the call.
    pub message_index: Option<u64>,
    /// The model that wrote the message.
    pub model: Option<&'a str>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEnd {
    /// Where it stands then.
    pub state: CallState,
    /// Whether it succeeded, if that is known.
    pub ok: Option<bool>,
    /// The exit code of its command, if the agent tells it.
    pub exit_code: Option<i64>,
}

impl CallEnd {
    /// An end that the agent did not report.
    pub fn unreported(state: CallState) -> Self {
        Self { state, ok: None, exit_code: None }
    }
}

/// Columns that [`call_from`] reads.
const CALL_COLUMNS: &str =
    "id, dialog, agent, call, tool, cwd, input, turn, state, afterlife, begin_at,
    begin_seq, task, process";

fn call_from(row: &Row<'_>) -> rusqlite::Result<Call> {
    Ok(Call {
        row: row.get(0)?,
        dialog: DialogId(row.get(1)?),
        agent: AgentId(row.get(2)?),
        call: CallId(row.get(3)?),
        tool: row.get(4)?,
        cwd: row.get(5)?,
        input: CallInput(row.get(6)?),
        turn: row.get::<_, i64>(7)? as u64,
        state: CallState::from_code(row.get(8)?),
        background: match row.get(9)? {
            1 => BackgroundActivity::Running,
            2 => BackgroundActivity::TargetsOnly,
            _ => BackgroundActivity::None,
        },
        begin_at: row.get(10)?,
        begin_seq: row.get::<_, i64>(11)? as u64,
        task: row.get(12)?,
        process: row.get::<_, Option<String>>(13)?.and_then(|text| text.parse().ok()),
    })
}

impl Store {
    /// Every call that can still change files, oldest first.
    pub fn live_calls(&self) -> Result<Vec<Call>, StoreError> {
        // Otherwise SQLite scans the whole table to get the order.
        let sql = format!(
            "SELECT {CALL_COLUMNS} FROM call INDEXED BY call_alive WHERE state = 0 OR afterlife > 0"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let mut calls = query.query_map([], call_from)?.collect::<Result<Vec<_>, _>>()?;
        calls.sort_by_key(|call| call.row);
        Ok(calls)
    }

    /// The agents of the calls that can still do something.
    pub fn agent_calls(&self) -> Result<Vec<AgentCall>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT dialog, agent, call, command, process, state = 0
             FROM call INDEXED BY call_alive WHERE state = 0 OR afterlife > 0",
        )?;
        let call = |row: &Row<'_>| {
            Ok(AgentCall {
                dialog: DialogId(row.get(0)?),
                agent: AgentId(row.get(1)?),
                call: CallId(row.get(2)?),
                command: row.get(3)?,
                process: row.get::<_, Option<String>>(4)?.and_then(|text| text.parse().ok()),
                is_open: row.get(5)?,
            })
        };
        Ok(query.query_map([], call)?.collect::<Result<Vec<_>, _>>()?)
    }

    /// The newest call of a dialog with this id.
    pub fn call(&self, dialog: &DialogId, call: &CallId) -> Result<Option<Call>, StoreError> {
        let sql = format!(
            "SELECT {CALL_COLUMNS} FROM call WHERE dialog = ?1 AND call = ?2 ORDER BY id DESC LIMIT 1"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([&dialog.0, &call.0], call_from).optional()?)
    }

    /// The names of a dialog's calls that are this name, or this name and `-…`; oldest first.
    pub fn call_names(&self, dialog: &DialogId, name: &str) -> Result<Vec<CallId>, StoreError> {
        // `.` is the character after `-`.
        let mut query = self.db.prepare_cached(
            "SELECT call FROM call
             WHERE dialog = ?1 AND (call = ?2 OR (call >= ?2 || '-' AND call < ?2 || '.'))
             ORDER BY id",
        )?;
        let rows = query.query_map([&dialog.0, name], |row| Ok(CallId(row.get(0)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The place in the message history of a dialog's newest call with this name.
    pub fn call_message_index(
        &self,
        dialog: &DialogId,
        call: &CallId,
    ) -> Result<Option<u64>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT message_index FROM call WHERE dialog = ?1 AND call = ?2
             ORDER BY id DESC LIMIT 1",
        )?;
        let index = query.query_row([&dialog.0, &call.0], |row| row.get::<_, Option<i64>>(0));
        Ok(index.optional()?.flatten().map(|index| index as u64))
    }

    /// The one call that made a change, if there is just one.
    pub fn call_that_made(&self, change: ChangeId) -> Result<Option<Call>, StoreError> {
        let sql = format!(
            "SELECT {CALL_COLUMNS} FROM call WHERE id = (SELECT call FROM change WHERE seq = ?1)"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([change.0 as i64], call_from).optional()?)
    }

    /// The newest calls to which no change is ascribed, oldest first.
    pub fn calls_without_changes(
        &self,
        limit: usize,
    ) -> Result<Vec<CallWithoutChanges>, StoreError> {
        let mut query = self.db.prepare_cached(
            // A call's changes come after its begin, so only newer rows are read.
            "SELECT dialog, call, tool, command, begin_at, agent, coalesce(
                 (SELECT g.kind FROM agent g WHERE g.dialog = latest.dialog AND g.id = latest.agent),
                 (SELECT d.kind FROM dialog d WHERE d.id = latest.dialog))
             FROM (SELECT * FROM call ORDER BY id DESC LIMIT 200) AS latest
             WHERE NOT EXISTS (SELECT 1 FROM change
                               WHERE seq >= latest.begin_seq AND change.call = latest.id)
               AND NOT EXISTS (SELECT 1 FROM candidate
                               WHERE change >= latest.begin_seq AND candidate.call = latest.id)
             ORDER BY latest.id DESC LIMIT ?1",
        )?;
        let call = |row: &Row<'_>| {
            Ok(CallWithoutChanges {
                dialog: DialogId(row.get(0)?),
                call: CallId(row.get(1)?),
                tool: row.get(2)?,
                command: row.get(3)?,
                begin_at: row.get(4)?,
                agent: AgentId(row.get(5)?),
                kind: row.get(6)?,
            })
        };
        let mut calls = query.query_map([limit as i64], call)?.collect::<Result<Vec<_>, _>>()?;
        calls.reverse();
        Ok(calls)
    }

    /// Returns whether a turn of a dialog has any call.
    pub fn has_calls(&self, dialog: &DialogId, turn: u64) -> Result<bool, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT 1 FROM call WHERE dialog = ?1 AND turn = ?2 LIMIT 1")?;
        Ok(query.exists((&dialog.0, turn as i64))?)
    }
}

impl Batch<'_> {
    /// Opens a call's window. Its place in the order comes with [`Batch::set_call_seq`].
    pub fn begin_call(&self, call: &NewCall<'_>, at: Millis) -> Result<i64, StoreError> {
        self.execute(
            "begin call",
            "INSERT INTO call(dialog, agent, call, tool, cwd, input, command, message_index, turn,
                              begin_seq, begin_at, state, process, model, arguments)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, 0, ?11, ?12, ?13)",
            (
                &call.dialog.0,
                &call.agent.0,
                &call.call.0,
                call.tool,
                call.cwd,
                &call.input.0,
                call.command,
                call.message_index.map(|index| index as i64),
                call.turn as i64,
                at,
                call.process.map(ToString::to_string),
                call.model,
                call.arguments.pack()?,
            ),
        )?;
        Ok(self.last_row_id())
    }

    /// Sets the `seq` at which a call began: after the changes found before it.
    pub fn set_call_seq(&self, row: i64, seq: u64) -> Result<(), StoreError> {
        self.execute(
            "place call",
            "UPDATE call SET begin_seq = ?2 WHERE id = ?1",
            (row, seq as i64),
        )?;
        Ok(())
    }

    /// Closes a call's window.
    pub fn close_call(&self, row: i64, end: CallEnd, stamp: Stamp) -> Result<(), StoreError> {
        let state = match end.state {
            CallState::Open => 0,
            CallState::Ended => 1,
            CallState::Abandoned => 2,
            CallState::Denied => 3,
        };
        self.execute(
            "close call",
            "UPDATE call SET state = ?2, ok = ?3, end_seq = ?4, end_at = ?5, exit_code = ?6
             WHERE id = ?1",
            (row, state, end.ok, stamp.seq as i64, stamp.at, end.exit_code),
        )?;
        Ok(())
    }

    /// Sets the agent's name for the background task that a call left.
    pub fn set_call_task(&self, row: i64, task: &str) -> Result<(), StoreError> {
        self.execute("name task", "UPDATE call SET task = ?2 WHERE id = ?1", (row, task))?;
        Ok(())
    }

    /// Sets what the agent's own record says of a dialog's newest call with this name.
    pub fn set_call_origin(
        &self,
        dialog: &DialogId,
        call: &CallId,
        origin: CallOrigin<'_>,
    ) -> Result<(), StoreError> {
        self.execute(
            "set call origin",
            "UPDATE call SET message_index = coalesce(?3, message_index), model = coalesce(?4, model)
             WHERE id = (SELECT max(id) FROM call WHERE dialog = ?1 AND call = ?2)",
            (&dialog.0, &call.0, origin.message_index.map(|index| index as i64), origin.model),
        )?;
        Ok(())
    }

    /// Sets the model that asked for a call.
    pub fn set_call_model(&self, row: i64, model: &str) -> Result<(), StoreError> {
        self.execute("name model", "UPDATE call SET model = ?2 WHERE id = ?1", (row, model))?;
        Ok(())
    }

    /// Sets what a closed call may still do.
    pub fn set_background_activity(
        &self,
        row: i64,
        activity: BackgroundActivity,
    ) -> Result<(), StoreError> {
        let code = match activity {
            BackgroundActivity::None => 0,
            BackgroundActivity::Running => 1,
            BackgroundActivity::TargetsOnly => 2,
        };
        self.execute("set afterlife", "UPDATE call SET afterlife = ?2 WHERE id = ?1", (row, code))?;
        Ok(())
    }

    /// Drops the whole arguments of calls that can change nothing more; their records stay, with
    /// the arguments in short.
    pub fn drop_finished_inputs(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute(
            "drop inputs",
            "UPDATE call SET input = NULL
             WHERE dialog = ?1 AND input IS NOT NULL AND state = 1 AND afterlife = 0",
            [&dialog.0],
        )?;
        Ok(())
    }

    /// Drops the whole arguments of all calls of a dialog that has ended.
    pub fn drop_all_inputs(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute(
            "drop all inputs",
            "UPDATE call SET input = NULL WHERE dialog = ?1 AND input IS NOT NULL",
            [&dialog.0],
        )?;
        Ok(())
    }
}
