//! Pairs each file of a part with what it would be without the changes.
//!
//! A file that the changes moved stays the file that it was, also if another one has its old name
//! now. So lines of the person that were moved along are not shown as new.

use std::collections::BTreeMap;

use retake_model::{PathState, ProjectPath};
use retake_store::{Store, StoreError};

use crate::plan::without::DraftedFile;
use crate::review::hunk::{FileSide, FileSides};

/// Reads the drafted files of a part, each as it is now and as it would be.
pub(super) fn pair_files(
    store: &Store,
    drafted: Vec<DraftedFile>,
) -> Result<Vec<FileSides>, StoreError> {
    let there = drafted.iter().filter(|file| !file.now.is_absent());
    let now: Vec<(ProjectPath, Option<ProjectPath>, PathState)> =
        there.map(|file| (file.path.clone(), file.origin.clone(), file.now)).collect();
    let would_be = drafted.into_iter().filter(|file| !file.without.side.is_absent());
    let mut bases: BTreeMap<ProjectPath, DraftedFile> =
        would_be.map(|file| (file.path.clone(), file)).collect();
    let (mut pairs, mut made) = (Vec::new(), Vec::new());
    for (path, origin, side) in now {
        match origin.and_then(|origin| bases.remove(&origin)) {
            Some(base) => pairs.push((Some(base), path, side)),
            None => made.push((path, side)),
        }
    }
    // A file that was made in the place of another one.
    pairs.extend(made.into_iter().map(|(path, side)| (bases.remove(&path), path, side)));
    pairs.extend(bases.into_values().map(|base| {
        let path = base.path.clone();
        (Some(base), path, PathState::Absent)
    }));
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
