//! What one look leaves for the next: the ignore rules, git's position, and what git tracks
//! although rules hide it.

use std::collections::BTreeMap;

use retake_model::ProjectPath;
use retake_store::{Batch, Store, StoreError};
use retake_workspace::RuleSources;
use retake_workspace::git::GitLook;
use serde::{Deserialize, Serialize};

const RULES: &str = "rules";
const GIT: &str = "git";
const TRACKED_HIDDEN: &str = "tracked_hidden";
const INDEX_PATHS: &str = "index_paths";

#[derive(Serialize, Deserialize)]
struct StoredRules {
    ignore_files: Vec<(Vec<u8>, Vec<u8>)>,
    exclude: Vec<u8>,
    global: Vec<u8>,
    profile: Vec<String>,
    scratch: Vec<String>,
    include: Vec<String>,
}

/// The rules of the last look at the whole project.
pub(crate) fn rules(store: &Store) -> Result<Option<RuleSources>, StoreError> {
    let Some(json) = store.meta(RULES)? else {
        return Ok(None);
    };
    // Rules that cannot be read any more are found anew by the next look at everything.
    let Ok(stored) = serde_json::from_slice::<StoredRules>(&json) else { return Ok(None) };
    Ok(Some(RuleSources {
        ignore_files: stored.ignore_files.into_iter().collect::<BTreeMap<_, _>>(),
        exclude: stored.exclude,
        global: stored.global,
        profile: stored.profile,
        scratch: stored.scratch,
        include: stored.include,
    }))
}

/// Keeps the rules of this look.
pub(crate) fn keep_rules(batch: &Batch<'_>, rules: &RuleSources) -> Result<(), StoreError> {
    let rules = rules.clone();
    let stored = StoredRules {
        ignore_files: rules.ignore_files.into_iter().collect(),
        exclude: rules.exclude,
        global: rules.global,
        profile: rules.profile,
        scratch: rules.scratch,
        include: rules.include,
    };
    let json = serde_json::to_vec(&stored)
        .map_err(|error| StoreError::Row(format!("meta '{RULES}': {error}")))?;
    batch.set_meta(RULES, &json)
}

/// The paths that git tracks although rules hide them: they are always included.
pub(crate) fn tracked_hidden(store: &Store) -> Result<Vec<ProjectPath>, StoreError> {
    let bytes = store.meta(TRACKED_HIDDEN)?.unwrap_or_default();
    Ok(bytes.split(|&b| b == 0).filter_map(|path| ProjectPath::new(path).ok()).collect())
}

/// Keeps the paths that git tracks although rules hide them.
pub(crate) fn keep_tracked_hidden(
    batch: &Batch<'_>,
    paths: &[ProjectPath],
) -> Result<(), StoreError> {
    let bytes: Vec<&[u8]> = paths.iter().map(ProjectPath::as_bytes).collect();
    batch.set_meta(TRACKED_HIDDEN, &bytes.join(&0))
}

/// A digest of the paths that git's index had when what it tracks was last held against the rules.
pub(crate) fn index_paths(store: &Store) -> Result<Option<u64>, StoreError> {
    let bytes = store.meta(INDEX_PATHS)?;
    Ok(bytes.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?))))
}

/// Keeps the digest of the index's paths.
pub(crate) fn keep_index_paths(batch: &Batch<'_>, digest: u64) -> Result<(), StoreError> {
    batch.set_meta(INDEX_PATHS, &digest.to_be_bytes())
}

/// Where git stood at the last look.
pub(crate) fn git_look(store: &Store) -> Result<Option<GitLook>, StoreError> {
    Ok(store.meta(GIT)?.as_deref().and_then(GitLook::from_bytes))
}

/// Keeps where git stands.
pub(crate) fn keep_git_look(batch: &Batch<'_>, look: &GitLook) -> Result<(), StoreError> {
    batch.set_meta(GIT, &look.to_bytes())
}
