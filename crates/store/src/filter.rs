//! Filter of changes, translated to SQL.
//!
//! A change may fit in several ways: it is a dialog's own, or several dialogs share it; a path is
//! its new one or its old one. Each way is a search of its own, along an index and with the limit,
//! so that the last few changes of a long record cost what a few changes cost.

use std::fmt::Write as _;

use retake_model::{
    Actor, AgentId, CallId, ChangeId, ChangeStatus, DialogId, Millis, OperationId, ProjectPath,
};
use rusqlite::types::Value as SqlValue;

use crate::changes::SELECT_CHANGE;

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
    /// With this review status, which only what agents did has.
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

impl ChangeFilter {
    /// The query, with its values.
    pub(crate) fn to_sql(&self) -> (String, Vec<SqlValue>) {
        let mut values = SqlParams::default();
        let rest = self.common_conditions(&mut values);
        let (authors, paths) =
            (self.author_conditions(&mut values), self.path_conditions(&mut values));
        let order = if self.oldest_first { "ASC" } else { "DESC" };
        let limit = self.limit.map_or(-1, |limit| limit as i64);
        let end = format!("ORDER BY c.seq {order} LIMIT {limit}");
        let conditions = authors
            .iter()
            .flat_map(|author| paths.iter().map(move |path| [author.as_str(), path].concat()));
        let conditions: Vec<String> =
            conditions.map(|condition| format!("1{condition}{rest}")).collect();
        let sql = match conditions.as_slice() {
            [condition] => format!("{SELECT_CHANGE} WHERE {condition} {end}"),
            conditions => {
                let search = |condition: &String| {
                    format!("SELECT * FROM (SELECT c.seq FROM change c WHERE {condition} {end})")
                };
                let all = conditions.iter().map(search).collect::<Vec<_>>().join(" UNION ALL ");
                format!("{SELECT_CHANGE} WHERE c.seq IN ({all}) {end}")
            }
        };
        (sql, values.0)
    }

    /// Conditions on the maker. A change that several share has no agent, perhaps no dialog.
    fn author_conditions(&self, values: &mut SqlParams) -> Vec<String> {
        let (mut own, mut shared) = (String::new(), String::new());
        let candidate = |what: &str| {
            format!(
                "EXISTS (SELECT 1 FROM candidate a JOIN call j ON j.id = a.call
                  WHERE a.change = c.seq AND j.{what})"
            )
        };
        if let Some(dialog) = &self.dialog {
            let is_it = format!("dialog = {}", values.add(dialog.0.clone()));
            let _ = write!(own, " AND c.{is_it}");
            let may_be = candidate(&is_it);
            let _ = write!(shared, " AND (c.{is_it} OR (c.dialog IS NULL AND {may_be}))");
        }
        if let Some(agent) = &self.agent {
            let is_it = format!("agent = {}", values.add(agent.0.clone()));
            let _ = write!(own, " AND c.{is_it}");
            let _ = write!(shared, " AND {}", candidate(&is_it));
        }
        if let Some(turn) = self.turn {
            let is_it = format!("turn = {}", values.add(turn as i64));
            let _ = write!(own, " AND c.{is_it}");
            let may_be = candidate(&is_it);
            let _ = write!(shared, " AND (c.{is_it} OR (c.turn IS NULL AND {may_be}))");
        }
        if own.is_empty() {
            return vec![own];
        }
        vec![own, format!(" AND c.actor = 'agent' AND c.agent IS NULL{shared}")]
    }

    /// Conditions on the path: at it or beneath it, which sorts between `path/` and `path0`.
    fn path_conditions(&self, values: &mut SqlParams) -> Vec<String> {
        let Some(path) = &self.path else { return vec![String::new()] };
        let bytes = path.as_bytes();
        let at = values.add(bytes.to_vec());
        let from = values.add([bytes, b"/"].concat());
        let to = values.add([bytes, b"0"].concat());
        let place = |column: &str| {
            [
                format!(" AND c.{column} = {at}"),
                format!(" AND c.{column} > {from} AND c.{column} < {to}"),
            ]
        };
        [place("path"), place("old_path")].concat()
    }

    /// Conditions that hold for every search.
    fn common_conditions(&self, values: &mut SqlParams) -> String {
        let mut rest = String::new();
        let mut and = |text: &str| {
            let _ = write!(rest, " AND {text}");
        };
        // The model's own names stand in the text, where SQLite sees that an index of just such
        // rows will do.
        if let Some(actor) = self.actor {
            and(&format!("c.actor = '{}'", actor.as_str()));
        }
        if let Some(status) = self.status {
            // Changes of other actors have a status in the table too, but are never reviewed.
            and(&format!("c.actor = 'agent' AND c.status = '{}'", status.as_str()));
        }
        if let Some(since) = self.since {
            and(&format!("c.at >= {}", values.add(since)));
        }
        if let Some(until) = self.until {
            and(&format!("c.at <= {}", values.add(until)));
        }
        if let Some(call) = &self.call {
            and(&format!(
                "EXISTS (SELECT 1 FROM candidate a JOIN call j ON j.id = a.call
                  WHERE a.change = c.seq AND j.call = {})",
                values.add(call.0.clone())
            ));
        }
        if let Some(operation) = self.made_by {
            and(&format!("c.operation_seq = {}", values.add(operation.0 as i64)));
        }
        if let Some(after) = self.after {
            and(&format!("c.seq > {}", values.add(after as i64)));
        }
        if let Some(before) = self.before {
            and(&format!("c.seq < {}", values.add(before.0 as i64)));
        }
        rest
    }
}

/// The values of a query, by number.
#[derive(Default)]
struct SqlParams(Vec<SqlValue>);

impl SqlParams {
    /// Adds a value and returns its placeholder.
    fn add(&mut self, value: impl Into<SqlValue>) -> String {
        self.0.push(value.into());
        format!("?{}", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Store, StoreAccess};

    #[test]
    fn nothing_that_is_asked_for_reads_the_whole_record() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let dialog = ChangeFilter { dialog: Some("d".into()), ..ChangeFilter::default() };
        let path = ChangeFilter { path: Some("a".parse().unwrap()), ..ChangeFilter::default() };
        let filters = [
            ChangeFilter { agent: Some("main".into()), ..dialog.clone() },
            ChangeFilter { turn: Some(1), actor: Some(Actor::Agent), ..dialog.clone() },
            ChangeFilter { call: Some("c".into()), ..dialog.clone() },
            ChangeFilter { dialog: Some("d".into()), after: Some(1), ..path.clone() },
            ChangeFilter { made_by: Some(OperationId(1)), ..ChangeFilter::default() },
            ChangeFilter { limit: Some(50), ..dialog },
            ChangeFilter { oldest_first: true, ..path },
        ];
        for filter in filters {
            let (sql, values) = filter.to_sql();
            let mut query = store.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let values = rusqlite::params_from_iter(values);
            let rows = query.query_map(values, |row| row.get::<_, String>(3)).unwrap();
            let plan: Vec<String> = rows.collect::<Result<_, _>>().unwrap();
            // Those that several agents may have made are few.
            let is_whole =
                |step: &&String| step.starts_with("SCAN c") && !step.contains("change_shared");
            assert_eq!(plan.iter().find(is_whole), None, "{filter:?}: {plan:#?}");
            let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
            assert!(!sorts || filter.path.is_some(), "{filter:?}: {plan:#?}");
        }
    }
}
