//! Files that agents have read, and the notices that agents got about later changes of them.
//!
//! A row is never changed: the newest one of a path, together with the changes after it, gives
//! what an agent knows.

use std::collections::BTreeSet;

use retake_model::{
    AgentId, AgentRef, ChangeId, ContextSource, DialogId, LineSpan, Millis, ObjectId, PathState,
    ProjectPath,
};
use rusqlite::types::Value as SqlValue;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::changes::{parse_text_column, path_state_columns, path_state_from};
use crate::manifest::{oid_from, path_from};
use crate::{Batch, Store, StoreError};

/// One read of a file by an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    /// Its place in the project's order: it shows what the changes up to there have made.
    pub seq: u64,
    /// When it was.
    pub at: Millis,
    /// The conversation.
    pub dialog: DialogId,
    /// The agent that read it.
    pub agent: AgentId,
    /// The file.
    pub path: ProjectPath,
    /// How it came into the agent's context.
    pub source: ContextSource,
    /// What was there to see.
    pub side: PathState,
    /// The lines that were seen; all of them if absent.
    pub lines: Option<Vec<LineSpan>>,
    /// The dates that another program's record had, if it comes from there.
    pub dates: Option<ContextDates>,
}

/// When a file in an agent's context was last relevant (DM-12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextDates {
    /// When the agent last read it.
    pub read: Option<Millis>,
    /// When the agent last changed it.
    pub edit: Option<Millis>,
    /// When another actor changed it, after the agent's last read.
    pub user: Option<Millis>,
}

/// The records between two places of the project's order, both excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeqRange {
    /// After this place.
    pub after: u64,
    /// Before this place.
    pub before: u64,
}

/// A notice that an agent got about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoticeRow {
    /// When, in the project's order.
    pub seq: u64,
    /// The newest of the changes that it was told of.
    pub change: ChangeId,
    /// The content that the file had then; none if it was not there.
    pub oid: Option<ObjectId>,
}

/// A change of a path, at its place in the project's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// Its place, which is the change's id.
    pub seq: u64,
    /// Whether an agent made it.
    pub authorship: AgentAuthorship,
}

/// Whether an agent made a change, as far as its row alone tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentAuthorship {
    /// It did, alone.
    Own,
    /// It had no part in it.
    Others,
    /// Not decided by the row: several may have made it, it is a formatter's, or a move.
    Unclear,
}

/// Values of `Maker` in SQL.
const AUTHORSHIP_OWN: i64 = 0;
const AUTHORSHIP_OTHERS: i64 = 1;
const AUTHORSHIP_UNCLEAR: i64 = 2;

/// Columns that [`file_read_from`] reads.
const FILE_READ_COLUMNS: &str =
    "seq, at, dialog, agent, path, source, kind, mode, size, oid, lines, dates";

impl Store {
    /// Returns an agent's reads of one file, oldest first.
    pub fn file_reads_of(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        path: &ProjectPath,
    ) -> Result<Vec<FileRead>, StoreError> {
        self.file_reads_from(dialog, agent, path, 0)
    }

    /// Returns an agent's reads of one file from its last read of the whole file on.
    pub fn file_reads_since_whole(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        path: &ProjectPath,
        until: u64,
    ) -> Result<Vec<FileRead>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq FROM sight WHERE dialog = ?1 AND agent = ?2 AND path = ?3 AND seq < ?4
                 AND lines IS NULL AND dates IS NULL AND source <> 'roo_edited' ORDER BY seq DESC LIMIT 1",
        )?;
        let until = i64::try_from(until).unwrap_or(i64::MAX);
        let values = (&dialog.0, &agent.0, path.as_bytes(), until);
        let whole: Option<i64> = query.query_row(values, |row| row.get(0)).optional()?;
        let mut reads = self.file_reads_from(dialog, agent, path, whole.unwrap_or(0))?;
        reads.retain(|read| (read.seq as i64) < until);
        Ok(reads)
    }

    fn file_reads_from(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        path: &ProjectPath,
        from: i64,
    ) -> Result<Vec<FileRead>, StoreError> {
        let sql = format!(
            "SELECT {FILE_READ_COLUMNS} FROM sight
             WHERE dialog = ?1 AND agent = ?2 AND path = ?3 AND seq >= ?4 ORDER BY seq, id"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query((&dialog.0, &agent.0, path.as_bytes(), from))?;
        let mut reads = Vec::new();
        while let Some(row) = rows.next()? {
            reads.push(file_read_from(row)?);
        }
        Ok(reads)
    }

    /// The files that an agent has seen or changed, in order.
    pub fn known_paths(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<ProjectPath>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT path FROM sight WHERE dialog = ?1 AND agent = ?2
             UNION SELECT path FROM change WHERE dialog = ?1 AND agent = ?2 ORDER BY path",
        )?;
        let paths = query.query_map([&dialog.0, &agent.0], |row| row.get::<_, Vec<u8>>(0))?;
        paths.map(|path| path_from(path?)).collect()
    }

    /// The agents of dialogs that have not ended and were active since then, which have seen a
    /// file, or changed it lately.
    pub fn agents_knowing(
        &self,
        path: &ProjectPath,
        since: Millis,
    ) -> Result<Vec<(DialogId, AgentId)>, StoreError> {
        let mut late = self.db.prepare_cached(
            "SELECT dialog, agent FROM change WHERE path = ?1 ORDER BY seq DESC LIMIT 50",
        )?;
        let late = late.query_map([path.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut known: BTreeSet<(String, String)> = BTreeSet::new();
        for change in late {
            let (dialog, agent): (Option<String>, Option<String>) = change?;
            known.extend(dialog.zip(agent));
        }
        known.extend(self.agents_having_read(path)?);
        let mut is_active = self.db.prepare_cached(
            "SELECT 1 FROM dialog WHERE id = ?1 AND ended_at IS NULL AND last_at >= ?2",
        )?;
        let mut active = Vec::new();
        for (dialog, agent) in known {
            if is_active.exists((&dialog, since))? {
                active.push((DialogId(dialog), AgentId(agent)));
            }
        }
        Ok(active)
    }

    /// Returns all agents that ever read a file, by a skip scan over the index.
    fn agents_having_read(&self, path: &ProjectPath) -> Result<Vec<(String, String)>, StoreError> {
        let next = |range: &str| {
            self.db.prepare_cached(&format!(
                "SELECT dialog, agent FROM sight WHERE path = ?1 AND {range}
                 ORDER BY dialog, agent LIMIT 1"
            ))
        };
        let mut in_dialog = next("dialog = ?2 AND agent > ?3")?;
        let mut in_others = next("dialog > ?2")?;
        let mut readers: Vec<(String, String)> = Vec::new();
        loop {
            let (dialog, agent) =
                readers.last().map_or(("", ""), |(dialog, agent)| (dialog, agent));
            let who = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let mut found =
                in_dialog.query_row((path.as_bytes(), dialog, agent), who).optional()?;
            if found.is_none() {
                found = in_others.query_row((path.as_bytes(), dialog), who).optional()?;
            }
            match found {
                Some(who) => readers.push(who),
                None => return Ok(readers),
            }
        }
    }

    /// The places of the changes after a place that made, moved or removed exactly this path,
    /// oldest first.
    pub fn change_seqs_of(&self, path: &ProjectPath, after: u64) -> Result<Vec<u64>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq FROM change WHERE path = ?1 AND seq > ?2
             UNION SELECT seq FROM change WHERE old_path = ?1 AND seq > ?2 ORDER BY seq",
        )?;
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let seqs = query.query_map((path.as_bytes(), after), |row| row.get::<_, i64>(0))?;
        seqs.map(|seq| Ok(seq? as u64)).collect()
    }

    /// The newest of the changes between two places that made, moved or removed exactly this path,
    /// oldest first, and whether an agent made them.
    pub fn newest_path_steps(
        &self,
        path: &ProjectPath,
        between: SeqRange,
        who: AgentRef<'_>,
        most: usize,
    ) -> Result<Vec<PathStep>, StoreError> {
        let newest = |column: &str| {
            format!(
                "SELECT * FROM (SELECT seq, CASE
                     WHEN actor <> 'agent' THEN {AUTHORSHIP_OTHERS}
                     WHEN old_path NOT NULL OR joins NOT NULL OR dialog IS NULL OR agent IS NULL
                         THEN {AUTHORSHIP_UNCLEAR}
                     WHEN dialog = ?5 AND agent = ?6 THEN {AUTHORSHIP_OWN} ELSE {AUTHORSHIP_OTHERS} END
                 FROM change WHERE {column} = ?1 AND seq > ?2 AND seq < ?3
                 ORDER BY seq DESC LIMIT ?4)"
            )
        };
        let (here, away) = (newest("path"), newest("old_path"));
        let sql = format!("{here} UNION {away} ORDER BY seq DESC LIMIT ?4");
        let mut query = self.db.prepare_cached(&sql)?;
        let number = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
        let (after, before) = (number(between.after), number(between.before));
        let values = (path.as_bytes(), after, before, most as i64, &who.dialog.0, &who.agent.0);
        let step = |row: &Row<'_>| {
            let authorship = match row.get(1)? {
                AUTHORSHIP_OWN => AgentAuthorship::Own,
                AUTHORSHIP_OTHERS => AgentAuthorship::Others,
                _ => AgentAuthorship::Unclear,
            };
            Ok(PathStep { seq: row.get::<_, i64>(0)? as u64, authorship })
        };
        let mut steps = query.query_map(values, step)?.collect::<Result<Vec<_>, _>>()?;
        steps.reverse();
        Ok(steps)
    }

    /// Returns the last notice that an agent got about a file.
    pub fn last_notice(
        &self,
        who: AgentRef<'_>,
        path: &ProjectPath,
        reaction: &str,
    ) -> Result<Option<NoticeRow>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, change, oid FROM told
             WHERE dialog = ?1 AND agent = ?2 AND path = ?3 AND reaction = ?4",
        )?;
        let values = (&who.dialog.0, &who.agent.0, path.as_bytes(), reaction);
        let notice = query.query_row(values, |row| {
            let oid = row.get::<_, Vec<u8>>(2)?;
            Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64, oid))
        });
        let Some((seq, change, oid)) = notice.optional()? else { return Ok(None) };
        let oid = if oid.is_empty() { None } else { Some(oid_from(&oid)?) };
        Ok(Some(NoticeRow { seq, change: ChangeId(change), oid }))
    }
}

impl Batch<'_> {
    /// Records a read of a file.
    pub fn put_file_read(&self, read: &FileRead) -> Result<(), StoreError> {
        let json = |error: serde_json::Error| StoreError::Row(error.to_string());
        let lines = read.lines.as_ref().map(serde_json::to_string).transpose().map_err(json)?;
        let dates = read.dates.as_ref().map(serde_json::to_string).transpose().map_err(json)?;
        let values: Vec<SqlValue> = [
            vec![
                (read.seq as i64).into(),
                read.at.into(),
                read.dialog.0.clone().into(),
                read.agent.0.clone().into(),
                read.path.as_bytes().to_vec().into(),
                read.source.as_str().to_owned().into(),
            ],
            path_state_columns(&read.side).into(),
            vec![lines.into(), dates.into()],
        ]
        .concat();
        self.execute(
            "put sight",
            "INSERT INTO sight(seq, at, dialog, agent, path, source, kind, mode, size, oid, lines,
                 dates)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params_from_iter(values),
        )?;
        Ok(())
    }

    /// Records a notice to an agent about a file.
    pub fn put_notice(
        &self,
        who: AgentRef<'_>,
        path: &ProjectPath,
        reaction: &str,
        notice: &NoticeRow,
    ) -> Result<(), StoreError> {
        let oid = notice.oid.map_or_else(Vec::new, |oid| oid.as_bytes().to_vec());
        self.execute(
            "put told",
            "INSERT OR REPLACE INTO told(dialog, agent, path, reaction, seq, change, oid)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                &who.dialog.0,
                &who.agent.0,
                path.as_bytes(),
                reaction,
                notice.seq as i64,
                notice.change.0 as i64,
                oid,
            ),
        )?;
        Ok(())
    }
}

fn file_read_from(row: &Row<'_>) -> Result<FileRead, StoreError> {
    let json = |error: serde_json::Error| StoreError::Row(format!("what was seen: {error}"));
    let lines: Option<String> = row.get(10)?;
    let dates: Option<String> = row.get(11)?;
    Ok(FileRead {
        seq: row.get::<_, i64>(0)? as u64,
        at: row.get(1)?,
        dialog: DialogId(row.get(2)?),
        agent: AgentId(row.get(3)?),
        path: path_from(row.get(4)?)?,
        source: parse_text_column(row, 5)?,
        side: path_state_from(row, 6)?,
        lines: lines.map(|text| serde_json::from_str(&text)).transpose().map_err(json)?,
        dates: dates.map(|text| serde_json::from_str(&text)).transpose().map_err(json)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreAccess;

    #[test]
    fn who_knows_a_file_is_found_among_many_looks_and_only_while_active() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let batch = store.batch().unwrap();
        let path: ProjectPath = "a.txt".parse().unwrap();
        let look = |dialog: &str, agent: &str, at: Millis| {
            let (dialog, agent) = (DialogId::from(dialog), AgentId::from(agent));
            batch.touch_dialog(&dialog, None, None, at).unwrap();
            batch.touch_agent(&dialog, &agent, None, None).unwrap();
            let (seq, source) = (batch.next_seq(), ContextSource::ReadTool);
            let (path, side) = (path.clone(), PathState::Unknown);
            let read =
                FileRead { seq, at, dialog, agent, path, source, side, lines: None, dates: None };
            batch.put_file_read(&read).unwrap();
        };
        for _ in 0..3 {
            for (dialog, agent) in [("d1", "main"), ("d1", "sub"), ("d3", "main"), ("d4", "b")] {
                look(dialog, agent, 100);
            }
        }
        look("d2", "main", 10);
        batch.end_dialog(&"d3".into(), 100).unwrap();
        let who = store.agents_knowing(&path, 50).unwrap();
        let who: Vec<_> = who.iter().map(|(dialog, agent)| (&*dialog.0, &*agent.0)).collect();
        assert_eq!(who, [("d1", "main"), ("d1", "sub"), ("d4", "b")]);
        let other = "other.txt".parse().unwrap();
        assert_eq!(store.agents_knowing(&other, 0).unwrap(), []);
    }
}
