//! What agents got to see of files, and what they were told about it since.
//!
//! A sight is never changed: the newest one of a path, together with the changes after it, says
//! what an agent knows.

use retake_model::{
    AgentId, ChangeId, ContextSource, DialogId, Lines, Millis, ObjectId, ProjectPath, Side,
};
use rusqlite::types::Value as SqlValue;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::changes::{side, side_columns, text};
use crate::manifest::{oid_from, path_from};
use crate::{Batch, Store, StoreError};

/// One look of an agent at a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Its place in the project's order: it shows what the changes up to there have made.
    pub seq: u64,
    /// When it was.
    pub at: Millis,
    /// The conversation.
    pub dialog: DialogId,
    /// Who looked.
    pub agent: AgentId,
    /// The file.
    pub path: ProjectPath,
    /// How it came into the agent's context.
    pub source: ContextSource,
    /// What was there to see.
    pub side: Side,
    /// The lines that were seen; all of them if absent.
    pub lines: Option<Vec<Lines>>,
    /// The dates that another program's record had, if it comes from there.
    pub dates: Option<Dates>,
}

/// When a file in an agent's context was last relevant (DM-12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dates {
    /// When the agent last read it.
    pub read: Option<Millis>,
    /// When the agent last changed it.
    pub edit: Option<Millis>,
    /// When somebody else changed it, after the agent's last look.
    pub user: Option<Millis>,
}

/// What an agent was told about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// When, in the project's order.
    pub seq: u64,
    /// The newest of the changes that it was told of.
    pub change: ChangeId,
    /// The content that the file had then; none if it was not there.
    pub oid: Option<ObjectId>,
}

const COLUMNS: &str = "seq, at, dialog, agent, path, source, kind, mode, size, oid, lines, dates";

impl Store {
    /// What an agent saw of one file, oldest first.
    pub fn sights_of(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        path: &ProjectPath,
    ) -> Result<Vec<Sighting>, StoreError> {
        self.sights(dialog, agent, path, 0)
    }

    /// What an agent saw of one file since it last saw all of it, that included.
    pub fn sights_since_whole(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        path: &ProjectPath,
        until: u64,
    ) -> Result<Vec<Sighting>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq FROM sight WHERE dialog = ?1 AND agent = ?2 AND path = ?3 AND seq < ?4
                 AND lines IS NULL AND dates IS NULL AND source <> 'roo_edited' ORDER BY seq DESC LIMIT 1",
        )?;
        let until = i64::try_from(until).unwrap_or(i64::MAX);
        let values = (&dialog.0, &agent.0, path.as_bytes(), until);
        let whole: Option<i64> = query.query_row(values, |row| row.get(0)).optional()?;
        let mut sights = self.sights(dialog, agent, path, whole.unwrap_or(0))?;
        sights.retain(|sight| (sight.seq as i64) < until);
        Ok(sights)
    }

    fn sights(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        path: &ProjectPath,
        from: i64,
    ) -> Result<Vec<Sighting>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sight
             WHERE dialog = ?1 AND agent = ?2 AND path = ?3 AND seq >= ?4 ORDER BY seq, id"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query((&dialog.0, &agent.0, path.as_bytes(), from))?;
        let mut sights = Vec::new();
        while let Some(row) = rows.next()? {
            sights.push(sighting(row)?);
        }
        Ok(sights)
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
    pub fn who_knows(
        &self,
        path: &ProjectPath,
        since: Millis,
    ) -> Result<Vec<(DialogId, AgentId)>, StoreError> {
        let mut query = self.db.prepare_cached(
            "WITH late AS MATERIALIZED
                 (SELECT dialog, agent FROM change WHERE path = ?1 ORDER BY seq DESC LIMIT 50)
             SELECT a.dialog, a.id FROM agent a JOIN dialog d ON d.id = a.dialog
             WHERE d.ended_at IS NULL AND d.last_at >= ?2 AND (
                 EXISTS (SELECT 1 FROM sight s
                         WHERE s.path = ?1 AND s.dialog = a.dialog AND s.agent = a.id)
                 OR EXISTS (SELECT 1 FROM late WHERE late.dialog = a.dialog AND late.agent = a.id))",
        )?;
        let rows = query.query_map((path.as_bytes(), since), |row| {
            Ok((DialogId(row.get(0)?), AgentId(row.get(1)?)))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The places of the changes after a place that made, moved or removed exactly this path,
    /// oldest first.
    pub fn steps_of(&self, path: &ProjectPath, after: u64) -> Result<Vec<u64>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq FROM change WHERE path = ?1 AND seq > ?2
             UNION SELECT seq FROM change WHERE old_path = ?1 AND seq > ?2 ORDER BY seq",
        )?;
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let seqs = query.query_map((path.as_bytes(), after), |row| row.get::<_, i64>(0))?;
        seqs.map(|seq| Ok(seq? as u64)).collect()
    }

    /// What an agent was last told about a file.
    pub fn last_told(
        &self,
        (dialog, agent): (&DialogId, &AgentId),
        path: &ProjectPath,
        reaction: &str,
    ) -> Result<Option<Told>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, change, oid FROM told
             WHERE dialog = ?1 AND agent = ?2 AND path = ?3 AND reaction = ?4",
        )?;
        let values = (&dialog.0, &agent.0, path.as_bytes(), reaction);
        let told = query.query_row(values, |row| {
            let oid = row.get::<_, Vec<u8>>(2)?;
            Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64, oid))
        });
        let Some((seq, change, oid)) = told.optional()? else { return Ok(None) };
        let oid = if oid.is_empty() { None } else { Some(oid_from(&oid)?) };
        Ok(Some(Told { seq, change: ChangeId(change), oid }))
    }
}

impl Batch<'_> {
    /// Records what an agent saw.
    pub fn put_sight(&self, sight: &Sighting) -> Result<(), StoreError> {
        let json = |error: serde_json::Error| StoreError::Row(error.to_string());
        let lines = sight.lines.as_ref().map(serde_json::to_string).transpose().map_err(json)?;
        let dates = sight.dates.as_ref().map(serde_json::to_string).transpose().map_err(json)?;
        let values: Vec<SqlValue> = [
            vec![
                (sight.seq as i64).into(),
                sight.at.into(),
                sight.dialog.0.clone().into(),
                sight.agent.0.clone().into(),
                sight.path.as_bytes().to_vec().into(),
                sight.source.as_str().to_owned().into(),
            ],
            side_columns(&sight.side).into(),
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

    /// Notes what an agent is told about a file.
    pub fn put_told(
        &self,
        (dialog, agent): (&DialogId, &AgentId),
        path: &ProjectPath,
        reaction: &str,
        told: &Told,
    ) -> Result<(), StoreError> {
        let oid = told.oid.map_or_else(Vec::new, |oid| oid.as_bytes().to_vec());
        self.execute(
            "put told",
            "INSERT OR REPLACE INTO told(dialog, agent, path, reaction, seq, change, oid)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                &dialog.0,
                &agent.0,
                path.as_bytes(),
                reaction,
                told.seq as i64,
                told.change.0 as i64,
                oid,
            ),
        )?;
        Ok(())
    }
}

fn sighting(row: &Row<'_>) -> Result<Sighting, StoreError> {
    let json = |error: serde_json::Error| StoreError::Row(format!("what was seen: {error}"));
    let lines: Option<String> = row.get(10)?;
    let dates: Option<String> = row.get(11)?;
    Ok(Sighting {
        seq: row.get::<_, i64>(0)? as u64,
        at: row.get(1)?,
        dialog: DialogId(row.get(2)?),
        agent: AgentId(row.get(3)?),
        path: path_from(row.get(4)?)?,
        source: text(row, 5)?,
        side: side(row, 6)?,
        lines: lines.map(|text| serde_json::from_str(&text)).transpose().map_err(json)?,
        dates: dates.map(|text| serde_json::from_str(&text)).transpose().map_err(json)?,
    })
}
