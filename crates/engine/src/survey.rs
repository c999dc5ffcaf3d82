//! Finds the candidate paths of a scan: given paths, those of a hint, or all.
//!
//! Invariant: within the paths of a hint a narrow scan finds exactly what a full scan would have
//! found there. Where that cannot be guaranteed (the rules may have changed, the hint is unusable)
//! the scan is a full one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use retake_model::{Gap, GapReason, ProjectPath};
use retake_store::{Batch, ManifestEntry, StoreError};
use retake_workspace::git::{GitLook, Index};
use retake_workspace::{Hint, RuleSources, Rules, Scan};

use crate::eyes::View;
use crate::look::LeftOut;
use crate::memory;
use crate::observe::{Observation, Request, Scope};
use crate::repository::{Repository, path_digest};
use crate::stats::{Kept, Recalled, WORTH_READING, known};
use crate::write::is_lasting;

/// Maximum files with several names that are checked one by one; beyond this a walk is as cheap.
const MOST_LINKED: usize = 1_000;

/// Candidate paths, and their manifest entries.
pub(crate) struct Survey {
    /// Entries of candidate paths; there may be more.
    pub(crate) entries: Vec<ManifestEntry>,
    pub(crate) scan: Scan,
    /// The rules in force.
    pub(crate) rules: Option<Arc<Rules>>,
    /// The rules of the last scan, if they differed.
    pub(crate) old_rules: Option<Rules>,
}

/// Finds the paths that may have changed.
pub(crate) fn survey(
    batch: &Batch<'_>,
    request: &Request<'_>,
    hint: Option<&Hint>,
    observation: &mut Observation,
) -> Result<Survey, StoreError> {
    match (&request.scope, hint, &request.view) {
        (Scope::Paths(paths), ..) => at_paths(batch, request, paths),
        (Scope::Everything, Some(Hint::Paths(hinted)), Some(view)) if !request.first => {
            match within(batch, request, (hinted, view), observation)? {
                Some(survey) => Ok(survey),
                None => everywhere(batch, request, observation),
            }
        }
        (Scope::Everything, ..) => everywhere(batch, request, observation),
    }
}

/// Scans exactly these paths, even if rules hide them.
fn at_paths(
    batch: &Batch<'_>,
    request: &Request<'_>,
    paths: &[ProjectPath],
) -> Result<Survey, StoreError> {
    let paths: BTreeSet<_> = paths.iter().chain(&request.named).cloned().collect();
    let mut entries = Vec::new();
    for path in &paths {
        entries.extend(batch.manifest_entry(path)?);
    }
    let paths: Vec<_> = paths.into_iter().collect();
    let stats = request.view.as_ref().and_then(|view| view.stats.as_ref());
    let mut scan = request.workspace.look_at(&known(batch, &entries, stats)?, &paths);
    let known_before = scan.suspects.iter().filter(|suspect| suspect.known);
    let to_be_read: u64 = known_before.map(|suspect| suspect.stat.size).sum();
    if stats.is_none() && to_be_read > WORTH_READING {
        let stats = Kept::read(batch)?;
        scan = request.workspace.look_at(&known(batch, &entries, stats.as_ref())?, &paths);
    }
    let rules = match &request.view {
        Some(view) => Some(Arc::clone(&view.rules)),
        // Only a new file is checked against the rules.
        None if scan.suspects.iter().all(|suspect| suspect.known) => None,
        None => memory::rules(batch)?.map(Rules::new).map(Arc::new),
    };
    Ok(Survey { entries, scan, rules, old_rules: None })
}

/// Scans the paths of the hint, open gaps, tracked paths that are not watched yet, and files with
/// several names; `None` if that is not enough.
fn within(
    batch: &Batch<'_>,
    request: &Request<'_>,
    (hinted, view): (&BTreeSet<ProjectPath>, &View),
    observation: &mut Observation,
) -> Result<Option<Survey>, StoreError> {
    let sources = view.rules.sources();
    // Only a full walk applies two sets of rules.
    if request.has_open_calls && view.has_earlier_rules {
        return Ok(None);
    }
    let is_too_much = view.linked.len() > MOST_LINKED;
    if is_too_much || !sources.same_but_for_files(&rules_outside(request)) {
        return Ok(None);
    }
    let gaps = batch.gaps()?.into_iter().map(|(gap, _)| gap);
    let gaps = gaps.filter(|gap| !is_lasting(gap.reason)).map(|gap| gap.path);
    let places: BTreeSet<_> = hinted.iter().cloned().chain(gaps).collect();
    if places.iter().any(|path| path.file_name() == b".gitignore") {
        return Ok(None);
    }
    let places = topmost(places);
    let tracked = Tracked::find(batch, request, &view.rules, false, &|_| false)?;
    let taken = memory::taken_hidden(batch)?;
    let beneath = places.iter().flat_map(|place| place.those_beneath(&view.hidden));
    let hinted = places.iter().filter(|place| view.hidden.contains(place)).chain(beneath);
    let asked_for = request.named.iter().chain(tracked.told()).chain(&taken);
    let unseen = view.unwatched.iter().chain(&view.linked);
    let singles: BTreeSet<_> = asked_for.chain(unseen).chain(hinted).collect();
    let mut entries = Vec::new();
    for place in &places {
        entries.extend(batch.manifest_beneath(place)?);
    }
    for path in singles.iter().filter(|path| !is_covered(path.as_bytes(), &places)) {
        entries.extend(batch.manifest_entry(path)?);
    }
    let known = known(batch, &entries, view.stats.as_ref())?;
    let mut singles: Vec<_> = singles.into_iter().cloned().collect();
    if singles.iter().any(|path| !known.contains(path)) {
        // A path that is neither tracked now nor requested is hidden.
        let hidden: BTreeSet<_> = tracked.hidden(batch)?.into_iter().chain(taken).collect();
        let is_wanted = |path: &ProjectPath| hidden.contains(path) || request.named.contains(path);
        singles.retain(|path| known.contains(path) || is_wanted(path));
    }
    let scan = request.workspace.scan_within(&known, &view.rules, &places, &singles);
    let remembered = sources.ignore_files.iter();
    let remembered = remembered.filter(|(folder, _)| is_covered(folder, &places));
    if !remembered.eq(&scan.sources.ignore_files) {
        return Ok(None);
    }
    // The other name that a file had until now is found only by a walk.
    if !scan.linked.iter().all(|path| view.linked.contains(path)) {
        return Ok(None);
    }
    tracked.note(observation);
    let ignored = compare_ignored_within(batch, request, &scan, &places, observation)?;
    observation.all_gaps = true;
    observation.left_out = counted(&view.left_out, ignored);
    let rules = Some(Arc::clone(&view.rules));
    Ok(Some(Survey { entries, scan, rules, old_rules: None }))
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
fn is_covered(path: &[u8], places: &BTreeSet<ProjectPath>) -> bool {
    let path = ProjectPath::new(path).ok();
    std::iter::successors(path, ProjectPath::parent).any(|at| places.contains(&at))
}

fn everywhere(
    batch: &Batch<'_>,
    request: &Request<'_>,
    observation: &mut Observation,
) -> Result<Survey, StoreError> {
    let workspace = request.workspace;
    let recalled = Recalled::all(batch)?;
    let known = &recalled.known;
    let mut scan = workspace.scan(known, &rules_outside(request));
    if let Some(why) = scan.root_error {
        // Nothing was scanned, which is not the same as "nothing is there".
        let (path, source) = (workspace.root().to_owned(), std::io::Error::other(why));
        return Err(StoreError::Io { act: "list", path, source });
    }
    let old_rules = memory::rules(batch)?;
    let is_new = old_rules.as_ref() != Some(&scan.sources);
    let rules = Arc::new(Rules::new(scan.sources.clone()));
    let met: HashSet<_> = scan.suspects.iter().map(|suspect| &suspect.path).collect();
    let is_met = |path: &ProjectPath| met.contains(path);
    // The walk checked every path that it did not know against the rules.
    let is_in_sight = |path: &ProjectPath| !known.contains(path) && is_met(path);
    let tracked = Tracked::find(batch, request, &rules, is_new, &is_in_sight)?;
    let mut hidden = tracked.hidden(batch)?;
    hidden.extend(memory::taken_hidden(batch)?);
    let unknown: BTreeSet<_> = request.named.iter().chain(&hidden).collect();
    let unknown = unknown.into_iter().filter(|path| !known.contains(path)).cloned();
    let extra = workspace.look_at(known, &unknown.collect::<Vec<_>>());
    let extra_suspects = extra.suspects.into_iter().filter(|suspect| !is_met(&suspect.path));
    let extra_suspects: Vec<_> = extra_suspects.collect();
    scan.suspects.extend(extra_suspects);
    scan.gaps.extend(extra.gaps);
    let mut linked: BTreeSet<_> = scan.linked.drain(..).chain(extra.linked).collect();
    observation.earlier_rules = earlier_rules(batch, request, old_rules.as_ref(), &scan.sources)?;
    if let Some(earlier) = &observation.earlier_rules {
        let met: HashSet<_> = scan.suspects.iter().map(|suspect| suspect.path.clone()).collect();
        let more = workspace.scan_by(known, &Rules::new(earlier.clone()));
        let unmet = more.suspects.into_iter().filter(|suspect| !met.contains(&suspect.path));
        scan.suspects.extend(unmet);
        linked.extend(more.linked);
    }
    compare_ignored(batch, request, &scan, old_rules.as_ref().filter(|_| is_new), observation)?;
    observation.left_out = Arc::new(LeftOut {
        ignored: std::mem::take(&mut scan.ignored),
        ignored_count: scan.ignored_count,
        scratch: scan.scratch,
        nested_repositories: std::mem::take(&mut scan.nested_repositories),
    });
    if request.watched {
        let tracked: Vec<_> = known.paths().chain(hidden.iter().cloned()).collect();
        let mut view = view(batch, &rules, &tracked, &observation.left_out)?;
        view.stats.clone_from(&recalled.kept);
        view.linked = linked;
        view.has_earlier_rules = observation.earlier_rules.is_some();
        observation.view = Some(Arc::new(view));
    }
    tracked.note(observation);
    (observation.whole, observation.all_gaps) = (true, true);
    observation.new_rules = is_new.then(|| scan.sources.clone());
    observation.recalled = Some(recalled);
    observation.old_rules = old_rules.filter(|_| is_new);
    let old_rules = observation.old_rules.clone().map(Rules::new);
    let suspects =
        scan.suspects.iter().filter(|suspect| suspect.known).map(|suspect| &suspect.path);
    let mut entries = Vec::new();
    for path in suspects.chain(&scan.missing) {
        entries.extend(batch.manifest_entry(path)?);
    }
    Ok(Survey { entries, scan, rules: Some(rules), old_rules })
}

/// The additional rules that open calls are judged by: those of the scan at their begin. A command
/// that writes `*` into a new `.gitignore` hides nothing of its work.
fn earlier_rules(
    batch: &Batch<'_>,
    request: &Request<'_>,
    last: Option<&RuleSources>,
    now: &RuleSources,
) -> Result<Option<RuleSources>, StoreError> {
    if !request.has_open_calls || request.first {
        return Ok(None);
    }
    let earlier = memory::earlier_rules(batch)?.or_else(|| last.cloned());
    Ok(earlier.filter(|earlier| earlier != now))
}

/// Collects the ignored names, and which of them appeared or disappeared.
fn compare_ignored(
    batch: &Batch<'_>,
    request: &Request<'_>,
    scan: &Scan,
    old_rules: Option<&RuleSources>,
    observation: &mut Observation,
) -> Result<(), StoreError> {
    if scan.ignored_count != scan.ignored.len() as u64 {
        return Ok(());
    }
    let is_dir: HashMap<_, _> = scan.ignored.iter().map(|it| (&it.path, it.is_dir)).collect();
    let names: BTreeSet<_> = scan.ignored.iter().map(|ignored| ignored.path.clone()).collect();
    if let Some(last) = memory::ignored_names(batch)? {
        // A name that only became ignored was not created.
        let old_rules = old_rules.cloned().map(Rules::new);
        let was_hidden = |path: &ProjectPath| {
            let is_dir = is_dir.get(path).copied().unwrap_or_default();
            old_rules.as_ref().is_none_or(|rules| rules.is_ignored(path, is_dir))
        };
        let new = names.difference(&last).filter(|path| was_hidden(path));
        observation.made_ignored = new.cloned().collect();
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
fn counted(left_out: &Arc<LeftOut>, now: Option<u64>) -> Arc<LeftOut> {
    match now {
        Some(count) if count != left_out.ignored_count => {
            Arc::new(LeftOut { ignored_count: count, ..LeftOut::clone(left_out) })
        }
        _ => Arc::clone(left_out),
    }
}

/// Like `compare_ignored`, for a scan of some paths: those that the watcher saw move, and those
/// within. Returns the number of ignored names, if known.
fn compare_ignored_within(
    batch: &Batch<'_>,
    request: &Request<'_>,
    scan: &Scan,
    places: &BTreeSet<ProjectPath>,
    observation: &mut Observation,
) -> Result<Option<u64>, StoreError> {
    let Some(last) = memory::ignored_names(batch)? else { return Ok(None) };
    let here = scan.ignored.iter().map(|ignored| &ignored.path);
    let is_gone = |path: &ProjectPath| request.workspace.is_gone(path);
    let is_doubtful = |path: &ProjectPath| {
        request.moved_ignored.contains(path) || is_covered(path.as_bytes(), places)
    };
    observation.gone_ignored =
        last.iter().filter(|path| is_doubtful(path) && is_gone(path)).cloned().collect();
    for path in request.moved_ignored.iter().chain(here) {
        let is_new = !last.contains(path) && !is_gone(path);
        if is_new && batch.manifest_entry(path)?.is_none() {
            observation.made_ignored.push(path.clone());
        }
    }
    observation.made_ignored.sort();
    observation.made_ignored.dedup();
    let mut names = last.clone();
    names.retain(|path| !observation.gone_ignored.contains(path));
    names.extend(observation.made_ignored.iter().cloned());
    let count = names.len() as u64;
    observation.ignored_names = (names != last).then_some(names);
    Ok(Some(count))
}

/// Builds the `View` that a full scan leaves for narrower ones.
fn view(
    batch: &Batch<'_>,
    rules: &Arc<Rules>,
    tracked: &[ProjectPath],
    left_out: &Arc<LeftOut>,
) -> Result<View, StoreError> {
    Ok(View {
        generation: batch.generation()?,
        rules: Arc::clone(rules),
        hidden: Arc::new(rules.hidden(tracked).into_iter().collect()),
        unwatched: BTreeSet::new(),
        linked: BTreeSet::new(),
        left_out: Arc::clone(left_out),
        stats: None,
        has_earlier_rules: false,
    })
}

/// The rules that do not lie in the tree.
fn rules_outside(request: &Request<'_>) -> RuleSources {
    let ignore = &request.settings.ignore;
    request.workspace.rule_sources(
        &ignore.profile_patterns(),
        &ignore.scratch,
        &ignore.include,
        request.global_excludes,
    )
}

/// git's state, and the paths that it tracks although rules hide them.
struct Tracked {
    is_repository: bool,
    old: Option<GitLook>,
    new: Option<GitLook>,
    /// The hidden paths and the digest of the index's paths, if these changed.
    paths: Option<(Vec<ProjectPath>, u64)>,
    /// The index, if it was read.
    index: Option<Arc<Index>>,
    gaps: Vec<Gap>,
}

impl Tracked {
    /// Reads git's index when it or the rules differ from those of the last scan; in between its
    /// answer is remembered, so that such a file is found again when it comes back. A visible path
    /// is surely not hidden.
    fn find(
        batch: &Batch<'_>,
        request: &Request<'_>,
        rules: &Rules,
        new_rules: bool,
        is_in_sight: &dyn Fn(&ProjectPath) -> bool,
    ) -> Result<Self, StoreError> {
        let repository = Repository::around(request.workspace.root());
        let old = memory::git_look(batch)?;
        let new = repository.as_ref().and_then(Repository::look);
        let index_of = |look: &Option<GitLook>| look.as_ref().and_then(|it| it.index_id.clone());
        let is_new = request.first || new_rules || index_of(&old) != index_of(&new);
        let is_repository = repository.is_some();
        let mut tracked =
            Self { is_repository, old, new, paths: None, index: None, gaps: Vec::new() };
        match repository {
            Some(repository) if is_new => match repository.index() {
                Ok(index) => {
                    let paths = path_digest(&index);
                    // An `add` or a `status` changes the index, but hardly ever its paths.
                    if new_rules || memory::index_paths(batch)? != Some(paths) {
                        let doubtful = index.entries.keys().filter(|path| !is_in_sight(path));
                        tracked.paths = Some((rules.hidden(doubtful), paths));
                    }
                    tracked.index = Some(Arc::new(index));
                }
                Err(why) => tracked.gaps.extend(index_gap(why)),
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
    fn told(&self) -> impl Iterator<Item = &ProjectPath> {
        self.paths.iter().flat_map(|(hidden, _)| hidden)
    }

    /// All hidden paths.
    fn hidden(&self, batch: &Batch<'_>) -> Result<Vec<ProjectPath>, StoreError> {
        match &self.paths {
            Some((hidden, _)) => Ok(hidden.clone()),
            None if self.is_repository => memory::tracked_hidden(batch),
            None => Ok(Vec::new()),
        }
    }

    fn note(self, observation: &mut Observation) {
        observation.tracked_hidden = self.paths;
        observation.index = self.index;
        (observation.old_git, observation.git) = (self.old, self.new);
        observation.gaps.extend(self.gaps);
    }
}

/// The gap of an unreadable index: files that git tracks although rules hide them may be missed.
fn index_gap(why: String) -> Option<Gap> {
    let path = ProjectPath::new(".git/index").ok()?;
    Some(Gap { path, reason: GapReason::Unreadable, detail: why })
}
