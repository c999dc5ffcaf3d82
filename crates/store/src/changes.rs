//! The changes themselves, and how they are found again.

use std::fmt::Write as _;
use std::str::FromStr;

use retake_model::{
    Actor, AgentId, CallId, Candidate, Change, ChangeId, ChangeStatus, ChangeType, DialogId,
    FileState, Hunk, LineChanges, Means, Millis, OperationId, ProjectPath, Side,
};
use rusqlite::types::Value as SqlValue;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};

use crate::manifest::{ABSENT, UNKNOWN, kind_code, kind_from, oid_from, path_from};
use crate::{Batch, Problem, Store, StoreError};

/// A change about to be recorded; `calls` are the rows of its candidates.
#[derive(Clone, Debug)]
pub struct NewChange<'a> {
    /// The change; its `call`, `tool` and `candidates` are ignored.
    pub change: &'a Change,
    /// The rows of all calls that can have made it.
    pub calls: &'a [i64],
}

/// Which changes a query is about. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// Of this dialog.
    pub dialog: Option<DialogId>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// By this actor.
    pub actor: Option<Actor>,
    /// Of this file, or of everything below this folder.
    pub path: Option<ProjectPath>,
    /// Recorded at this time or later.
    pub since: Option<Millis>,
    /// Recorded at this time or earlier.
    pub until: Option<Millis>,
    /// With this status.
    pub status: Option<ChangeStatus>,
    /// Of this turn of its dialog.
    pub turn: Option<u64>,
    /// By this call alone, or by it among others.
    pub call: Option<CallId>,
    /// Made by this operation.
    pub made_by: Option<OperationId>,
    /// After this place in the order.
    pub after: Option<u64>,
    /// Before this change, for paging.
    pub before: Option<ChangeId>,
    /// At most this many.
    pub limit: Option<usize>,
    /// Oldest first instead of newest first.
    pub oldest_first: bool,
}

/// One path that an agent changed and nobody has decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusRow {
    /// The dialog; none if the change is shared between dialogs.
    pub dialog: Option<DialogId>,
    /// The agent; none if the change is shared between agents.
    pub agent: Option<AgentId>,
    /// The path.
    pub path: ProjectPath,
    /// The path before, if the first of the changes moved it here.
    pub old_path: Option<ProjectPath>,
    /// Whether it existed before the first of the changes.
    pub existed: bool,
    /// Whether it exists after the last of them.
    pub exists: bool,
    /// How many pending changes it has.
    pub changes: u64,
    /// The first of them.
    pub first: ChangeId,
    /// The last of them.
    pub last: ChangeId,
    /// Lines added by them; none if no change of them has lines.
    pub added: Option<u64>,
    /// Lines removed by them; none if no change of them has lines.
    pub removed: Option<u64>,
}

const COLUMNS: &str = "c.seq, c.at, c.actor, c.confidence, c.dialog, c.agent, k.call, k.tool,
    c.path, c.old_path, c.change_type, c.operation,
    c.before_kind, c.before_mode, c.before_size, c.before_oid,
    c.after_kind, c.after_mode, c.after_size, c.after_oid,
    c.added, c.removed, c.hunks, c.status, c.joins, c.turn, c.approved, c.operation_seq,
    k.message_index, coalesce(
        (SELECT a.kind FROM agent a WHERE a.dialog = c.dialog AND a.id = c.agent),
        (SELECT d.kind FROM dialog d WHERE d.id = c.dialog))";

impl Store {
    /// One change.
    pub fn change(&self, id: ChangeId) -> Result<Option<Change>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM change c LEFT JOIN call k ON k.id = c.call WHERE c.seq = ?1"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let row = query.query_row([id.0 as i64], |row| Ok(change_from(row))).optional()?;
        row.transpose()?.map(|change| self.with_candidates(change)).transpose()
    }

    /// The changes that a filter lets through, newest first unless it says otherwise.
    pub fn changes(&self, filter: &ChangeFilter) -> Result<Vec<Change>, StoreError> {
        let (condition, values) = condition(filter);
        let order = if filter.oldest_first { "ASC" } else { "DESC" };
        let limit = filter.limit.map_or(-1, |limit| limit as i64);
        let sql = format!(
            "SELECT {COLUMNS} FROM change c LEFT JOIN call k ON k.id = c.call
             WHERE {condition} ORDER BY c.seq {order} LIMIT {limit}"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        let mut changes = Vec::new();
        while let Some(row) = rows.next()? {
            match change_from(row) {
                Ok(change) => changes.push(self.with_candidates(change)?),
                // `doctor` names it; the others are worth showing.
                Err(error) => tracing::warn!(%error, "a change is left out"),
            }
        }
        Ok(changes)
    }

    /// The newest change of exactly this path.
    pub fn last_change_of(&self, path: &ProjectPath) -> Result<Option<Change>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT max(seq) FROM change WHERE path = ?1")?;
        let seq: Option<i64> = query.query_row([path.as_bytes()], |row| row.get(0))?;
        seq.map_or(Ok(None), |seq| self.change(ChangeId(seq as u64)))
    }

    /// Whether the path is on record with this content before some change.
    pub fn path_had(&self, path: &ProjectPath, state: &FileState) -> Result<bool, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT 1 FROM change WHERE path = ?1 AND before_oid = ?2 LIMIT 1")?;
        Ok(query.exists((path.as_bytes(), state.oid.as_bytes().as_slice()))?)
    }

    /// What agents changed and nobody has decided on, by dialog, agent and path.
    pub fn pending(&self) -> Result<Vec<StatusRow>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT g.dialog, g.agent, g.path, f.old_path, f.before_kind, l.after_kind,
                    g.changes, g.first, g.last, g.added, g.removed
             FROM (SELECT dialog, agent, path, count(*) AS changes, min(seq) AS first,
                          max(seq) AS last, sum(added) AS added, sum(removed) AS removed
                   FROM change WHERE status = 'pending' AND actor = 'agent'
                   GROUP BY dialog, agent, path) g
             JOIN change f ON f.seq = g.first JOIN change l ON l.seq = g.last
             ORDER BY g.dialog, g.agent, g.path",
        )?;
        let mut rows = query.query([])?;
        let mut status = Vec::new();
        while let Some(row) = rows.next()? {
            let count = |at| Ok::<_, StoreError>(row.get::<_, Option<i64>>(at)?.map(|n| n as u64));
            status.push(StatusRow {
                dialog: row.get::<_, Option<String>>(0)?.map(DialogId),
                agent: row.get::<_, Option<String>>(1)?.map(AgentId),
                path: path_from(row.get(2)?)?,
                old_path: row.get::<_, Option<Vec<u8>>>(3)?.map(path_from).transpose()?,
                existed: row.get::<_, i64>(4)? != ABSENT,
                exists: row.get::<_, i64>(5)? != ABSENT,
                changes: row.get::<_, i64>(6)? as u64,
                first: ChangeId(row.get::<_, i64>(7)? as u64),
                last: ChangeId(row.get::<_, i64>(8)? as u64),
                added: count(9)?,
                removed: count(10)?,
            });
        }
        Ok(status)
    }

    /// The approved changes of a dialog that were taken back since, oldest first.
    pub fn approved_and_taken_back(&self, dialog: &DialogId) -> Result<Vec<Change>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq FROM change WHERE dialog = ?1 AND approved IS NOT NULL
                 AND status IN ('reverted', 'rejected') ORDER BY seq",
        )?;
        let seqs = query.query_map([&dialog.0], |row| row.get::<_, i64>(0))?;
        let change = |seq| self.change(ChangeId(seq as u64)).transpose();
        seqs.filter_map(|seq| seq.map_or_else(|error| Some(Err(error.into())), change)).collect()
    }

    /// The turns of which something is in effect, the one with the newest change first.
    pub fn turns_in_effect(&self, limit: usize) -> Result<Vec<(DialogId, u64)>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT dialog, turn FROM change
             WHERE actor = 'agent' AND status IN ('pending', 'accepted')
                 AND dialog IS NOT NULL AND turn IS NOT NULL
             GROUP BY dialog, turn ORDER BY max(seq) DESC LIMIT ?1",
        )?;
        let rows = query.query_map([limit as i64], |row| {
            Ok((DialogId(row.get(0)?), row.get::<_, i64>(1)? as u64))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How many changes there are.
    pub fn change_count(&self) -> Result<u64, StoreError> {
        let count: i64 = self.db.query_row("SELECT count(*) FROM change", [], |row| row.get(0))?;
        Ok(count as u64)
    }

    /// Every change must be readable.
    pub(crate) fn check_changes(&self, problems: &mut Vec<Problem>) -> Result<(), StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM change c LEFT JOIN call k ON k.id = c.call");
        let mut query = self.db.prepare(&sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            if let Err(error) = change_from(row) {
                let seq: i64 = row.get(0)?;
                problems.push(Problem::Row(format!("change c{seq}: {error}")));
            }
        }
        Ok(())
    }

    fn with_candidates(&self, mut change: Change) -> Result<Change, StoreError> {
        if change.actor != Actor::Agent {
            return Ok(change);
        }
        let mut query = self.db.prepare_cached(
            "SELECT k.dialog, k.agent, k.call, k.tool FROM candidate a JOIN call k ON k.id = a.call
             WHERE a.change = ?1 ORDER BY k.id",
        )?;
        let rows = query.query_map([change.id.0 as i64], |row| {
            Ok(Candidate {
                dialog: DialogId(row.get(0)?),
                agent: AgentId(row.get(1)?),
                call: CallId(row.get(2)?),
                tool: row.get(3)?,
            })
        })?;
        change.candidates = rows.collect::<Result<_, _>>()?;
        Ok(change)
    }
}

/// The WHERE part of a query, with its values.
struct Condition {
    sql: String,
    values: Vec<SqlValue>,
}

impl Condition {
    /// Adds `text`, in which each `?` stands for `value`.
    fn and(&mut self, text: &str, value: impl Into<SqlValue>) {
        self.values.push(value.into());
        let parameter = format!("?{}", self.values.len());
        let _ = write!(self.sql, " AND {}", text.replace('?', &parameter));
    }

    /// Adds that a column has one of the model's own names. It stands in the text, where SQLite sees
    /// that an index of just such rows will do.
    fn and_is(&mut self, column: &str, name: &'static str) {
        let _ = write!(self.sql, " AND {column} = '{name}'");
    }

    /// Adds "at this path or beneath it": that sorts between `path/` and `path0`.
    fn and_beneath(&mut self, path: &ProjectPath) {
        let bytes = path.as_bytes();
        let bounds = [bytes.to_vec(), [bytes, b"/"].concat(), [bytes, b"0"].concat()];
        self.values.extend(bounds.map(SqlValue::from));
        let last = self.values.len();
        let (at, from, to) = (last - 2, last - 1, last);
        let _ = write!(
            self.sql,
            " AND c.seq IN (
                SELECT seq FROM change WHERE path = ?{at}
                UNION ALL SELECT seq FROM change WHERE old_path = ?{at}
                UNION ALL SELECT seq FROM change WHERE path > ?{from} AND path < ?{to}
                UNION ALL SELECT seq FROM change WHERE old_path > ?{from} AND old_path < ?{to})"
        );
    }
}

fn condition(filter: &ChangeFilter) -> (String, Vec<SqlValue>) {
    let mut all = Condition { sql: "1".to_owned(), values: Vec::new() };
    if let Some(dialog) = &filter.dialog {
        // A change that dialogs share belongs to each of them.
        all.and(
            "(c.dialog = ? OR (c.dialog IS NULL AND EXISTS (SELECT 1 FROM candidate a
              JOIN call j ON j.id = a.call WHERE a.change = c.seq AND j.dialog = ?)))",
            dialog.0.clone(),
        );
    }
    if let Some(agent) = &filter.agent {
        all.and(
            "(c.agent = ? OR (c.agent IS NULL AND EXISTS (SELECT 1 FROM candidate a
              JOIN call j ON j.id = a.call WHERE a.change = c.seq AND j.agent = ?)))",
            agent.0.clone(),
        );
    }
    if let Some(path) = &filter.path {
        all.and_beneath(path);
    }
    if let Some(actor) = filter.actor {
        all.and_is("c.actor", actor.as_str());
    }
    if let Some(since) = filter.since {
        all.and("c.at >= ?", since);
    }
    if let Some(until) = filter.until {
        all.and("c.at <= ?", until);
    }
    if let Some(status) = filter.status {
        all.and_is("c.status", status.as_str());
    }
    if let Some(turn) = filter.turn {
        all.and(
            "(c.turn = ? OR (c.turn IS NULL AND EXISTS (SELECT 1 FROM candidate a
              JOIN call j ON j.id = a.call WHERE a.change = c.seq AND j.turn = ?)))",
            turn as i64,
        );
    }
    if let Some(call) = &filter.call {
        all.and(
            "EXISTS (SELECT 1 FROM candidate a JOIN call j ON j.id = a.call
              WHERE a.change = c.seq AND j.call = ?)",
            call.0.clone(),
        );
    }
    if let Some(operation) = filter.made_by {
        all.and("c.operation_seq = ?", operation.0 as i64);
    }
    if let Some(after) = filter.after {
        all.and("c.seq > ?", after as i64);
    }
    if let Some(before) = filter.before {
        all.and("c.seq < ?", before.0 as i64);
    }
    (all.sql, all.values)
}

fn change_from(row: &Row<'_>) -> Result<Change, StoreError> {
    let lines = match (row.get::<_, Option<u32>>(20)?, row.get::<_, Option<u32>>(21)?) {
        (Some(added), Some(removed)) => {
            Some(LineChanges { added, removed, hunks: hunks_from(row.get(22)?)? })
        }
        _ => None,
    };
    Ok(Change {
        id: ChangeId(row.get::<_, i64>(0)? as u64),
        at: row.get(1)?,
        actor: text(row, 2)?,
        confidence: text(row, 3)?,
        dialog: row.get::<_, Option<String>>(4)?.map(DialogId),
        agent: row.get::<_, Option<String>>(5)?.map(AgentId),
        call: row.get::<_, Option<String>>(6)?.map(CallId),
        tool: row.get(7)?,
        candidates: Vec::new(),
        path: path_from(row.get(8)?)?,
        old_path: row.get::<_, Option<Vec<u8>>>(9)?.map(path_from).transpose()?,
        change_type: text::<ChangeType>(row, 10)?,
        operation: text::<Means>(row, 11)?,
        before: side(row, 12)?,
        after: side(row, 16)?,
        lines,
        status: text::<ChangeStatus>(row, 23)?,
        joins: row.get::<_, Option<i64>>(24)?.map(|seq| ChangeId(seq as u64)),
        turn: row.get::<_, Option<i64>>(25)?.map(|turn| turn as u64),
        approved: row.get::<_, Option<i64>>(26)?.map(|number| number as u64),
        made_by: row.get::<_, Option<i64>>(27)?.map(|seq| OperationId(seq as u64)),
        message_index: row.get::<_, Option<i64>>(28)?.map(|index| index as u64),
        kind: row.get(29)?,
    })
}

pub(crate) fn text<T: FromStr<Err = String>>(row: &Row<'_>, at: usize) -> Result<T, StoreError> {
    row.get::<_, String>(at)?.parse().map_err(StoreError::Row)
}

pub(crate) fn side(row: &Row<'_>, at: usize) -> Result<Side, StoreError> {
    match row.get::<_, i64>(at)? {
        ABSENT => Ok(Side::Absent),
        UNKNOWN => Ok(Side::Unknown),
        kind => Ok(Side::Known(FileState {
            kind: kind_from(kind)?,
            mode: row.get(at + 1)?,
            size: row.get::<_, i64>(at + 2)? as u64,
            oid: oid_from(&row.get::<_, Vec<u8>>(at + 3)?)?,
        })),
    }
}

/// Four big-endian numbers a hunk.
fn hunks_from(bytes: Option<Vec<u8>>) -> Result<Vec<Hunk>, StoreError> {
    let bytes = bytes.unwrap_or_default();
    if !bytes.len().is_multiple_of(16) {
        return Err(StoreError::Row("hunks are cut off".into()));
    }
    let number = |row: &[u8], at: usize| {
        u32::from_be_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]])
    };
    let hunk = |row: &[u8]| Hunk {
        old_start: number(row, 0),
        old_lines: number(row, 4),
        new_start: number(row, 8),
        new_lines: number(row, 12),
    };
    Ok(bytes.chunks_exact(16).map(hunk).collect())
}

fn hunk_bytes(hunks: &[Hunk]) -> Vec<u8> {
    let numbers = |hunk: &Hunk| [hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines];
    hunks.iter().flat_map(numbers).flat_map(u32::to_be_bytes).collect()
}

impl Batch<'_> {
    /// Records a change. Its content must be in the store already.
    pub fn put_change(&self, new: &NewChange<'_>) -> Result<(), StoreError> {
        let change = new.change;
        let call = match new.calls {
            [call] => Some(*call),
            _ => None,
        };
        let lines = change.lines.as_ref();
        let [before, after] = [&change.before, &change.after].map(side_columns);
        let values: Vec<SqlValue> = [
            vec![
                (change.id.0 as i64).into(),
                change.at.into(),
                change.actor.as_str().to_owned().into(),
                change.confidence.as_str().to_owned().into(),
                change.dialog.as_ref().map(|id| id.0.clone()).into(),
                change.agent.as_ref().map(|id| id.0.clone()).into(),
                call.into(),
                change.turn.map(|turn| turn as i64).into(),
                change.path.as_bytes().to_vec().into(),
                change.old_path.as_ref().map(|path| path.as_bytes().to_vec()).into(),
                change.change_type.as_str().to_owned().into(),
                change.operation.as_str().to_owned().into(),
            ],
            before.into(),
            after.into(),
            vec![
                lines.map(|lines| i64::from(lines.added)).into(),
                lines.map(|lines| i64::from(lines.removed)).into(),
                lines.map(|lines| hunk_bytes(&lines.hunks)).into(),
                change.status.as_str().to_owned().into(),
                change.joins.map(|id| id.0 as i64).into(),
                change.made_by.map(|id| id.0 as i64).into(),
            ],
        ]
        .concat();
        self.execute(
            "put change",
            "INSERT INTO change(seq, at, actor, confidence, dialog, agent, call, turn, path,
                old_path, change_type, operation, before_kind, before_mode, before_size,
                before_oid, after_kind, after_mode, after_size, after_oid, added, removed, hunks,
                status, joins, operation_seq)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)",
            params_from_iter(values),
        )?;
        for call in new.calls {
            self.execute(
                "put candidate",
                "INSERT OR IGNORE INTO candidate(change, call) VALUES(?1, ?2)",
                (change.id.0 as i64, call),
            )?;
        }
        Ok(())
    }
}

pub(crate) fn side_columns(side: &Side) -> [SqlValue; 4] {
    match side {
        Side::Absent => [ABSENT.into(), SqlValue::Null, SqlValue::Null, SqlValue::Null],
        Side::Unknown => [UNKNOWN.into(), SqlValue::Null, SqlValue::Null, SqlValue::Null],
        Side::Known(state) => [
            kind_code(state.kind).into(),
            i64::from(state.mode).into(),
            (state.size as i64).into(),
            state.oid.as_bytes().to_vec().into(),
        ],
    }
}
