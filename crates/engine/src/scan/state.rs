//! State that one scan stores for the next: the ignore rules, the ignored names, git's position,
//! and the paths that git tracks although rules hide them.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::ProjectPath;
use retake_store::{Batch, Store, StoreError};
use retake_workspace::RuleSources;
use retake_workspace::git::GitState;
use serde::{Deserialize, Serialize};

// Keys of the store's meta table.
const RULES_KEY: &str = "rules";
const EARLIER_RULES_KEY: &str = "earlier_rules";
const IGNORED_NAMES_KEY: &str = "ignored";
const LAST_SCAN_KEY: &str = "last_look";
const GIT_STATE_KEY: &str = "git";
const TRACKED_HIDDEN_KEY: &str = "tracked_hidden";
const DELETED_HIDDEN_KEY: &str = "taken_hidden";
/// Maximum names that are stored; the oldest are dropped first.
const MAX_DELETED_HIDDEN: usize = 1_000;
const INDEX_PATHS_KEY: &str = "index_paths";

#[derive(Serialize, Deserialize)]
struct StoredRules {
    ignore_files: Vec<(Vec<u8>, Vec<u8>)>,
    exclude: Vec<u8>,
    global: Vec<u8>,
    profile: Vec<String>,
    scratch: Vec<String>,
    include: Vec<String>,
    #[serde(default)]
    keeps_rule_files: bool,
}

/// Loads the rules of the last full scan.
pub(crate) fn load_rules(store: &Store) -> Result<Option<RuleSources>, StoreError> {
    read_rules(store, RULES_KEY)
}

/// Stores the rules of this scan.
pub(crate) fn save_rules(batch: &Batch<'_>, rules: &RuleSources) -> Result<(), StoreError> {
    write_rules(batch, RULES_KEY, rules)
}

/// Loads the rules at the begin of calls that are still open, if the rules changed since.
pub(crate) fn load_earlier_rules(store: &Store) -> Result<Option<RuleSources>, StoreError> {
    read_rules(store, EARLIER_RULES_KEY)
}

/// Stores or clears the rules that open calls are judged by.
pub(crate) fn save_earlier_rules(
    batch: &Batch<'_>,
    rules: Option<&RuleSources>,
) -> Result<(), StoreError> {
    match rules {
        Some(rules) => write_rules(batch, EARLIER_RULES_KEY, rules),
        None => batch.set_meta(EARLIER_RULES_KEY, b""),
    }
}

fn read_rules(store: &Store, key: &str) -> Result<Option<RuleSources>, StoreError> {
    let Some(json) = store.meta(key)? else {
        return Ok(None);
    };
    // Rules that can no longer be parsed are found again by the next full scan.
    let Ok(stored) = serde_json::from_slice::<StoredRules>(&json) else { return Ok(None) };
    Ok(Some(RuleSources {
        ignore_files: stored.ignore_files.into_iter().collect::<BTreeMap<_, _>>(),
        exclude: stored.exclude,
        global: stored.global,
        profile: stored.profile,
        scratch: stored.scratch,
        include: stored.include,
        keeps_rule_files: stored.keeps_rule_files,
    }))
}

fn write_rules(batch: &Batch<'_>, key: &str, rules: &RuleSources) -> Result<(), StoreError> {
    let rules = rules.clone();
    let stored = StoredRules {
        ignore_files: rules.ignore_files.into_iter().collect(),
        exclude: rules.exclude,
        global: rules.global,
        profile: rules.profile,
        scratch: rules.scratch,
        include: rules.include,
        keeps_rule_files: rules.keeps_rule_files,
    };
    let json = serde_json::to_vec(&stored)
        .map_err(|error| StoreError::Row(format!("meta '{key}': {error}")))?;
    batch.set_meta(key, &json)
}

/// Loads the number of the last full scan that was committed.
pub(crate) fn load_last_scan_number(store: &Store) -> Result<u64, StoreError> {
    let bytes = store.meta(LAST_SCAN_KEY)?;
    Ok(bytes.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?))).unwrap_or(0))
}

/// Stores the number of a full scan.
pub(crate) fn save_last_scan_number(batch: &Batch<'_>, number: u64) -> Result<(), StoreError> {
    batch.set_meta(LAST_SCAN_KEY, &number.to_be_bytes())
}

/// Loads the names ignored at the last full scan; `None` if not known.
pub(crate) fn load_ignored_names(
    store: &Store,
) -> Result<Option<BTreeSet<ProjectPath>>, StoreError> {
    let Some(bytes) = store.meta(IGNORED_NAMES_KEY)?.filter(|bytes| !bytes.is_empty()) else {
        return Ok(None);
    };
    let names = bytes.split(|&b| b == 0).filter_map(|path| ProjectPath::new(path).ok());
    Ok(Some(names.collect()))
}

/// Stores the ignored names.
pub(crate) fn save_ignored_names(
    batch: &Batch<'_>,
    names: &BTreeSet<ProjectPath>,
) -> Result<(), StoreError> {
    let bytes: Vec<&[u8]> = names.iter().map(ProjectPath::as_bytes).collect();
    // An empty list is a list, too.
    let bytes = [bytes.join(&0), vec![0]].concat();
    batch.set_meta(IGNORED_NAMES_KEY, &bytes)
}

/// Loads the paths that git tracks although rules hide them: they are always included.
pub(crate) fn load_tracked_hidden(store: &Store) -> Result<Vec<ProjectPath>, StoreError> {
    let bytes = store.meta(TRACKED_HIDDEN_KEY)?.unwrap_or_default();
    Ok(bytes.split(|&b| b == 0).filter_map(|path| ProjectPath::new(path).ok()).collect())
}

/// Stores the paths that git tracks although rules hide them.
pub(crate) fn save_tracked_hidden(
    batch: &Batch<'_>,
    paths: &[ProjectPath],
) -> Result<(), StoreError> {
    let bytes: Vec<&[u8]> = paths.iter().map(ProjectPath::as_bytes).collect();
    batch.set_meta(TRACKED_HIDDEN_KEY, &bytes.join(&0))
}

/// Loads the hidden paths whose deletion is on record: one that exists again is an obstacle to
/// restoring it.
pub(crate) fn load_deleted_hidden(store: &Store) -> Result<Vec<ProjectPath>, StoreError> {
    let bytes = store.meta(DELETED_HIDDEN_KEY)?.unwrap_or_default();
    Ok(bytes.split(|&b| b == 0).filter_map(|path| ProjectPath::new(path).ok()).collect())
}

/// Stores the hidden paths whose deletion is on record.
pub(crate) fn save_deleted_hidden(
    batch: &Batch<'_>,
    paths: &[ProjectPath],
) -> Result<(), StoreError> {
    let newest = &paths[paths.len().saturating_sub(MAX_DELETED_HIDDEN)..];
    let bytes: Vec<&[u8]> = newest.iter().map(ProjectPath::as_bytes).collect();
    batch.set_meta(DELETED_HIDDEN_KEY, &bytes.join(&0))
}

/// Loads the digest of the index's paths from when tracked paths were last compared with the rules.
pub(crate) fn load_index_digest(store: &Store) -> Result<Option<u64>, StoreError> {
    let bytes = store.meta(INDEX_PATHS_KEY)?;
    Ok(bytes.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?))))
}

/// Stores the digest of the index's paths.
pub(crate) fn save_index_digest(batch: &Batch<'_>, digest: u64) -> Result<(), StoreError> {
    batch.set_meta(INDEX_PATHS_KEY, &digest.to_be_bytes())
}

/// Loads git's state at the last scan.
pub(crate) fn load_git_state(store: &Store) -> Result<Option<GitState>, StoreError> {
    Ok(store.meta(GIT_STATE_KEY)?.as_deref().and_then(GitState::from_bytes))
}

/// Stores git's state.
pub(crate) fn save_git_state(batch: &Batch<'_>, state: &GitState) -> Result<(), StoreError> {
    batch.set_meta(GIT_STATE_KEY, &state.to_bytes())
}
