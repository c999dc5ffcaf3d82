//! The unique names of agents' records (DM-3): one by one, and for many at once.
//!
//! A record's name is its call's id, with the change's number among those of the call if there are
//! several. Invariant: naming a change that is next to the one that was named last in the same call
//! costs a constant number of steps, however many changes the call made.

use std::collections::{HashMap, VecDeque};

use retake_model::{Actor, CallId, Change, ChangeId, ChangeMethod, DialogId};
use retake_store::StoreError;

use crate::project::Project;
use crate::query::file_record::FileRecord;

/// Maximum calls whose last named change is remembered.
const MAX_REMEMBERED_CALLS: usize = 32;
const SHARED_PREFIX: &str = "shared-";
const RECONCILE_PREFIX: &str = "reconcile-";

/// Names records one after the other, and remembers where it was in the last few calls.
///
/// Changes that gc removes shift the numbers: the caller drops it when that has happened.
#[derive(Debug, Default)]
pub struct RecordNameCursor {
    recent: VecDeque<NamedPlace>,
}

/// The change that was named last among those of a call.
#[derive(Debug)]
struct NamedPlace {
    call: CallKey,
    change: ChangeId,
    number: u64,
}

/// A call by its names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CallKey {
    dialog: DialogId,
    call: CallId,
}

impl CallKey {
    /// The call of a change, if exactly one can have made it.
    fn of(change: &Change) -> Option<Self> {
        let [only] = change.candidates.as_slice() else { return None };
        Some(Self { dialog: only.dialog.clone(), call: only.call.clone() })
    }
}

impl RecordNameCursor {
    /// Returns the name of a change's record; `None` if the change is not one of a dialog's agents.
    pub fn name(
        &mut self,
        project: &Project,
        change: &Change,
    ) -> Result<Option<String>, StoreError> {
        match (&change.dialog, change.actor) {
            (Some(_), Actor::Agent) => self.record_name(project, change).map(Some),
            _ => Ok(None),
        }
    }

    fn record_name(&mut self, project: &Project, change: &Change) -> Result<String, StoreError> {
        if change.method == ChangeMethod::Reconcile {
            return reconciled_name(project, change);
        }
        // Several calls can have made it.
        let Some(key) = CallKey::of(change) else { return Ok(shared_name(change)) };
        let store = project.store();
        if store.count_call_changes(&key.dialog, &key.call, 0, u64::MAX, 2)? == 1 {
            return Ok(key.call.0);
        }
        let number = self.number_in_call(project, &key, change.id)?;
        Ok(numbered_name(&key.call, number))
    }

    /// Counts from the change that was named last in the call.
    fn number_in_call(
        &mut self,
        project: &Project,
        key: &CallKey,
        change: ChangeId,
    ) -> Result<u64, StoreError> {
        let between = |after: u64, before: u64| {
            project.store().count_call_changes(&key.dialog, &key.call, after, before, usize::MAX)
        };
        let known = self.recent.iter().position(|place| place.call == *key);
        let known = known.and_then(|at| self.recent.remove(at));
        let number = match known {
            None => between(0, change.0)?,
            Some(place) if place.change == change => place.number,
            Some(place) if place.change < change => {
                place.number + 1 + between(place.change.0, change.0)?
            }
            Some(place) => place.number.saturating_sub(1 + between(change.0, place.change.0)?),
        };
        self.recent.push_front(NamedPlace { call: key.clone(), change, number });
        self.recent.truncate(MAX_REMEMBERED_CALLS);
        Ok(number)
    }
}

impl Project {
    /// Returns the record of a dialog with this name.
    pub fn file_record(
        &self,
        dialog: &DialogId,
        name: &str,
    ) -> Result<Option<FileRecord>, StoreError> {
        if name.starts_with(RECONCILE_PREFIX) {
            let mut records = self.file_records(dialog)?.into_iter();
            return Ok(records.find(|record| record.tool_call_id == name));
        }
        let nth = |call: &str, number| {
            self.store().nth_call_change(dialog, &CallId(call.to_owned()), number)
        };
        // A call's own id may look like another one's with a number: the name of what is found
        // decides.
        let shared = name.strip_prefix(SHARED_PREFIX).and_then(|id| id.parse().ok());
        let numbered = match name.rsplit_once(':') {
            Some((call, number)) => number.parse().ok().map(|number| nth(call, number)),
            None => None,
        };
        let found = [shared, nth(name, 0)?, numbered.transpose()?.flatten()];
        let records = self.file_records_of(dialog, found.into_iter().flatten())?;
        Ok(records.into_iter().find(|record| record.tool_call_id == name))
    }

    /// Returns the records of these changes, as far as they are a dialog's.
    pub fn file_records_of(
        &self,
        dialog: &DialogId,
        changes: impl IntoIterator<Item = ChangeId>,
    ) -> Result<Vec<FileRecord>, StoreError> {
        let mut names = RecordNameCursor::default();
        let mut records = Vec::new();
        for id in changes {
            let Some(change) = self.change(id)?.filter(|change| is_of(change, dialog)) else {
                continue;
            };
            records.push(FileRecord { tool_call_id: names.record_name(self, &change)?, change });
        }
        Ok(records)
    }
}

/// Returns true if an agent of the dialog made the change, or may have made it.
fn is_of(change: &Change, dialog: &DialogId) -> bool {
    let may_be = || change.candidates.iter().any(|candidate| candidate.dialog == *dialog);
    change.actor == Actor::Agent && change.dialog.as_ref().map_or_else(may_be, |its| its == dialog)
}

/// The name of a record of an older form, numbered among all such of its dialog.
fn reconciled_name(project: &Project, change: &Change) -> Result<String, StoreError> {
    let mut names = RecordNames::default();
    if let Some(dialog) = &change.dialog {
        project.file_records(dialog)?.iter().for_each(|record| names.count_change(&record.change));
    }
    Ok(names.name_of(change))
}

fn shared_name(change: &Change) -> String {
    format!("{SHARED_PREFIX}{}", change.id)
}

fn numbered_name(call: &CallId, number: u64) -> String {
    format!("{call}:{number}")
}

/// The names of all records of a list, which is counted first.
#[derive(Default)]
pub(crate) struct RecordNames {
    /// How many changes each call made.
    counts: HashMap<CallKey, u64>,
    /// Each change's number among those of its call.
    numbers: HashMap<ChangeId, u64>,
    reconciled: u64,
}

impl RecordNames {
    pub(crate) fn count_change(&mut self, change: &Change) {
        let count = match (CallKey::of(change), change.method) {
            (_, ChangeMethod::Reconcile) => &mut self.reconciled,
            (Some(key), _) => self.counts.entry(key).or_default(),
            (None, _) => return,
        };
        self.numbers.insert(change.id, *count);
        *count += 1;
    }

    pub(crate) fn name_of(&self, change: &Change) -> String {
        let number = self.numbers.get(&change.id).copied().unwrap_or(0);
        match (CallKey::of(change), change.method) {
            (_, ChangeMethod::Reconcile) => {
                let dialog = change.dialog.as_ref().map_or("unknown", |id| id.0.as_str());
                let start: String = dialog.chars().take(8).collect();
                format!("{RECONCILE_PREFIX}{start}-{number}")
            }
            (Some(key), _) => match self.counts.get(&key) {
                Some(1) => key.call.0,
                _ => numbered_name(&key.call, number),
            },
            (None, _) => shared_name(change),
        }
    }
}
