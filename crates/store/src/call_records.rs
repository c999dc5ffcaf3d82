//! Calls as people look at them: what was asked for, by which model, and how it ended.

use std::fmt::Write as _;

use retake_model::{AgentId, CallId, DialogId, Millis};
use rusqlite::types::Value as SqlValue;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};

use crate::{CallState, ShortArguments, Store, StoreError};

/// A call with everything that is on record of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// The row, which only grows: pages go by it.
    pub row: i64,
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
    /// The working directory.
    pub cwd: Option<String>,
    /// The shell command, if it was one; the first few thousand bytes.
    pub command: Option<String>,
    /// The arguments in short; none of calls that older versions recorded, and of purged ones.
    pub arguments: ShortArguments,
    /// The model that asked for it, as the agent names it.
    pub model: Option<String>,
    /// The place in the message history of the message that carried it.
    pub message_index: Option<u64>,
    /// The turn of the dialog.
    pub turn: u64,
    /// Its place in the order.
    pub begin_seq: u64,
    /// When it began.
    pub begin_at: Millis,
    /// When it ended, or was found to be over.
    pub end_at: Option<Millis>,
    /// Where it stands.
    pub state: CallState,
    /// Whether it succeeded, if the agent told.
    pub ok: Option<bool>,
    /// The exit code of its command, if the agent told.
    pub exit_code: Option<i64>,
    /// Whether it may still change files after its end.
    pub in_background: bool,
    /// The agent's name for the background task that it left.
    pub task: Option<String>,
    /// How many changes it made, alone or among others.
    pub changes: u64,
}

/// Which calls of a dialog.
#[derive(Clone, Debug, Default)]
pub struct CallPage {
    /// Of this turn.
    pub turn: Option<u64>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// After this row.
    pub after: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// Query of all columns that [`call_record_from`] reads.
const SELECT_CALL: &str = "SELECT k.id, k.dialog, k.agent, k.call, k.tool, k.cwd, k.command,
    k.arguments, k.model, k.message_index, k.turn, k.begin_seq, k.begin_at, k.end_at, k.state,
    k.ok, k.exit_code, k.afterlife > 0, k.task,
    (SELECT count(*) FROM candidate a WHERE a.call = k.id),
    coalesce((SELECT a.kind FROM agent a WHERE a.dialog = k.dialog AND a.id = k.agent),
             (SELECT d.kind FROM dialog d WHERE d.id = k.dialog))
    FROM call k";

impl Store {
    /// Calls of a dialog, oldest first.
    pub fn call_records(
        &self,
        dialog: &DialogId,
        page: &CallPage,
    ) -> Result<Vec<CallRecord>, StoreError> {
        let (sql, values) = page.to_sql(dialog);
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map(params_from_iter(values), call_record_from)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The newest call of a dialog with this id.
    pub fn call_record(
        &self,
        dialog: &DialogId,
        call: &CallId,
    ) -> Result<Option<CallRecord>, StoreError> {
        let sql =
            format!("{SELECT_CALL} WHERE k.dialog = ?1 AND k.call = ?2 ORDER BY k.id DESC LIMIT 1");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([&dialog.0, &call.0], call_record_from).optional()?)
    }
}

impl CallPage {
    fn to_sql(&self, dialog: &DialogId) -> (String, Vec<SqlValue>) {
        let mut values: Vec<SqlValue> = vec![dialog.0.clone().into()];
        let mut sql = format!("{SELECT_CALL} WHERE k.dialog = ?1");
        let mut and = |column: &str, value: SqlValue| {
            values.push(value);
            let _ = write!(sql, " AND k.{column} ?{}", values.len());
        };
        if let Some(turn) = self.turn {
            and("turn =", (turn as i64).into());
        }
        if let Some(agent) = &self.agent {
            and("agent =", agent.0.clone().into());
        }
        if let Some(after) = self.after {
            and("id >", after.into());
        }
        (format!("{sql} ORDER BY k.id LIMIT {}", self.limit), values)
    }
}

fn call_record_from(row: &Row<'_>) -> rusqlite::Result<CallRecord> {
    Ok(CallRecord {
        row: row.get(0)?,
        dialog: DialogId(row.get(1)?),
        agent: AgentId(row.get(2)?),
        call: CallId(row.get(3)?),
        tool: row.get(4)?,
        cwd: row.get(5)?,
        command: row.get(6)?,
        arguments: ShortArguments::unpack(row.get::<_, Option<Vec<u8>>>(7)?.as_deref()),
        model: row.get(8)?,
        message_index: row.get::<_, Option<i64>>(9)?.map(|index| index as u64),
        turn: row.get::<_, i64>(10)? as u64,
        begin_seq: row.get::<_, i64>(11)? as u64,
        begin_at: row.get(12)?,
        end_at: row.get(13)?,
        state: CallState::from_code(row.get(14)?),
        ok: row.get(15)?,
        exit_code: row.get(16)?,
        in_background: row.get(17)?,
        task: row.get(18)?,
        changes: row.get::<_, i64>(19)? as u64,
        kind: row.get(20)?,
    })
}
