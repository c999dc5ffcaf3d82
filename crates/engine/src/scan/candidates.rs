//! Finds the candidate paths of a scan: given paths, those of a hint, or all.
//!
//! Invariant: within the paths of a hint a narrow scan finds exactly what a full scan would have
//! found there. Where that cannot be guaranteed (the rules may have changed, the hint is unusable)
//! the scan is a full one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use retake_model::{Gap, GapReason, ProjectPath};
use retake_store::{Batch, ManifestEntry, StoreError};
use retake_workspace::git::{GitIndex, GitState};
use retake_workspace::{ChangeHint, IgnoreRules, RuleSources, ScanResult};

use crate::attribution::repository::{ProjectRepository, path_digest};
use crate::scan::hints::FullScanSnapshot;
use crate::scan::observation::Observation;
use crate::scan::request::{IgnoredSummary, ScanRequest, ScanScope};
use crate::scan::rows::is_lasting;
use crate::scan::stat_cache::{
    LoadedStatCache, RecalledStats, STAT_CACHE_READ_COST_BYTES, known_stats,
};
use crate::scan::state;

/// Maximum files with several names that are checked one by one; beyond this a walk is as cheap.
const MAX_LINKED_FILES: usize = 1_000;

/// Candidate paths, and their manifest entries.
pub(crate) struct ScanCandidates {
    /// Entries of candidate paths; there may be more.
    pub(crate) entries: Vec<ManifestEntry>,
    pub(crate) scan: ScanResult,
    /// The rules in force.
    pub(crate) rules: Option<Arc<IgnoreRules>>,
    /// The rules of the last scan, if they differed.
    pub(crate) old_rules: Option<IgnoreRules>,
}

/// Finds the paths that may have changed.
pub(crate) fn find_candidates(
    batch: &Batch<'_>,
    request: &ScanRequest<'_>,
    hint: Option<&ChangeHint>,
    observation: &mut Observation,
) -> Result<ScanCandidates, StoreError> {
    match (&request.scope, hint, &request.snapshot) {
        (ScanScope::Paths(paths), ..) => candidates_at(batch, request, paths),
        (ScanScope::Everything, Some(ChangeHint::Paths(hinted)), Some(snapshot))
            if !request.first =>
        {
            match candidates_within_hint(batch, request, hinted, snapshot, observation)? {
                Some(candidates) => Ok(candidates),
                None => candidates_everywhere(batch, request, observation),
            }
        }
        (ScanScope::Everything, ..) => candidates_everywhere(batch, request, observation),
    }
}

/// Scans exactly these paths, even if rules hide them.
fn candidates_at(
    batch: &Batch<'_>,
    request: &ScanRequest<'_>,
    paths: &[ProjectPath],
) -> Result<ScanCandidates, StoreError> {
    let paths: BTreeSet<_> = paths.iter().chain(&request.always_scanned).cloned().collect();
    let mut entries = Vec::new();
    for path in &paths {
        entries.extend(batch.manifest_entry(path)?);
    }
    let paths: Vec<_> = paths.into_iter().collect();
    let stats = request.snapshot.as_ref().and_then(|snapshot| snapshot.stat_cache.as_ref());
    let mut scan = request.workspace.scan_paths(&known_stats(batch, &entries, stats)?, &paths);
    let known_before = scan.suspects.iter().filter(|suspect| suspect.known);
    let to_be_read: u64 = known_before.map(|suspect| suspect.stat.size).sum();
    if stats.is_none() && to_be_read > STAT_CACHE_READ_COST_BYTES {
        let stats = LoadedStatCache::load(batch)?;
        scan = request.workspace.scan_paths(&known_stats(batch, &entries, stats.as_ref())?, &paths);
    }
    let rules = match &request.snapshot {
        Some(snapshot) => Some(Arc::clone(&snapshot.rules)),
        // Only a new file is checked against the rules.
        None if scan.suspects.iter().all(|suspect| suspect.known) => None,
        None => state::load_rules(batch)?.map(IgnoreRules::new).map(Arc::new),
    };
    Ok(ScanCandidates { entries, scan, rules, old_rules: None })
}

/// Scans the paths of the hint, open gaps, tracked paths that are not watched yet, and files with
/// several names; `None` if that is not enough.
fn candidates_within_hint(
    batch: &Batch<'_>,
    request: &ScanRequest<'_>,
    hinted: &BTreeSet<ProjectPath>,
    snapshot: &FullScanSnapshot,
    observation: &mut Observation,
) -> Result<Option<ScanCandidates>, StoreError> {
    let sources = snapshot.rules.sources();
    // Only a full walk applies two sets of rules.
    if request.has_open_calls && snapshot.has_earlier_rules {
        return Ok(None);
    }
    let has_many_links = snapshot.linked.len() > MAX_LINKED_FILES;
    if has_many_links || !sources.same_but_for_files(&rules_outside_tree(request)) {
        return Ok(None);
    }
    let gaps = batch.gaps()?.into_iter().map(|(gap, _)| gap);
    let gaps = gaps.filter(|gap| !is_lasting(gap.reason)).map(|gap| gap.path);
    let roots: BTreeSet<_> = hinted.iter().cloned().chain(gaps).collect();
    if roots.iter().any(|path| path.file_name() == b".gitignore") {
        return Ok(None);
    }
    let roots = topmost(roots);
    let tracked = TrackedHidden::find(batch, request, &snapshot.rules, false, &|_| false)?;
    let deleted = state::load_deleted_hidden(batch)?;
    let beneath = roots.iter().flat_map(|root| root.those_beneath(&snapshot.hidden));
    let hinted = roots.iter().filter(|root| snapshot.hidden.contains(root)).chain(beneath);
    let asked_for = request.always_scanned.iter().chain(tracked.changed_hidden()).chain(&deleted);
    let unseen = snapshot.unwatched.iter().chain(&snapshot.linked);
    let single_paths: BTreeSet<_> = asked_for.chain(unseen).chain(hinted).collect();
    let mut entries = Vec::new();
    for root in &roots {
        entries.extend(batch.manifest_beneath(root)?);
    }
    for path in single_paths.iter().filter(|path| !is_covered(path.as_bytes(), &roots)) {
        entries.extend(batch.manifest_entry(path)?);
    }
    let known = known_stats(batch, &entries, snapshot.stat_cache.as_ref())?;
    let mut single_paths: Vec<_> = single_paths.into_iter().cloned().collect();
    if single_paths.iter().any(|path| !known.contains(path)) {
        // A path that is neither tracked now nor requested is hidden.
        let hidden: BTreeSet<_> = tracked.hidden(batch)?.into_iter().chain(deleted).collect();
        let is_wanted =
            |path: &ProjectPath| hidden.contains(path) || request.always_scanned.contains(path);
        single_paths.retain(|path| known.contains(path) || is_wanted(path));
    }
    let scan = request.workspace.scan_within(&known, &snapshot.rules, &roots, &single_paths);
    let known_files = sources.ignore_files.iter();
    let known_files = known_files.filter(|(folder, _)| is_covered(folder, &roots));
    if !known_files.eq(&scan.sources.ignore_files) {
        return Ok(None);
    }
    // The other name that a file had until now is found only by a walk.
    if !scan.linked.iter().all(|path| snapshot.linked.contains(path)) {
        return Ok(None);
    }
    tracked.apply_to(observation);
    let ignored = compare_ignored_within(batch, request, &scan, &roots, observation)?;
    observation.all_gaps = true;
    observation.ignored_summary = with_ignored_count(&snapshot.ignored_summary, ignored);
    let rules = Some(Arc::clone(&snapshot.rules));
    Ok(Some(ScanCandidates { entries, scan, rules, old_rules: None }))
}

/// Drops paths that lie beneath another one.
fn topmost(paths: BTreeSet<ProjectPath>) -> BTreeSet<ProjectPath> {
    let is_beneath = |path: &ProjectPath| {
        path.parent().is_some_and(|folder| is_covered(folder.as_bytes(), &paths))
    };
    let beneath: Vec<_> = paths.iter().filter(|path| is_beneath(path)).cloned().collect();
    let mut paths = paths;
    for path in beneath {
        paths.remove(&path);
    }
    paths
}

/// Returns true if a path is one of these, or lies beneath one; an empty one is the root.
fn is_covered(path: &[u8], roots: &BTreeSet<ProjectPath>) -> bool {
    let path = ProjectPath::new(path).ok();
    std::iter::successors(path, ProjectPath::parent).any(|at| roots.contains(&at))
}

fn candidates_everywhere(
    batch: &Batch<'_>,
    request: &ScanRequest<'_>,
    observation: &mut Observation,
) -> Result<ScanCandidates, StoreError> {
    let workspace = request.workspace;
    let recalled = RecalledStats::load(batch)?;
    let known = &recalled.known;
    let mut scan = workspace.scan(known, &rules_outside_tree(request));
    if let Some(reason) = scan.root_error {
        // Nothing was scanned, which is not the same as "nothing is there".
        let (path, source) = (workspace.root().to_owned(), std::io::Error::other(reason));
        return Err(StoreError::Io { act: "list", path, source });
    }
    let old_rules = state::load_rules(batch)?;
    let is_new = old_rules.as_ref() != Some(&scan.sources);
    let rules = Arc::new(IgnoreRules::new(scan.sources.clone()));
    let suspect_paths: HashSet<_> = scan.suspects.iter().map(|suspect| &suspect.path).collect();
    let is_suspect = |path: &ProjectPath| suspect_paths.contains(path);
    // The walk checked every path that it did not know against the rules.
    let is_visible = |path: &ProjectPath| !known.contains(path) && is_suspect(path);
    let tracked = TrackedHidden::find(batch, request, &rules, is_new, &is_visible)?;
    let mut hidden = tracked.hidden(batch)?;
    hidden.extend(state::load_deleted_hidden(batch)?);
    let unknown: BTreeSet<_> = request.always_scanned.iter().chain(&hidden).collect();
    let unknown = unknown.into_iter().filter(|path| !known.contains(path)).cloned();
    let extra = workspace.scan_paths(known, &unknown.collect::<Vec<_>>());
    let extra_suspects = extra.suspects.into_iter().filter(|suspect| !is_suspect(&suspect.path));
    let extra_suspects: Vec<_> = extra_suspects.collect();
    scan.suspects.extend(extra_suspects);
    scan.gaps.extend(extra.gaps);
    let mut linked: BTreeSet<_> = scan.linked.drain(..).chain(extra.linked).collect();
    observation.earlier_rules = earlier_rules(batch, request, old_rules.as_ref(), &scan.sources)?;
    if let Some(earlier) = &observation.earlier_rules {
        let suspect_paths: HashSet<_> =
            scan.suspects.iter().map(|suspect| suspect.path.clone()).collect();
        let more = workspace.scan_with_rules(known, &IgnoreRules::new(earlier.clone()));
        let more_suspects =
            more.suspects.into_iter().filter(|suspect| !suspect_paths.contains(&suspect.path));
        scan.suspects.extend(more_suspects);
        linked.extend(more.linked);
    }
    compare_ignored(batch, request, &scan, old_rules.as_ref().filter(|_| is_new), observation)?;
    observation.ignored_summary = Arc::new(IgnoredSummary {
        ignored: std::mem::take(&mut scan.ignored),
        ignored_count: scan.ignored_count,
        scratch: scan.scratch,
        nested_repositories: std::mem::take(&mut scan.nested_repositories),
    });
    if request.watched {
        let tracked: Vec<_> = known.paths().chain(hidden.iter().cloned()).collect();
        let mut snapshot = build_snapshot(batch, &rules, &tracked, &observation.ignored_summary)?;
        snapshot.stat_cache.clone_from(&recalled.cache);
        snapshot.linked = linked;
        snapshot.has_earlier_rules = observation.earlier_rules.is_some();
        observation.snapshot = Some(Arc::new(snapshot));
    }
    tracked.apply_to(observation);
    (observation.is_full, observation.all_gaps) = (true, true);
    observation.new_rules = is_new.then(|| scan.sources.clone());
    observation.recalled = Some(recalled);
    observation.old_rules = old_rules.filter(|_| is_new);
    let old_rules = observation.old_rules.clone().map(IgnoreRules::new);
    let suspects =
        scan.suspects.iter().filter(|suspect| suspect.known).map(|suspect| &suspect.path);
    let mut entries = Vec::new();
    for path in suspects.chain(&scan.missing) {
        entries.extend(batch.manifest_entry(path)?);
    }
    Ok(ScanCandidates { entries, scan, rules: Some(rules), old_rules })
}

/// The additional rules that open calls are judged by: those of the scan at their begin. A command
/// that writes `*` into a new `.gitignore` hides nothing of its work.
fn earlier_rules(
    batch: &Batch<'_>,
    request: &ScanRequest<'_>,
    last: Option<&RuleSources>,
    now: &RuleSources,
) -> Result<Option<RuleSources>, StoreError> {
    if !request.has_open_calls || request.first {
        return Ok(None);
    }
    let earlier = state::load_earlier_rules(batch)?.or_else(|| last.cloned());
    Ok(earlier.filter(|earlier| earlier != now))
}

/// Collects the ignored names, and which of them appeared or disappeared.
fn compare_ignored(
    batch: &Batch<'_>,
    request: &ScanRequest<'_>,
    scan: &ScanResult,
    old_rules: Option<&RuleSources>,
    observation: &mut Observation,
) -> Result<(), StoreError> {
    if scan.ignored_count != scan.ignored.len() as u64 {
        return Ok(());
    }
    let is_dir: HashMap<_, _> = scan.ignored.iter().map(|it| (&it.path, it.is_dir)).collect();
    let names: BTreeSet<_> = scan.ignored.iter().map(|ignored| ignored.path.clone()).collect();
    if let Some(last) = state::load_ignored_names(batch)? {
        // A name that only became ignored was not created.
        let old_rules = old_rules.cloned().map(IgnoreRules::new);
        let was_hidden = |path: &ProjectPath| {
            let is_dir = is_dir.get(path).copied().unwrap_or_default();
            old_rules.as_ref().is_none_or(|rules| rules.is_ignored(path, is_dir))
        };
        let new = names.difference(&last).filter(|path| was_hidden(path));
        observation.new_ignored = new.cloned().collect();
        let is_gone = |path: &&ProjectPath| request.workspace.is_gone(path);
        observation.gone_ignored = last.difference(&names).filter(is_gone).cloned().collect();
        if last == names {
            return Ok(());
        }
    }
    observation.ignored_names = Some(names);
    Ok(())
}

/// The ignored paths of the last full scan, with the current count.
fn with_ignored_count(summary: &Arc<IgnoredSummary>, now: Option<u64>) -> Arc<IgnoredSummary> {
    match now {
        Some(count) if count != summary.ignored_count => {
            Arc::new(IgnoredSummary { ignored_count: count, ..IgnoredSummary::clone(summary) })
        }
        _ => Arc::clone(summary),
    }
}

/// Like `compare_ignored`, for a scan of some paths: those that the watcher saw move, and those
/// within. Returns the number of ignored names, if known.
fn compare_ignored_within(
    batch: &Batch<'_>,
    request: &ScanRequest<'_>,
    scan: &ScanResult,
    roots: &BTreeSet<ProjectPath>,
    observation: &mut Observation,
) -> Result<Option<u64>, StoreError> {
    let Some(last) = state::load_ignored_names(batch)? else { return Ok(None) };
    let now = scan.ignored.iter().map(|ignored| &ignored.path);
    let is_gone = |path: &ProjectPath| request.workspace.is_gone(path);
    let is_doubtful = |path: &ProjectPath| {
        request.moved_ignored.contains(path) || is_covered(path.as_bytes(), roots)
    };
    observation.gone_ignored =
        last.iter().filter(|path| is_doubtful(path) && is_gone(path)).cloned().collect();
    for path in request.moved_ignored.iter().chain(now) {
        let is_new = !last.contains(path) && !is_gone(path);
        if is_new && batch.manifest_entry(path)?.is_none() {
            observation.new_ignored.push(path.clone());
        }
    }
    observation.new_ignored.sort();
    observation.new_ignored.dedup();
    let mut names = last.clone();
    names.retain(|path| !observation.gone_ignored.contains(path));
    names.extend(observation.new_ignored.iter().cloned());
    let count = names.len() as u64;
    observation.ignored_names = (names != last).then_some(names);
    Ok(Some(count))
}

/// Builds the snapshot that a full scan leaves for narrower ones.
fn build_snapshot(
    batch: &Batch<'_>,
    rules: &Arc<IgnoreRules>,
    tracked: &[ProjectPath],
    summary: &Arc<IgnoredSummary>,
) -> Result<FullScanSnapshot, StoreError> {
    Ok(FullScanSnapshot {
        generation: batch.generation()?,
        rules: Arc::clone(rules),
        hidden: Arc::new(rules.hidden_files(tracked).into_iter().collect()),
        unwatched: BTreeSet::new(),
        linked: BTreeSet::new(),
        ignored_summary: Arc::clone(summary),
        stat_cache: None,
        has_earlier_rules: false,
    })
}

/// The rules that do not lie in the tree.
fn rules_outside_tree(request: &ScanRequest<'_>) -> RuleSources {
    let ignore = &request.settings.ignore;
    request.workspace.rule_sources(
        &ignore.profile_patterns(),
        &ignore.scratch,
        &ignore.include,
        request.global_excludes,
    )
}

/// git's state, and the paths that it tracks although rules hide them.
struct TrackedHidden {
    is_repository: bool,
    old: Option<GitState>,
    new: Option<GitState>,
    /// The hidden paths and the digest of the index's paths, if these changed.
    paths: Option<(Vec<ProjectPath>, u64)>,
    /// The index, if it was read.
    index: Option<Arc<GitIndex>>,
    gaps: Vec<Gap>,
}

impl TrackedHidden {
    /// Reads git's index when it or the rules differ from those of the last scan; in between its
    /// answer is remembered, so that such a file is found again when it comes back. A visible path
    /// is surely not hidden.
    fn find(
        batch: &Batch<'_>,
        request: &ScanRequest<'_>,
        rules: &IgnoreRules,
        new_rules: bool,
        is_visible: &dyn Fn(&ProjectPath) -> bool,
    ) -> Result<Self, StoreError> {
        let repository = ProjectRepository::find_around(request.workspace.root());
        let old = state::load_git_state(batch)?;
        let new = repository.as_ref().and_then(ProjectRepository::git_state);
        let index_of = |state: &Option<GitState>| state.as_ref().and_then(|it| it.index_id.clone());
        let is_new = request.first || new_rules || index_of(&old) != index_of(&new);
        let is_repository = repository.is_some();
        let mut tracked =
            Self { is_repository, old, new, paths: None, index: None, gaps: Vec::new() };
        match repository {
            Some(repository) if is_new => match repository.index() {
                Ok(index) => {
                    let paths = path_digest(&index);
                    // An `add` or a `status` changes the index, but hardly ever its paths.
                    if new_rules || state::load_index_digest(batch)? != Some(paths) {
                        let doubtful = index.entries.keys().filter(|path| !is_visible(path));
                        tracked.paths = Some((rules.hidden_files(doubtful), paths));
                    }
                    tracked.index = Some(Arc::new(index));
                }
                Err(reason) => tracked.gaps.extend(index_gap(reason)),
            },
            Some(_) => {
                // It could not be read then either; the gap must not close by not reading it again.
                let index = index_gap(String::new()).map(|gap| gap.path);
                let gaps = batch.gaps()?.into_iter().map(|(gap, _)| gap);
                tracked.gaps.extend(gaps.filter(|gap| Some(&gap.path) == index.as_ref()));
            }
            None => {}
        }
        Ok(tracked)
    }

    /// The hidden paths, if they changed.
    fn changed_hidden(&self) -> impl Iterator<Item = &ProjectPath> {
        self.paths.iter().flat_map(|(hidden, _)| hidden)
    }

    /// All hidden paths.
    fn hidden(&self, batch: &Batch<'_>) -> Result<Vec<ProjectPath>, StoreError> {
        match &self.paths {
            Some((hidden, _)) => Ok(hidden.clone()),
            None if self.is_repository => state::load_tracked_hidden(batch),
            None => Ok(Vec::new()),
        }
    }

    fn apply_to(self, observation: &mut Observation) {
        observation.tracked_hidden = self.paths;
        observation.index = self.index;
        (observation.old_git, observation.git) = (self.old, self.new);
        observation.gaps.extend(self.gaps);
    }
}

/// The gap of an unreadable index: files that git tracks although rules hide them may be missed.
fn index_gap(reason: String) -> Option<Gap> {
    let path = ProjectPath::new(".git/index").ok()?;
    Some(Gap { path, reason: GapReason::Unreadable, detail: reason })
}
