//! Filter of changes, translated to SQL.
//!
//! A change may fit in several ways: it is a dialog's own, or several dialogs share it; a path is
//! its new one or its old one. Each way is a search of its own, along an index and with the limit,
//! so that the last few changes of a long record cost what a few changes cost.

use std::fmt::Write as _;

use retake_model::{
    Actor, AgentId, CallId, ChangeId, ChangeStatus, Confidence, DialogId, Millis, OperationId,
    ProjectPath,
};
use rusqlite::types::Value as SqlValue;

use crate::change_totals::TOTAL_COLUMNS;
use crate::changes::SELECT_CHANGE;

/// Which changes a query is about. The default is all of them; of a list, one value must fit, and
/// an empty one lets all through.
#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// Of one of these dialogs.
    pub dialogs: Vec<DialogId>,
    /// Of one of these agents.
    pub agents: Vec<AgentId>,
    /// By one of these actors.
    pub actors: Vec<Actor>,
    /// Of this file, or of everything below this folder.
    pub path: Option<ProjectPath>,
    /// Recorded at this time or later.
    pub since: Option<Millis>,
    /// Recorded at this time or earlier.
    pub until: Option<Millis>,
    /// With one of these review statuses, which only what agents did has.
    pub statuses: Vec<ChangeStatus>,
    /// With one of these confidences.
    pub confidences: Vec<Confidence>,
    /// Of this turn of its dialog.
    pub turn: Option<u64>,
    /// By this call alone, or by it among others.
    pub call: Option<CallId>,
    /// By calls that the message with this index in the agent's history carried.
    pub message_index: Option<u64>,
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
        let searches = self.searches(&mut values);
        let order = if self.oldest_first { "ASC" } else { "DESC" };
        let limit = self.limit.map_or(-1, |limit| limit as i64);
        let end = format!("ORDER BY c.seq {order} LIMIT {limit}");
        let sql = match searches.as_slice() {
            [search] => format!("{SELECT_CHANGE} WHERE {} {end}", search.condition),
            searches => {
                format!("{SELECT_CHANGE} WHERE c.seq IN ({}) {end}", union(searches, &end))
            }
        };
        (sql, values.0)
    }

    /// The query of the sums over all pages, with its values.
    pub(crate) fn totals_sql(&self) -> (String, Vec<SqlValue>) {
        let mut values = SqlParams::default();
        let whole = Self { after: None, before: None, ..self.clone() };
        let sql = match whole.searches(&mut values).as_slice() {
            [search] => {
                format!("SELECT {TOTAL_COLUMNS} FROM change c WHERE {}", search.condition)
            }
            searches => format!(
                "SELECT {TOTAL_COLUMNS} FROM change c WHERE c.seq IN ({})",
                union(searches, "")
            ),
        };
        (sql, values.0)
    }

    /// The searches; a change fits if the condition of one of them holds.
    fn searches(&self, values: &mut SqlParams) -> Vec<ChangeSearch> {
        let rest = self.common_conditions(values);
        let (authors, paths) = (self.author_conditions(values), self.path_conditions(values));
        let mut searches = Vec::new();
        for author in &authors {
            for path in &paths {
                let condition = format!("1{}{path}{rest}", author.condition);
                searches.push(ChangeSearch { source: author.source, condition });
            }
        }
        searches
    }

    /// Conditions on the maker, for each dialog one of its own, since an index has the changes of
    /// one dialog in order. A change that several share has no agent, perhaps no dialog.
    fn author_conditions(&self, values: &mut SqlParams) -> Vec<ChangeSearch> {
        let (mut rest, mut shared) = (String::new(), String::new());
        let candidate = |what: &str| {
            format!(
                "EXISTS (SELECT 1 FROM candidate a JOIN call j ON j.id = a.call
                  WHERE a.change = c.seq AND j.{what})"
            )
        };
        let dialogs: Vec<String> =
            self.dialogs.iter().map(|dialog| values.add(dialog.0.clone())).collect();
        if !dialogs.is_empty() {
            let is_one = format!("dialog {}", one_of(&dialogs));
            let may_be = candidate(&is_one);
            let _ = write!(shared, " AND (c.{is_one} OR (c.dialog IS NULL AND {may_be}))");
        }
        if !self.agents.is_empty() {
            let agents: Vec<_> =
                self.agents.iter().map(|agent| values.add(agent.0.clone())).collect();
            let is_one = format!("agent {}", one_of(&agents));
            let _ = write!(rest, " AND c.{is_one}");
            let _ = write!(shared, " AND {}", candidate(&is_one));
        }
        if let Some(turn) = self.turn {
            let is_it = format!("turn = {}", values.add(turn as i64));
            let _ = write!(rest, " AND c.{is_it}");
            let may_be = candidate(&is_it);
            let _ = write!(shared, " AND (c.{is_it} OR (c.turn IS NULL AND {may_be}))");
        }
        let own = |condition| ChangeSearch { source: "change c", condition };
        if shared.is_empty() {
            return vec![own(String::new())];
        }
        let mut searches: Vec<_> =
            dialogs.iter().map(|dialog| own(format!(" AND c.dialog = {dialog}{rest}"))).collect();
        if searches.is_empty() {
            searches.push(own(rest));
        }
        // Shared changes are few. Without the hint, SQLite may read all that are pending instead.
        let source = "change c INDEXED BY change_shared";
        let condition = format!(" AND c.actor = 'agent' AND c.agent IS NULL{shared}");
        searches.push(ChangeSearch { source, condition });
        searches
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
        if !self.actors.is_empty() {
            and(&format!("c.actor {}", one_of(&quoted(&self.actors, |actor| actor.as_str()))));
        }
        if !self.statuses.is_empty() {
            // Changes of other actors have a status in the table too, but are never reviewed.
            let statuses = quoted(&self.statuses, |status| status.as_str());
            and(&format!("c.actor = 'agent' AND c.status {}", one_of(&statuses)));
        }
        if !self.confidences.is_empty() {
            let confidences = quoted(&self.confidences, |confidence| confidence.as_str());
            and(&format!("c.confidence {}", one_of(&confidences)));
        }
        if let Some(since) = self.since {
            and(&format!("c.at >= {}", values.add(since)));
        }
        if let Some(until) = self.until {
            and(&format!("c.at <= {}", values.add(until)));
        }
        if self.call.is_some() || self.message_index.is_some() {
            and(&self.call_condition(values));
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

    /// The condition on calls: their changes are looked up, which are few beside a dialog's.
    fn call_condition(&self, values: &mut SqlParams) -> String {
        let dialogs: Vec<_> =
            self.dialogs.iter().map(|dialog| values.add(dialog.0.clone())).collect();
        // Calls are found by their dialog and name.
        let of_dialog = match dialogs.as_slice() {
            [] => "IN (SELECT id FROM dialog)".to_owned(),
            dialogs => one_of(dialogs),
        };
        let mut calls = format!("j.dialog {of_dialog}");
        if let Some(call) = &self.call {
            let _ = write!(calls, " AND j.call = {}", values.add(call.0.clone()));
        }
        if let Some(index) = self.message_index {
            let _ = write!(calls, " AND j.message_index = {}", values.add(index as i64));
        }
        format!(
            "c.seq IN (SELECT a.change FROM call j JOIN candidate a ON a.call = j.id WHERE {calls})"
        )
    }
}

/// The places in the order that one of the searches finds, each search with this end.
fn union(searches: &[ChangeSearch], end: &str) -> String {
    let query = |ChangeSearch { source, condition }: &ChangeSearch| {
        format!("SELECT * FROM (SELECT c.seq FROM {source} WHERE {condition} {end})")
    };
    searches.iter().map(query).collect::<Vec<_>>().join(" UNION ALL ")
}

/// One search for changes: the table, perhaps with the index to use, and the condition.
struct ChangeSearch {
    source: &'static str,
    condition: String,
}

/// The comparison with one value, or with several.
fn one_of(values: &[String]) -> String {
    match values {
        [value] => format!("= {value}"),
        values => format!("IN ({})", values.join(", ")),
    }
}

/// The model's own names as SQL texts.
fn quoted<T>(values: &[T], name: impl Fn(&T) -> &'static str) -> Vec<String> {
    values.iter().map(|value| format!("'{}'", name(value))).collect()
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
        let dialog = ChangeFilter { dialogs: vec!["d".into()], ..ChangeFilter::default() };
        let dialogs =
            ChangeFilter { dialogs: vec!["d".into(), "e".into()], ..ChangeFilter::default() };
        let path = ChangeFilter { path: Some("a".parse().unwrap()), ..ChangeFilter::default() };
        let filters = [
            ChangeFilter { agents: vec!["main".into()], ..dialog.clone() },
            ChangeFilter { turn: Some(1), actors: vec![Actor::Agent], ..dialog.clone() },
            ChangeFilter { call: Some("c".into()), ..dialog.clone() },
            ChangeFilter { call: Some("c".into()), ..ChangeFilter::default() },
            ChangeFilter { message_index: Some(3), ..dialog.clone() },
            ChangeFilter { statuses: vec![ChangeStatus::Pending], ..dialog.clone() },
            ChangeFilter { after: Some(1), limit: Some(50), oldest_first: true, ..dialogs.clone() },
            ChangeFilter { turn: Some(2), limit: Some(50), ..dialogs },
            ChangeFilter { dialogs: vec!["d".into()], after: Some(1), ..path.clone() },
            ChangeFilter { made_by: Some(OperationId(1)), ..ChangeFilter::default() },
            ChangeFilter { limit: Some(50), ..dialog },
            ChangeFilter { oldest_first: true, ..path },
        ];
        for filter in filters {
            for (sql, values) in [filter.to_sql(), filter.totals_sql()] {
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
}
