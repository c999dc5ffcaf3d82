//! Places on which the person has decided, among those that a plan takes back.
//!
//! A change of which the person has kept one place is still pending for the others, so its status does
//! not tell.

use std::collections::BTreeSet;

use retake_engine::model::ProjectPath;
use retake_engine::{
    OperationError, Plan, Project, ReviewFile, ReviewHunk, ReviewScope, ScopeChanges, Selection,
};

/// Names the files in which the person has marked a place as seen that a plan takes back, or in which
/// a rejection of the person waits.
pub(super) fn decided_files(project: &Project, plan: &Plan) -> Result<Vec<String>, OperationError> {
    let files = concerned_files(project, plan)?;
    let is_taken = taken_places(plan, &files);
    let is_decided =
        |file: &&ReviewFile| file.hunks.iter().any(|hunk| hunk.reviewed && is_taken(hunk));
    let decided = files.iter().filter(is_decided).map(|file| &file.path);
    // What waits is known by its scope's names of hunks, so the whole file is left to it.
    let waiting = project.waiting_rejections()?;
    let is_written = |path: &&ProjectPath| {
        plan.writes().any(|file| file.path == **path)
            || files.iter().any(|file| file.path == **path || file.old_path == **path)
    };
    let waiting = waiting.iter().map(|entry| &entry.path).filter(is_written);
    let names: BTreeSet<_> = decided.chain(waiting).map(ToString::to_string).collect();
    Ok(names.into_iter().collect())
}

/// The files of the changes that a plan takes back, with their hunks.
fn concerned_files(project: &Project, plan: &Plan) -> Result<Vec<ReviewFile>, OperationError> {
    let changes: Vec<_> = plan.concerned_changes().into_iter().collect();
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let selection = Selection { changes, ..Selection::default() };
    let review = project.review(&ReviewScope::of(ScopeChanges::Chosen(Box::new(selection))))?;
    let mut files = Vec::new();
    for entry in review.entries() {
        files.extend(review.files(entry)?);
    }
    Ok(files)
}

/// Tells which of the hunks a plan takes back: all of them, unless it names its hunks and they are
/// hunks here, too. In the scope that they were named in they may have been others.
fn taken_places<'a>(plan: &'a Plan, files: &'a [ReviewFile]) -> impl Fn(&ReviewHunk) -> bool + 'a {
    let named: BTreeSet<u64> = plan.rejected_hunks().map(|id| id.hash).collect();
    let here: BTreeSet<u64> =
        files.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.id.hash).collect();
    let is_all = named.is_empty() || !named.is_subset(&here);
    move |hunk| {
        let is_cascaded = plan.cascaded.iter().any(|id| hunk.changes.contains(id));
        is_all || is_cascaded || named.contains(&hunk.id.hash)
    }
}
