//! Selects the changes that an operation is about.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use retake_model::{
    Actor, AgentId, CallId, CandidateCall, Change, ChangeId, Confidence, DialogId, Millis,
    ProjectPath, iso_8601,
};
use retake_store::{ChangeFilter, Store, StoreError};

use crate::error::OperationError;

/// A filter of agents' changes; all given conditions must hold. Empty means all changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Selection {
    /// These very changes.
    pub changes: Vec<ChangeId>,
    /// Of this file, or of everything beneath this folder.
    pub path: Option<ProjectPath>,
    /// Of this dialog.
    pub dialog: Option<DialogId>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Of this tool call.
    pub call: Option<CallId>,
    /// Of the answer to this message of the dialog, counted from 1.
    pub message: Option<u64>,
    /// Recorded later than this.
    pub after: Option<Millis>,
    /// Only the newest one of each file.
    pub last: bool,
    /// Take changes that another agent may have made.
    pub include_shared: bool,
}

/// The changes that a selection finds.
#[derive(Debug, Default)]
pub(crate) struct SelectedChanges {
    /// In the files now, oldest first.
    pub(crate) effective: Vec<Change>,
    /// Asked for by name, but taken back before.
    pub(crate) taken_back: Vec<Change>,
    /// Some agent out of scope may have made them.
    pub(crate) shared: Vec<Change>,
}

impl Selection {
    /// Finds the changes, each with the formatter's changes that belong to it.
    pub(crate) fn find(&self, store: &Store) -> Result<SelectedChanges, OperationError> {
        if let Some(dialog) = &self.dialog
            && store.dialog(dialog)?.is_none()
        {
            return Err(OperationError::UnknownDialog(dialog.clone()));
        }
        let found =
            if self.changes.is_empty() { self.by_scope(store)? } else { self.by_name(store)? };
        self.refuse_ambiguous(&found)?;
        let mut selected = SelectedChanges::default();
        for change in found.into_values().filter(|change| self.is_in_time(change)) {
            if !change.is_effective() {
                if !self.changes.is_empty() {
                    selected.taken_back.push(change);
                }
            } else if self.include_shared || self.owns(&change) {
                selected.effective.push(change);
            } else {
                selected.shared.push(change);
            }
        }
        if self.last {
            keep_newest(&mut selected.effective);
        }
        Ok(selected)
    }

    fn by_scope(&self, store: &Store) -> Result<BTreeMap<ChangeId, Change>, OperationError> {
        let mut found = BTreeMap::new();
        let mut filters = vec![self.filter()];
        while let Some(filter) = filters.pop() {
            for change in store.changes(&filter)? {
                // A file that was moved here has a history under its old name.
                if let (Some(path), Some(old)) = (&filter.path, &change.old_path)
                    && change.path.is_beneath(path)
                    && !old.is_beneath(path)
                {
                    let (path, before) = (Some(old.clone()), Some(change.id));
                    filters.push(ChangeFilter { path, before, ..self.filter() });
                }
                found.insert(change.id, change);
            }
        }
        Ok(found)
    }

    fn by_name(&self, store: &Store) -> Result<BTreeMap<ChangeId, Change>, OperationError> {
        let mut found = BTreeMap::new();
        for &id in &self.changes {
            let change = store.change(id)?.ok_or(OperationError::UnknownChange(id))?;
            if change.actor != Actor::Agent {
                return Err(OperationError::NotAnAgents { change: id, actor: change.actor });
            }
            let first = change.joins.map(|first| store.change(first)).transpose()?.flatten();
            for change in [Some(change), first].into_iter().flatten() {
                let joined = joined_to(store, &change)?;
                found.extend(joined.into_iter().map(|joined| (joined.id, joined)));
                found.insert(change.id, change);
            }
        }
        Ok(found)
    }

    /// Fails if a message, agent or call without a dialog matches several: their ids are per
    /// dialog.
    fn refuse_ambiguous(&self, found: &BTreeMap<ChangeId, Change>) -> Result<(), OperationError> {
        let what = match (&self.call, &self.agent, self.message) {
            _ if self.dialog.is_some() || !self.changes.is_empty() => return Ok(()),
            (Some(call), ..) => format!("a call {call}"),
            (_, Some(agent), _) => format!("an agent {agent}"),
            (_, _, Some(message)) => format!("a message {message}"),
            _ => return Ok(()),
        };
        let dialogs: BTreeSet<_> =
            found.values().filter_map(|change| change.dialog.as_ref()).collect();
        if dialogs.len() > 1 { Err(OperationError::NeedsDialog(what)) } else { Ok(()) }
    }

    /// Describes the selection for people.
    pub(crate) fn describe(&self, store: &Store) -> Result<String, StoreError> {
        let mut parts: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        if parts.is_empty() {
            parts.push(if self.last { "the newest changes" } else { "all changes" }.to_owned());
        }
        if let [one] = self.changes.as_slice() {
            parts.extend(store.change(*one)?.map(|change| format!("in {}", change.path)));
        }
        parts.extend(self.path.as_ref().map(|path| format!("of {path}")));
        parts.extend(self.call.as_ref().map(|call| format!("of call {call}")));
        parts.extend(self.agent.as_ref().map(|agent| format!("of agent {agent}")));
        parts.extend(self.message.map(|message| format!("of message {message}")));
        if let Some(dialog) = self.dialog.as_ref().map(|id| store.dialog(id)).transpose()?.flatten()
        {
            parts.push(format!("of {}", dialog.name));
        }
        parts.extend(self.after.map(|after| format!("after {}", iso_8601(after))));
        Ok(parts.join(" "))
    }

    fn filter(&self) -> ChangeFilter {
        ChangeFilter {
            dialogs: self.dialog.clone().into_iter().collect(),
            agents: self.agent.clone().into_iter().collect(),
            actors: vec![Actor::Agent],
            path: self.path.clone(),
            turn: self.message,
            call: self.call.clone(),
            ..ChangeFilter::default()
        }
    }

    fn is_in_time(&self, change: &Change) -> bool {
        self.after.is_none_or(|after| change.at > after)
    }

    /// Returns whether all calls that can have made the change match the selection.
    fn owns(&self, change: &Change) -> bool {
        let is_in_scope = |by: &CandidateCall| {
            self.dialog.as_ref().is_none_or(|dialog| by.dialog == *dialog)
                && self.agent.as_ref().is_none_or(|agent| by.agent == *agent)
                && self.call.as_ref().is_none_or(|call| by.call == *call)
        };
        change.confidence != Confidence::Shared
            || !self.changes.is_empty()
            || change.candidates.iter().all(is_in_scope)
    }
}

/// Loads the formatter's changes that belong to a change.
fn joined_to(store: &Store, change: &Change) -> Result<Vec<Change>, StoreError> {
    let filter = ChangeFilter {
        path: Some(change.path.clone()),
        after: Some(change.id.0),
        ..ChangeFilter::default()
    };
    let later = store.changes(&filter)?;
    Ok(later.into_iter().filter(|later| later.joins == Some(change.id)).collect())
}

/// Keeps the newest change of each file, with the formatter's changes that belong to it.
fn keep_newest(changes: &mut Vec<Change>) {
    let root = |change: &Change| change.joins.unwrap_or(change.id);
    let newest: BTreeMap<_, _> =
        changes.iter().map(|change| (change.path.clone(), root(change))).collect();
    changes.retain(|change| newest.get(&change.path) == Some(&root(change)));
}
