//! Compares the files of the project with the manifest.
//!
//! A scan reads files and puts their content into the batch; it records nothing. Invariants: a path
//! that could not be read keeps its last known state and becomes a gap; a path that only became
//! visible is baseline, never a change.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use retake_model::{Gap, GapReason, PathState, ProjectPath};
use retake_store::{Batch, ManifestState, StatRow, StoreError};
use retake_workspace::git::{GitIndex, GitState};
use retake_workspace::{ChangeHint, FileStat, IgnoreRules, RuleSources, SuspectFile};

use crate::attribution::observed::ObservedChange;
use crate::scan::bulk::capture_files;
use crate::scan::candidates::{ScanCandidates, find_candidates};
use crate::scan::capture::CaptureResult;
use crate::scan::hints::FullScanSnapshot;
use crate::scan::request::{HiddenPathState, IgnoredSummary, ScanRequest, ScanScope};
use crate::scan::shared_scan::read_scan_number;
use crate::scan::stat_cache::RecalledStats;
use crate::scan::state;

/// Result of a scan.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    pub(crate) changes: Vec<ObservedChange>,
    /// Paths that became visible: path, state, and the stat to trust.
    pub(crate) baseline: Vec<(ProjectPath, ManifestState, Option<FileStat>)>,
    /// Files that were read and match the manifest.
    pub(crate) unchanged: Vec<(ProjectPath, FileStat)>,
    pub(crate) gaps: Vec<Gap>,
    /// Set if the whole project was walked.
    pub(crate) is_full: bool,
    /// Set if every open gap would have been met again, so that the others are closed.
    pub(crate) all_gaps: bool,
    /// The rules, if they differ from those of the last scan.
    pub(crate) new_rules: Option<RuleSources>,
    /// The rules of the last scan, if they differ from the current ones.
    pub(crate) old_rules: Option<RuleSources>,
    /// The additional rules that open calls are judged by.
    pub(crate) earlier_rules: Option<RuleSources>,
    /// Ignored names, if they were walked and do not exceed the maximum to store.
    pub(crate) ignored_names: Option<BTreeSet<ProjectPath>>,
    /// Ignored names that did not exist at the last scan.
    pub(crate) new_ignored: Vec<ProjectPath>,
    /// Ignored names of the last scan that no longer exist.
    pub(crate) gone_ignored: Vec<ProjectPath>,
    /// The number of this scan, if it was a full one.
    pub(crate) scan_number: Option<u64>,
    /// Paths that git tracks although rules hide them, if the index was read, and the digest of all
    /// tracked paths.
    pub(crate) tracked_hidden: Option<(Vec<ProjectPath>, u64)>,
    /// git's index, if it was read.
    pub(crate) index: Option<Arc<GitIndex>>,
    pub(crate) old_git: Option<GitState>,
    pub(crate) git: Option<GitState>,
    /// The ignored paths at the last full scan.
    pub(crate) ignored_summary: Arc<IgnoredSummary>,
    /// The snapshot that this scan leaves for narrower ones.
    pub(crate) snapshot: Option<Arc<FullScanSnapshot>>,
    /// Changed paths that were not captured.
    pub(crate) deferred: Vec<ProjectPath>,
    /// The stats of every path, if they were loaded.
    pub(crate) recalled: Option<RecalledStats>,
    stamp: i64,
}

impl Observation {
    /// Number of paths with a finding.
    pub(crate) fn len(&self) -> usize {
        self.changes.len() + self.baseline.len() + self.unchanged.len()
    }

    /// The stat to store for a path; none if a later edit could leave the same stat.
    pub(crate) fn trusted_stat(&self, stat: &FileStat) -> Option<StatRow> {
        (stat.mtime_ns.max(stat.ctime_ns) < self.stamp).then_some(StatRow {
            kind: stat.file_kind(),
            mode: stat.mode,
            size: stat.size,
            mtime_ns: stat.mtime_ns,
            ctime_ns: stat.ctime_ns,
            inode: stat.inode,
        })
    }
}

/// Clock tolerance for file systems other than the store's, which may have a coarser clock.
const OTHER_DEVICE_SLACK_NS: i64 = 2_000_000_000;

/// Scans the project; a full scan is narrowed to the paths of the hint, if there is one.
pub(crate) fn observe(
    batch: &mut Batch<'_>,
    request: &ScanRequest<'_>,
    hint: Option<&ChangeHint>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Observation, StoreError> {
    if request.scope == ScanScope::Paths(Vec::new()) && request.always_scanned.is_empty() {
        return Ok(Observation::default());
    }
    // A scan that failed, or found nothing to record, has left its number there.
    let begun =
        read_scan_number(&request.stamp).unwrap_or(0).max(state::load_last_scan_number(batch)?);
    let number = if request.scope == ScanScope::Everything { begun + 1 } else { begun };
    let stamp = retake_workspace::racy_stamp(&request.stamp, number.to_string().as_bytes())?;
    let slack = if request.same_device { 0 } else { OTHER_DEVICE_SLACK_NS };
    let mut observation = Observation { stamp: stamp - slack, ..Observation::default() };
    let found = find_candidates(batch, request, hint, &mut observation)?;
    observation.scan_number = observation.is_full.then_some(number);
    let ScanCandidates { entries, scan, rules, old_rules } = found;
    let earlier = observation.earlier_rules.clone().map(IgnoreRules::new);
    let manifest: ManifestMap =
        entries.into_iter().map(|entry| (entry.path, entry.state)).collect();
    // A path in the manifest cannot become visible.
    let mut suspects = scan.suspects.iter();
    let is_new = suspects.clone().any(|suspect| !manifest.contains_key(&suspect.path));
    let (mut gaps, mut tracked_hidden) = (Vec::new(), Vec::new());
    if is_new {
        tracked_hidden = state::load_tracked_hidden(batch)?;
        tracked_hidden.extend(state::load_deleted_hidden(batch)?);
    }
    if is_new || suspects.any(|suspect| request.deferred.contains(suspect)) {
        gaps.extend(batch.gaps()?.into_iter().map(|(gap, _)| gap));
    }
    let visibility = Visibility {
        first: request.first,
        gaps: unreadable_paths(&gaps),
        watched: if scan.suspects.iter().all(|suspect| suspect.known) {
            HashSet::new()
        } else {
            tracked_hidden.into_iter().collect()
        },
        hidden: request.hidden,
        named: request.always_scanned.iter().collect(),
        now: rules.as_deref(),
        before: old_rules,
        earlier,
    };
    // A gap would close if its path was left out, and a path that only became visible would count
    // as new later.
    let is_deferred = |suspect: &SuspectFile| {
        request.deferred.contains(suspect)
            && !gaps.iter().any(|gap| gap.path == suspect.path)
            && (suspect.known || visibility.state_before(&suspect.path).is_some())
    };
    let (deferred, suspects): (Vec<_>, Vec<_>) = scan.suspects.into_iter().partition(is_deferred);
    observation.deferred = deferred.into_iter().map(|suspect| suspect.path).collect();
    let index = observation.index.clone();
    for (path, captured) in capture_files(batch, request, suspects, index.as_deref(), progress)? {
        observation.compare(path, captured, &manifest, &visibility);
    }
    for path in scan.missing {
        observation.compare(path, CaptureResult::Gone, &manifest, &visibility);
    }
    observation.gaps.extend(scan.gaps);
    Ok(observation)
}

type ManifestMap = HashMap<ProjectPath, ManifestState>;

/// Paths at and beneath which files may have existed unseen.
fn unreadable_paths(gaps: &[Gap]) -> HashSet<ProjectPath> {
    use GapReason::{NameTooLong, OtherMount, Unreadable, Unstable};
    let unseen =
        |gap: &&Gap| matches!(gap.reason, Unreadable | Unstable | OtherMount | NameTooLong);
    gaps.iter().filter(unseen).map(|gap| gap.path.clone()).collect()
}

/// Tells new files from files that only became visible.
struct Visibility<'a> {
    first: bool,
    /// Paths that could not be scanned before: files may have existed there.
    gaps: HashSet<ProjectPath>,
    /// Hidden, but scanned each time because git tracks it, or its deletion is on record: it did
    /// not exist.
    watched: HashSet<ProjectPath>,
    hidden: HiddenPathState,
    named: HashSet<&'a ProjectPath>,
    now: Option<&'a IgnoreRules>,
    /// The rules of the last scan, if they differed.
    before: Option<IgnoreRules>,
    /// The rules that open calls are judged by, if they differed.
    earlier: Option<IgnoreRules>,
}

impl Visibility<'_> {
    /// The state before of a path that the manifest does not have; `None` is baseline.
    fn state_before(&self, path: &ProjectPath) -> Option<PathState> {
        if self.first {
            return None;
        }
        if self.was_unreadable(path) {
            return self.named.contains(path).then_some(PathState::Unknown);
        }
        if self.watched.contains(path) {
            return Some(PathState::Absent);
        }
        let hides = |rules: &IgnoreRules| rules.is_ignored(path, false);
        let hidden_now = self.now.is_some_and(hides);
        if hidden_now && self.named.contains(path) {
            return match self.hidden {
                HiddenPathState::Baseline => None,
                HiddenPathState::New => Some(PathState::Absent),
                HiddenPathState::UnknownBefore => Some(PathState::Unknown),
            };
        }
        // A path that the last scan left out may have existed then.
        let left_out = self.before.as_ref().map_or(hidden_now, hides);
        let was_hidden = left_out && self.earlier.as_ref().is_none_or(hides);
        (!was_hidden).then_some(PathState::Absent)
    }

    fn was_unreadable(&self, path: &ProjectPath) -> bool {
        let mut at = Some(path.clone());
        while let Some(place) = at {
            if self.gaps.contains(&place) {
                return true;
            }
            at = place.parent();
        }
        false
    }
}

impl Observation {
    fn compare(
        &mut self,
        path: ProjectPath,
        captured: CaptureResult,
        manifest: &ManifestMap,
        visibility: &Visibility<'_>,
    ) {
        let known = manifest.get(&path).copied();
        let (stored, stat) = match captured {
            CaptureResult::Stored { state, stat } => {
                (Some(ManifestState::Known(state)), Some(stat))
            }
            CaptureResult::Unstorable(gap) => {
                self.gaps.push(gap);
                (Some(ManifestState::Unknown), None)
            }
            CaptureResult::Unread(gap) => {
                self.gaps.push(gap);
                // It exists, so it must never appear as new later.
                if known.is_none() {
                    self.baseline.push((path, ManifestState::Unknown, None));
                }
                return;
            }
            CaptureResult::Gone => (None, None),
        };
        if stored == known {
            self.unchanged.extend(stat.map(|stat| (path, stat)));
            return;
        }
        let before = match known {
            Some(known) => Some(PathState::from(known)),
            None => visibility.state_before(&path),
        };
        match (before, stored) {
            (Some(before), stored) => {
                let after = stored.map_or(PathState::Absent, PathState::from);
                self.changes.push(ObservedChange { path, before, after, stat });
            }
            (None, Some(stored)) => self.baseline.push((path, stored, stat)),
            (None, None) => {}
        }
    }
}
