//! Finds the hunks that are named on the command line.

use std::collections::BTreeMap;

use anyhow::Result;
use retake_engine::model::{HunkId, ProjectPath};
use retake_engine::{HunkChoice, HunkRequest, OperationError, Project, ReviewScope, ScopeChanges};

use crate::args::{HunkArg, HunkPlaceArgs};
use crate::commands::review::named_scope;

/// Builds the request for hunks, in the scope that is named, else in the first one that has them
/// all. The caller has scanned the files.
pub(super) fn hunk_request(
    project: &Project,
    hunks: &[HunkArg],
    place: &HunkPlaceArgs,
) -> Result<HunkRequest> {
    for scope in scopes_to_search(project, place)? {
        let Some(paths) = find_all(project, &scope, hunks)? else { continue };
        let choice = |hunk: &HunkArg| HunkChoice {
            id: hunk.id,
            path: paths.get(&hunk.id).cloned(),
            lines: hunk.lines.clone(),
            digest: place.digest.clone(),
        };
        let hunks = hunks.iter().map(choice).collect();
        return Ok(HunkRequest { scope, hunks, all: false });
    }
    Err(OperationError::StaleHunks(hunks.iter().map(|hunk| hunk.id).collect()).into())
}

/// The scope that is named; otherwise those of agents, then also the person's own, then also what
/// was approved, so that the refusal says why.
fn scopes_to_search(project: &Project, place: &HunkPlaceArgs) -> Result<Vec<ReviewScope>> {
    if let Some(name) = &place.hunk_scope {
        let scope = ReviewScope::of(named_scope(project, name)?);
        let approved = ReviewScope { approved: true, ..scope.clone() };
        return Ok(vec![scope, approved]);
    }
    let everything = ReviewScope::of(ScopeChanges::Everything);
    let approved = ReviewScope { approved: true, ..everything.clone() };
    Ok(vec![ReviewScope::of(ScopeChanges::AllAgents), everything, approved])
}

/// The files of hunks in a scope; none unless all of them are there.
fn find_all(
    project: &Project,
    scope: &ReviewScope,
    hunks: &[HunkArg],
) -> Result<Option<BTreeMap<HunkId, ProjectPath>>> {
    let review = project.review(scope)?;
    let mut found = BTreeMap::new();
    for entry in review.entries() {
        for file in review.files(entry)? {
            for hunk in hunks.iter().filter(|hunk| file.hunk(hunk.id).is_some()) {
                found.insert(hunk.id, file.path.clone());
            }
        }
        if hunks.iter().all(|hunk| found.contains_key(&hunk.id)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
