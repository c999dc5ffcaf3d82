//! The files as they would be without a set of changes: what a review compares them with.
//!
//! The same drafts as those of [`take_back`](crate::plan::take_back), with two differences: where the
//! changes conflict with later ones, the places stay as they are and are named, and changes by git
//! since are no obstacle, since only what is in the files now is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use retake_model::{Change, ChangeId, PathState, ProjectPath};
use retake_store::{Store, StoreError};

use crate::plan::PlanReason;
use crate::plan::blockers::find_blockers;
use crate::plan::draft::{ConflictHandling, Draft, DraftFile};
use crate::plan::net_change::NetChange;
use crate::plan::path_history::PathHistories;
use crate::plan::take_back::{TakeBackOptions, parts_of, try_part};
use crate::plan::taken_parts::taken_parts_of;

/// Changes that are taken back together, and the files without them.
#[derive(Debug)]
pub(crate) struct DraftedPart {
    /// The changes, oldest first.
    pub(crate) changes: Vec<ChangeId>,
    /// The files that differ, or why the part cannot be taken back at all.
    pub(crate) files: Result<Vec<DraftedFile>, DraftObstacle>,
}

/// A file with and without the changes of a part.
#[derive(Clone, Debug)]
pub(crate) struct DraftedFile {
    pub(crate) path: ProjectPath,
    pub(crate) now: PathState,
    /// Where the file that is there now would be; none if the changes made it.
    pub(crate) origin: Option<ProjectPath>,
    pub(crate) without: DraftFile,
    /// Lines of the file without the changes where conflicting places stay as they are now, from 0.
    pub(crate) kept_places: Vec<Range<usize>>,
}

/// The reason why a part cannot be taken back.
#[derive(Clone, Debug)]
pub(crate) struct DraftObstacle {
    pub(crate) path: ProjectPath,
    pub(crate) now: PathState,
    pub(crate) reason: PlanReason,
    /// Later changes that would have to be taken back too.
    pub(crate) blockers: Vec<ChangeId>,
}

/// Changes that are taken back together, and the file that they are about.
#[derive(Clone, Debug)]
pub(crate) struct ChangePart {
    /// The changes, oldest first.
    pub(crate) changes: Vec<ChangeId>,
    /// Where the file is now, or was before it was deleted.
    pub(crate) path: ProjectPath,
    /// Where it was before the changes, if that is elsewhere.
    pub(crate) old_path: Option<ProjectPath>,
    /// All paths that the changes are about, and where their files are now.
    pub(crate) names: BTreeSet<ProjectPath>,
}

/// Splits changes into those that are taken back together; reads no content.
pub(crate) fn split_changes(
    store: &Store,
    changes: &[Change],
) -> Result<Vec<ChangePart>, StoreError> {
    let ids: BTreeSet<ChangeId> = changes.iter().map(|change| change.id).collect();
    let oldest = ids.first().copied().unwrap_or(ChangeId(0));
    let histories = PathHistories::since(store, oldest);
    let nets: Vec<_> = changes.iter().map(NetChange::of).collect();
    let mut parts = Vec::new();
    for nets in parts_of(&histories, &nets, &[], &ids)? {
        let mut changes: Vec<_> = nets.iter().flat_map(|net| net.changes.clone()).collect();
        changes.sort_unstable();
        let (Some(first), Some(last)) = (nets.first(), nets.last()) else { continue };
        let path = histories.current_path(last, &ids)?;
        let path = if last.after.is_absent() { last.from.clone() } else { path };
        let old_path =
            (first.from != path && !first.before.is_absent()).then(|| first.from.clone());
        let mut names = BTreeSet::new();
        for net in &nets {
            names.extend([net.from.clone(), net.path.clone(), histories.current_path(net, &ids)?]);
        }
        parts.push(ChangePart { changes, path, old_path, names });
    }
    parts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(parts)
}

/// Drafts the files without these changes, and without what took places of them back before.
pub(crate) fn draft_without(
    store: &Store,
    changes: &[Change],
) -> Result<Vec<DraftedPart>, StoreError> {
    let mut set: BTreeMap<ChangeId, Change> =
        changes.iter().map(|change| (change.id, change.clone())).collect();
    let more = taken_parts_of(store, &|id| set.contains_key(&id), changes.iter())?;
    set.extend(more.into_iter().map(|change| (change.id, change)));
    let ids: BTreeSet<ChangeId> = set.keys().copied().collect();
    let oldest = ids.first().copied().unwrap_or(ChangeId(0));
    let histories = PathHistories::since(store, oldest);
    let nets: Vec<_> = set.values().map(NetChange::of).collect();
    let parts = parts_of(&histories, &nets, &[], &ids)?;
    parts.into_iter().map(|nets| draft_part(&histories, &nets, &ids)).collect()
}

fn draft_part(
    histories: &PathHistories<'_>,
    nets: &[NetChange],
    set: &BTreeSet<ChangeId>,
) -> Result<DraftedPart, StoreError> {
    let mut changes: Vec<_> = nets.iter().flat_map(|net| net.changes.clone()).collect();
    changes.sort_unstable();
    let mut draft = Draft::with(histories.store, ConflictHandling::KeepPlaces);
    let files = match try_part(histories, &mut draft, nets, set, true)? {
        Ok(_) => Ok(drafted_files(histories.store, &draft)?),
        Err((stuck, reason)) => {
            let net = &nets[stuck];
            let path = if net.after.is_absent() { &net.from } else { &net.path };
            let path = if reason == PlanReason::GoneSince {
                path.clone()
            } else {
                histories.current_path(net, set)?
            };
            let now = Draft::new(histories.store).now(&path)?;
            let options = TakeBackOptions { across_git: true, ..TakeBackOptions::default() };
            let blockers = find_blockers(histories, nets, stuck, set, options)?;
            Err(DraftObstacle { path, now, reason, blockers })
        }
    };
    Ok(DraftedPart { changes, files })
}

/// The files that the draft changed, or in which it kept places.
fn drafted_files(store: &Store, draft: &Draft<'_>) -> Result<Vec<DraftedFile>, StoreError> {
    let record = Draft::new(store);
    let mut files = Vec::new();
    let kept: Vec<_> = draft.paths_with_kept_places().cloned().collect();
    let changed: Vec<_> = draft.changed_paths().cloned().collect();
    // A file in which every place is kept is not among those that changed.
    let paths: BTreeSet<ProjectPath> = kept.iter().cloned().chain(changed).collect();
    for path in paths {
        let (now, without) = (record.now(&path)?, draft.at(&path)?);
        if without.side != now || kept.contains(&path) {
            let origin = draft.path_in_draft(&path);
            let kept_places = draft.kept_places(&path).to_vec();
            files.push(DraftedFile { path, now, origin, without, kept_places });
        }
    }
    Ok(files)
}
