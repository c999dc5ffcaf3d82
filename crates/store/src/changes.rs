//! Rows of changes, and queries for them.

use std::collections::HashSet;
use std::str::FromStr;

use retake_model::{
    Actor, AgentId, CallId, CandidateCall, Change, ChangeId, ChangeMethod, ChangeStatus,
    ChangeType, DialogId, FileState, Hunk, LineChanges, OperationId, PathState, ProjectPath,
};
use rusqlite::types::Value as SqlValue;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};

use crate::callers::caller_from;
use crate::manifest::{KIND_ABSENT, KIND_UNKNOWN, kind_code, kind_from, oid_from, path_from};
use crate::{Batch, ChangeFilter, Store, StoreError, StoreProblem};

/// A change about to be recorded; `calls` are the rows of its candidates.
#[derive(Clone, Debug)]
pub struct NewChange<'a> {
    /// The change; its `call`, `tool` and `candidates` are ignored.
    pub change: &'a Change,
    /// The rows of all calls that can have made it.
    pub calls: &'a [i64],
}

/// One path with pending changes of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingPath {
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
    /// The first line that the last of them changed, as lines are numbered after it.
    pub line: Option<u32>,
}

/// One change of a path, reduced to its actor, dialog and move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChangeRow {
    /// The change.
    pub change: ChangeId,
    /// Who made it.
    pub actor: Actor,
    /// Its dialog, if it is one.
    pub dialog: Option<DialogId>,
    /// Where the file went to, if it was moved away from the path.
    pub moved_to: Option<ProjectPath>,
    /// Whether the file came to be with it.
    pub is_new: bool,
}

/// Maximum changes of a path, newest first, that [`Store::path_had_content`] searches.
const MAX_CHANGES_SEARCHED: i64 = 1000;
/// Key in `meta` of the number of changes; `count(*)` would read all rows.
const CHANGE_COUNT_KEY: &str = "changes";

/// Query of all columns that [`change_from`] reads.
pub(crate) const SELECT_CHANGE: &str =
    "SELECT c.seq, c.at, c.actor, c.confidence, c.dialog, c.agent, k.call, k.tool,
    c.path, c.old_path, c.change_type, c.operation,
    c.before_kind, c.before_mode, c.before_size, c.before_oid,
    c.after_kind, c.after_mode, c.after_size, c.after_oid,
    c.added, c.removed, c.hunks, c.status, c.joins, c.turn, c.approved, c.operation_seq,
    k.message_index, coalesce(
        (SELECT a.kind FROM agent a WHERE a.dialog = c.dialog AND a.id = c.agent),
        (SELECT d.kind FROM dialog d WHERE d.id = c.dialog)),
    (SELECT text FROM caller WHERE id = (SELECT e.caller FROM event e WHERE e.seq = c.seq)), k.model
    FROM change c LEFT JOIN call k ON k.id = c.call";

/// SQL condition: an undo that stands tried to revert the change `c` and left it, and its file
/// has not changed since, so another try would have the same result.
const LEFT_BY_UNDO_CONDITION: &str = "EXISTS (
    SELECT 1 FROM mark m JOIN operation o ON o.seq = m.operation
    WHERE m.change = c.seq AND m.part = -2 AND o.undone_by IS NULL
        AND NOT EXISTS (SELECT 1 FROM change l
            WHERE l.path = c.path AND l.seq > o.seq AND l.operation_seq IS NOT o.seq)
        AND NOT EXISTS (SELECT 1 FROM change l
            WHERE l.old_path = c.path AND l.seq > o.seq AND l.operation_seq IS NOT o.seq))";

impl Store {
    /// One change.
    pub fn change(&self, id: ChangeId) -> Result<Option<Change>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT_CHANGE} WHERE c.seq = ?1"))?;
        let row = query.query_row([id.0 as i64], |row| Ok(change_from(row))).optional()?;
        row.transpose()?.map(|change| self.with_candidates(change)).transpose()
    }

    /// The changes that a filter lets through, newest first unless it says otherwise.
    pub fn changes(&self, filter: &ChangeFilter) -> Result<Vec<Change>, StoreError> {
        let mut changes = Vec::new();
        self.for_each_change(filter, &mut |change| changes.push(change))?;
        Ok(changes)
    }

    /// Passes the same changes to `take` one by one: there may be more than memory should hold.
    pub fn for_each_change(
        &self,
        filter: &ChangeFilter,
        take: &mut dyn FnMut(Change),
    ) -> Result<(), StoreError> {
        let (sql, values) = filter.to_sql();
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            match change_from(row) {
                Ok(change) => take(self.with_candidates(change)?),
                // `doctor` names it; the others are worth showing.
                Err(error) => tracing::warn!(%error, "a change is left out"),
            }
        }
        Ok(())
    }

    /// Returns the effective changes of exactly this path after a change, oldest first.
    pub fn path_changes_after(
        &self,
        path: &ProjectPath,
        after: ChangeId,
    ) -> Result<Vec<PathChangeRow>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, actor, dialog, NULL, old_path IS NULL AND before_kind = ?3 FROM change
             WHERE path = ?1 AND seq > ?2 AND status IN ('pending', 'accepted')
             UNION ALL SELECT seq, actor, dialog, path, 0 FROM change
             WHERE old_path = ?1 AND path <> ?1 AND seq > ?2
                 AND status IN ('pending', 'accepted')
             ORDER BY seq",
        )?;
        let mut rows = query.query((path.as_bytes(), after.0 as i64, KIND_ABSENT))?;
        let mut traces = Vec::new();
        while let Some(row) = rows.next()? {
            match path_change_from(row) {
                Ok(trace) => traces.push(trace),
                Err(error) => tracing::warn!(%error, "a change is left out"),
            }
        }
        Ok(traces)
    }

    /// Returns whether git changed exactly this path after a change.
    pub fn git_changed(&self, path: &ProjectPath, after: ChangeId) -> Result<bool, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT 1 FROM change WHERE path = ?1 AND seq > ?2 AND actor = 'git'
                 AND status IN ('pending', 'accepted') LIMIT 1",
        )?;
        Ok(query.exists((path.as_bytes(), after.0 as i64))?)
    }

    /// The newest change of exactly this path.
    pub fn last_change_of(&self, path: &ProjectPath) -> Result<Option<Change>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT max(seq) FROM change WHERE path = ?1")?;
        let seq: Option<i64> = query.query_row([path.as_bytes()], |row| row.get(0))?;
        seq.map_or(Ok(None), |seq| self.change(ChangeId(seq as u64)))
    }

    /// The path from which a file was last moved to this one before a change, with that move.
    pub fn last_move_to(
        &self,
        path: &ProjectPath,
        before: ChangeId,
    ) -> Result<Option<(ProjectPath, ChangeId)>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT old_path, seq FROM change WHERE path = ?1 AND seq < ?2 AND old_path IS NOT NULL
             ORDER BY seq DESC LIMIT 1",
        )?;
        let found = query.query_row((path.as_bytes(), before.0 as i64), |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, ChangeId(row.get::<_, i64>(1)? as u64)))
        });
        found.optional()?.map(|(old, moved)| Ok((path_from(old)?, moved))).transpose()
    }

    /// Returns whether the path is on record with this content before one of its last changes.
    pub fn path_had_content(
        &self,
        path: &ProjectPath,
        state: &FileState,
    ) -> Result<bool, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT 1 FROM
                 (SELECT before_oid FROM change WHERE path = ?1 ORDER BY seq DESC LIMIT ?3)
             WHERE before_oid = ?2 LIMIT 1",
        )?;
        Ok(query.exists((
            path.as_bytes(),
            state.oid.as_bytes().as_slice(),
            MAX_CHANGES_SEARCHED,
        ))?)
    }

    /// Returns the paths with pending agent changes, by dialog, agent and path.
    pub fn pending_paths(&self) -> Result<Vec<PendingPath>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT g.dialog, g.agent, g.path, f.old_path, f.before_kind, l.after_kind,
                    g.changes, g.first, g.last, g.added, g.removed, l.hunks
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
            status.push(PendingPath {
                dialog: row.get::<_, Option<String>>(0)?.map(DialogId),
                agent: row.get::<_, Option<String>>(1)?.map(AgentId),
                path: path_from(row.get(2)?)?,
                old_path: row.get::<_, Option<Vec<u8>>>(3)?.map(path_from).transpose()?,
                existed: row.get::<_, i64>(4)? != KIND_ABSENT,
                exists: row.get::<_, i64>(5)? != KIND_ABSENT,
                changes: row.get::<_, i64>(6)? as u64,
                first: ChangeId(row.get::<_, i64>(7)? as u64),
                last: ChangeId(row.get::<_, i64>(8)? as u64),
                added: count(9)?,
                removed: count(10)?,
                line: first_line(hunks_from(row.get(11)?)?.first(), row.get(5)?),
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

    /// Returns the turns with effective changes, the one with the newest change first, each with
    /// the `seq` of that change. Changes that an undo left count only if `with_left`.
    pub fn turns_in_effect(
        &self,
        limit: usize,
        with_left: bool,
    ) -> Result<Vec<(DialogId, u64, u64)>, StoreError> {
        let mut query = self.db.prepare_cached(&format!(
            "SELECT dialog, turn, seq FROM change c INDEXED BY change_in_effect
             WHERE actor = 'agent' AND status IN ('pending', 'accepted')
                 AND dialog IS NOT NULL AND turn IS NOT NULL AND (?1 OR NOT {LEFT_BY_UNDO_CONDITION})
             ORDER BY seq DESC"
        ))?;
        let mut rows = query.query([with_left])?;
        let (mut seen, mut turns) = (HashSet::new(), Vec::new());
        while turns.len() < limit
            && let Some(row) = rows.next()?
        {
            let (dialog, turn) = (DialogId(row.get(0)?), row.get::<_, i64>(1)? as u64);
            if seen.insert((dialog.clone(), turn)) {
                turns.push((dialog, turn, row.get::<_, i64>(2)? as u64));
            }
        }
        Ok(turns)
    }

    /// Returns the number of files that a turn changed and whose changes are in effect.
    pub fn turn_file_count(&self, dialog: &DialogId, turn: u64) -> Result<u64, StoreError> {
        let sql = "SELECT count(DISTINCT path) FROM change WHERE dialog = ?1 AND turn = ?2
             AND actor = 'agent' AND status IN ('pending', 'accepted')";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row((&dialog.0, turn as i64), |row| row.get::<_, i64>(0))? as u64)
    }

    /// Returns whether an undo tried to revert a change and left it, and would again.
    pub fn was_left_by_undo(&self, change: ChangeId) -> Result<bool, StoreError> {
        let sql = format!("SELECT 1 FROM change c WHERE seq = ?1 AND {LEFT_BY_UNDO_CONDITION}");
        Ok(self.db.prepare_cached(&sql)?.exists([change.0 as i64])?)
    }

    /// Returns whether something that an operation wrote is in effect.
    pub fn has_effect(&self, made_by: OperationId) -> Result<bool, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT 1 FROM change WHERE operation_seq = ?1 AND status IN ('pending', 'accepted')
             LIMIT 1",
        )?;
        Ok(query.exists([made_by.0 as i64])?)
    }

    /// Returns the number of changes.
    pub fn change_count(&self) -> Result<u64, StoreError> {
        self.meta_number(CHANGE_COUNT_KEY)
    }

    /// Every change must be readable.
    pub(crate) fn check_changes(&self, problems: &mut Vec<StoreProblem>) -> Result<(), StoreError> {
        let mut query = self.db.prepare(SELECT_CHANGE)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            if let Err(error) = change_from(row) {
                let seq: i64 = row.get(0)?;
                problems.push(StoreProblem::Row(format!("change c{seq}: {error}")));
            }
        }
        Ok(())
    }

    fn with_candidates(&self, mut change: Change) -> Result<Change, StoreError> {
        if change.actor != Actor::Agent {
            return Ok(change);
        }
        let mut query = self.db.prepare_cached(
            "SELECT k.dialog, k.agent, k.call, k.tool, k.model, coalesce(
                 (SELECT g.kind FROM agent g WHERE g.dialog = k.dialog AND g.id = k.agent),
                 (SELECT d.kind FROM dialog d WHERE d.id = k.dialog))
             FROM candidate a JOIN call k ON k.id = a.call WHERE a.change = ?1 ORDER BY k.id",
        )?;
        let rows = query.query_map([change.id.0 as i64], |row| {
            Ok(CandidateCall {
                dialog: DialogId(row.get(0)?),
                agent: AgentId(row.get(1)?),
                call: CallId(row.get(2)?),
                tool: row.get(3)?,
                model: row.get(4)?,
                kind: row.get(5)?,
            })
        })?;
        change.candidates = rows.collect::<Result<_, _>>()?;
        Ok(change)
    }
}

/// The first changed line after a change that left a file of this kind.
fn first_line(hunk: Option<&Hunk>, after_kind: i64) -> Option<u32> {
    hunk.filter(|_| after_kind != KIND_ABSENT).map(|hunk| hunk.new_start.max(1))
}

fn path_change_from(row: &Row<'_>) -> Result<PathChangeRow, StoreError> {
    Ok(PathChangeRow {
        change: ChangeId(row.get::<_, i64>(0)? as u64),
        actor: parse_text_column(row, 1)?,
        dialog: row.get::<_, Option<String>>(2)?.map(DialogId),
        moved_to: row.get::<_, Option<Vec<u8>>>(3)?.map(path_from).transpose()?,
        is_new: row.get(4)?,
    })
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
        actor: parse_text_column(row, 2)?,
        confidence: parse_text_column(row, 3)?,
        dialog: row.get::<_, Option<String>>(4)?.map(DialogId),
        agent: row.get::<_, Option<String>>(5)?.map(AgentId),
        call: row.get::<_, Option<String>>(6)?.map(CallId),
        tool: row.get(7)?,
        candidates: Vec::new(),
        path: path_from(row.get(8)?)?,
        old_path: row.get::<_, Option<Vec<u8>>>(9)?.map(path_from).transpose()?,
        change_type: parse_text_column::<ChangeType>(row, 10)?,
        method: parse_text_column::<ChangeMethod>(row, 11)?,
        before: path_state_from(row, 12)?,
        after: path_state_from(row, 16)?,
        lines,
        status: parse_text_column::<ChangeStatus>(row, 23)?,
        joins: row.get::<_, Option<i64>>(24)?.map(|seq| ChangeId(seq as u64)),
        turn: row.get::<_, Option<i64>>(25)?.map(|turn| turn as u64),
        approved: row.get::<_, Option<i64>>(26)?.map(|number| number as u64),
        made_by: row.get::<_, Option<i64>>(27)?.map(|seq| OperationId(seq as u64)),
        message_index: row.get::<_, Option<i64>>(28)?.map(|index| index as u64),
        kind: row.get(29)?,
        said_by: caller_from(row.get(30)?),
        model: row.get(31)?,
    })
}

pub(crate) fn parse_text_column<T: FromStr<Err = String>>(
    row: &Row<'_>,
    at: usize,
) -> Result<T, StoreError> {
    row.get::<_, String>(at)?.parse().map_err(StoreError::Row)
}

pub(crate) fn path_state_from(row: &Row<'_>, at: usize) -> Result<PathState, StoreError> {
    match row.get::<_, i64>(at)? {
        KIND_ABSENT => Ok(PathState::Absent),
        KIND_UNKNOWN => Ok(PathState::Unknown),
        kind => Ok(PathState::Known(FileState {
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
        let [before, after] = [&change.before, &change.after].map(path_state_columns);
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
                change.method.as_str().to_owned().into(),
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
        self.change_count_delta.set(self.change_count_delta.get() + 1);
        Ok(())
    }

    /// Writes the number of changes if it has changed.
    pub(crate) fn write_change_count(&self) -> Result<(), StoreError> {
        let more = self.change_count_delta.take();
        if more == 0 {
            return Ok(());
        }
        let count = self.meta_number(CHANGE_COUNT_KEY)?.saturating_add_signed(more);
        self.set_meta(CHANGE_COUNT_KEY, &count.to_be_bytes())
    }
}

pub(crate) fn path_state_columns(side: &PathState) -> [SqlValue; 4] {
    match side {
        PathState::Absent => [KIND_ABSENT.into(), SqlValue::Null, SqlValue::Null, SqlValue::Null],
        PathState::Unknown => [KIND_UNKNOWN.into(), SqlValue::Null, SqlValue::Null, SqlValue::Null],
        PathState::Known(state) => [
            kind_code(state.kind).into(),
            i64::from(state.mode).into(),
            (state.size as i64).into(),
            state.oid.as_bytes().to_vec().into(),
        ],
    }
}
