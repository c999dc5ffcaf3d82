//! What one look leaves for the next: the ignore rules and git's position.

use std::collections::BTreeMap;

use retake_store::{Batch, Store, StoreError};
use retake_workspace::RuleSources;
use retake_workspace::git::GitLook;
use serde::{Deserialize, Serialize};

const RULES: &str = "rules";
const GIT: &str = "git";

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
    let stored: StoredRules = serde_json::from_slice(&json)
        .map_err(|error| StoreError::Row(format!("meta '{RULES}': {error}")))?;
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

/// Where git stood at the last look.
pub(crate) fn git_look(store: &Store) -> Result<Option<GitLook>, StoreError> {
    Ok(store.meta(GIT)?.as_deref().and_then(GitLook::from_bytes))
}

/// Keeps where git stands.
pub(crate) fn keep_git_look(batch: &Batch<'_>, look: &GitLook) -> Result<(), StoreError> {
    batch.set_meta(GIT, &look.to_bytes())
}
