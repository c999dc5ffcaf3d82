//! Pairs each file of a part with what it would be without the changes.
//!
//! A file that the changes moved stays the file that it was, also if another one has its old name
//! now. So lines of the person that were moved along are not shown as new.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{Change, ChangeId, PathState, ProjectPath};
use retake_store::{Store, StoreError};

use crate::plan::without::DraftedFile;
use crate::review::hunk::{FileSide, FileSides};
use crate::review::trace::changes_of_names;

/// Reads the drafted files of a part, each as it is now and as it would be.
pub(super) fn pair_files(
    store: &Store,
    drafted: Vec<DraftedFile>,
    changes: &BTreeMap<ChangeId, Change>,
) -> Result<Vec<FileSides>, StoreError> {
    let origins = origins_of(store, &drafted, changes)?;
    let (there, gone): (Vec<_>, Vec<_>) =
        drafted.into_iter().partition(|file| !file.now.is_absent());
    let now: Vec<(ProjectPath, PathState)> =
        there.iter().map(|file| (file.path.clone(), file.now)).collect();
    let mut bases: BTreeMap<ProjectPath, DraftedFile> =
        there.into_iter().chain(gone).map(|file| (file.path.clone(), file)).collect();
    bases.retain(|_, file| !file.without.side.is_absent());
    let mut pairs: Vec<(Option<DraftedFile>, ProjectPath, PathState)> = Vec::new();
    let mut unpaired = Vec::new();
    for (path, side) in now {
        let origin = origins.get(&path).map_or(Some(&path), Option::as_ref);
        match origin.and_then(|origin| bases.remove(origin)) {
            Some(base) => pairs.push((Some(base), path, side)),
            None => unpaired.push((path, side)),
        }
    }
    let mut came = Vec::new();
    for (path, side) in unpaired {
        match bases.remove(&path) {
            Some(base) => pairs.push((Some(base), path, side)),
            None => came.push((path, side)),
        }
    }
    // A move that was undone and done again: its own trace ends where it began.
    let is_move = changes.values().any(|change| change.old_path.is_some());
    if is_move && came.len() == 1 && bases.len() == 1 {
        let moved = bases.pop_first().map(|(_, base)| base);
        pairs.extend(came.drain(..).map(|(path, side)| (moved.clone(), path, side)));
    }
    pairs.extend(came.into_iter().map(|(path, side)| (None, path, side)));
    let gone = bases.into_values().map(|base| {
        let path = base.path.clone();
        (Some(base), path, PathState::Absent)
    });
    pairs.extend(gone);
    let mut sides = Vec::new();
    for (base, path, now) in pairs {
        let (base, kept) = match base {
            Some(base) => (FileSide { path: base.path, side: base.without }, base.kept_places),
            None => (FileSide { path: path.clone(), side: PathState::Absent.into() }, Vec::new()),
        };
        sides.push(FileSides::read(store, base, FileSide { path, side: now }, kept)?);
    }
    sides.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sides)
}

/// The paths at which files would be without the changes, by where they are now: none for those that
/// the changes made. Files that are not in it are where they were.
fn origins_of(
    store: &Store,
    drafted: &[DraftedFile],
    changes: &BTreeMap<ChangeId, Change>,
) -> Result<BTreeMap<ProjectPath, Option<ProjectPath>>, StoreError> {
    let is_move = changes.values().any(|change| change.old_path.is_some());
    let Some(oldest) = changes.keys().next().filter(|_| is_move) else {
        return Ok(BTreeMap::new());
    };
    let own = changes.values().flat_map(|change| [&change.path, change.from_path()]);
    let names: BTreeSet<ProjectPath> =
        own.chain(drafted.iter().map(|file| &file.path)).cloned().collect();
    let mut origins = BTreeMap::new();
    for change in changes_of_names(store, &names, *oldest)?.into_values() {
        let from = change.from_path();
        let was = origins.remove(from).unwrap_or_else(|| Some(from.clone()));
        let is_taken_back = changes.contains_key(&change.id);
        let origin = match (change.before.is_absent(), is_taken_back) {
            (true, true) => None,
            (true, false) => Some(change.path.clone()),
            (false, _) if is_taken_back || change.old_path.is_none() => was,
            (false, _) => Some(change.path.clone()),
        };
        if !change.after.is_absent() {
            origins.insert(change.path, origin);
        }
    }
    Ok(origins)
}
