//! What of the record belongs to the scope of a report: also rejections and comments, whose changes may
//! be in no file now.

use std::collections::BTreeSet;

use retake_engine::model::{
    Actor, Caller, Change, ChangeId, DialogId, Operation, ProjectPath, ReviewComment,
};
use retake_engine::{ChangeFilter, Project, Review, ScopeChanges, Selection, StoreError};

/// The work that a report is about.
pub(super) struct ReportScope<'a> {
    project: &'a Project,
    /// Only files at or beneath these paths; empty for all.
    paths: &'a [ProjectPath],
    /// None for the work of all agents.
    work: Option<ChosenWork>,
}

/// Chosen changes, in the files or taken back, and what they are of.
struct ChosenWork {
    changes: BTreeSet<ChangeId>,
    dialogs: BTreeSet<DialogId>,
    /// None for whichever file: the work of whole dialogs.
    files: Option<BTreeSet<ProjectPath>>,
}

impl<'a> ReportScope<'a> {
    pub(super) fn of(project: &'a Project, review: &'a Review<'_>) -> Result<Self, StoreError> {
        let paths = &review.scope.paths;
        let (changes, dialog, is_whole) = match &review.scope.changes {
            ScopeChanges::Chosen(selection) => {
                let changes = chosen_changes(project, selection)?;
                (changes, selection.dialog.clone(), is_whole_dialog(selection))
            }
            ScopeChanges::After(seq) => {
                let filter = ChangeFilter { after: Some(*seq), ..agents_filter() };
                (project.changes_with_few_hunks(&filter, 0)?, None, false)
            }
            ScopeChanges::AllAgents
            | ScopeChanges::Everything
            | ScopeChanges::LastTurn
            | ScopeChanges::SinceSeen => return Ok(Self { project, paths, work: None }),
        };
        let dialogs = dialog.map_or_else(|| dialogs_of(&changes), |dialog| [dialog].into());
        let files = (!is_whole).then(|| files_of(&changes, review));
        let changes = changes.into_iter().map(|change| change.id).collect();
        Ok(Self { project, paths, work: Some(ChosenWork { changes, dialogs, files }) })
    }

    /// Returns true for a rejection by the person that took out work of the scope. What an agent took
    /// back of its own work is no decision of the person.
    pub(super) fn has_rejection(&self, rejection: &Operation) -> Result<bool, StoreError> {
        if rejection.said_by.as_ref().and_then(Caller::dialog).is_some() {
            return Ok(false);
        }
        if self.work.is_none() && self.paths.is_empty() {
            return Ok(true);
        }
        let made = ChangeFilter { made_by: Some(rejection.id), ..ChangeFilter::default() };
        let made = self.project.changes_with_few_hunks(&made, 0)?;
        let is_here = self.paths.is_empty() || made.iter().any(|change| self.covers(change));
        let mut taken = self.project.changes_taken_by(rejection.id)?.into_iter();
        let work = self.work.as_ref();
        Ok(is_here && taken.any(|id| work.is_none_or(|work| work.changes.contains(&id))))
    }

    /// Returns true for a comment on the work of the scope.
    pub(super) fn has_comment(&self, comment: &ReviewComment) -> bool {
        let is_here = match &comment.path {
            Some(path) => self.covers_path(path),
            None => self.paths.is_empty(),
        };
        let is_of = |work: &ChosenWork| {
            let is_theirs =
                comment.dialog.as_ref().is_some_and(|dialog| work.dialogs.contains(dialog));
            let files = work.files.as_ref().zip(comment.path.as_ref());
            is_theirs && files.is_none_or(|(files, path)| files.contains(path))
        };
        is_here && self.work.as_ref().is_none_or(is_of)
    }

    fn covers(&self, change: &Change) -> bool {
        self.covers_path(&change.path) || self.covers_path(change.from_path())
    }

    fn covers_path(&self, path: &ProjectPath) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|scope| path.is_beneath(scope))
    }
}

fn agents_filter() -> ChangeFilter {
    ChangeFilter { actors: vec![Actor::Agent], ..ChangeFilter::default() }
}

fn dialogs_of(changes: &[Change]) -> BTreeSet<DialogId> {
    let candidates = changes.iter().flat_map(|change| &change.candidates);
    let candidates = candidates.map(|call| call.dialog.clone());
    changes.iter().filter_map(|change| change.dialog.clone()).chain(candidates).collect()
}

/// The names of the files of changes, also those that others gave them since.
fn files_of(changes: &[Change], review: &Review<'_>) -> BTreeSet<ProjectPath> {
    let own = changes.iter().flat_map(|change| [&change.path, change.from_path()]);
    own.chain(review.entries().iter().map(|entry| &entry.path)).cloned().collect()
}

/// Returns true if a dialog is chosen and nothing narrower.
fn is_whole_dialog(selection: &Selection) -> bool {
    let Selection { changes, path, dialog, agent, call, message, after, .. } = selection;
    (dialog.is_some() && changes.is_empty())
        && (path.is_none() && agent.is_none() && call.is_none())
        && (message.is_none() && after.is_none())
}

/// The changes of a selection, also those that were taken back.
fn chosen_changes(project: &Project, selection: &Selection) -> Result<Vec<Change>, StoreError> {
    if !selection.changes.is_empty() {
        let changes = selection.changes.iter().map(|id| project.change(*id));
        return Ok(changes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect());
    }
    let filter = ChangeFilter {
        dialogs: selection.dialog.clone().into_iter().collect(),
        agents: selection.agent.clone().into_iter().collect(),
        path: selection.path.clone(),
        turn: selection.message,
        call: selection.call.clone(),
        ..agents_filter()
    };
    let mut changes = project.changes_with_few_hunks(&filter, 0)?;
    changes.retain(|change| selection.after.is_none_or(|after| change.at > after));
    Ok(changes)
}
