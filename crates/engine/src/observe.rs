//! Looks at the project and tells what is not as the manifest says.
//!
//! A look reads files and puts their content into the batch; it records nothing.
//! Invariants: a path that could not be read keeps its last known state and
//! becomes a gap; a path that only came into sight is baseline, never a change.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use retake_model::{Gap, GapReason, Millis, ProjectPath, Side};
use retake_store::{Batch, StatRow, StoreError, Stored};
use retake_workspace::git::{GitLook, Index};
use retake_workspace::{Hint, RuleSources, Rules, Stat, Suspect, Workspace};

use crate::arrival::Calls;
use crate::bulk::take;
use crate::capture::Captured;
use crate::eyes::View;
use crate::look::LeftOut;
use crate::memory;
use crate::settings::Settings;
use crate::shared_look::begun_looks;
use crate::stats::Recalled;
use crate::survey::{Survey, survey};

/// One path that is not as the manifest says.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) path: ProjectPath,
    pub(crate) before: Side,
    pub(crate) after: Side,
    /// The stat under which `after` was read.
    pub(crate) stat: Option<Stat>,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// At these very paths.
    Paths(Vec<ProjectPath>),
    /// At the whole project.
    Everything,
}

/// What a path is that rules hide, that the manifest does not have, and that is
/// looked at because a tool or the shield names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenIs {
    /// Something that was there all along.
    Baseline,
    /// New: it was looked for before, and was not there.
    New,
    /// Nobody knows what it was before.
    UnknownBefore,
}

/// What to look for.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the project")]
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) scope: Scope,
    /// Paths that are looked at whatever the rules say.
    pub(crate) named: Vec<ProjectPath>,
    pub(crate) hidden: HiddenIs,
    /// The project has no manifest yet: everything is baseline.
    pub(crate) first: bool,
    pub(crate) workspace: &'a Workspace,
    pub(crate) settings: &'a Settings,
    pub(crate) global_excludes: Option<&'a Path>,
    pub(crate) global_attributes: Option<&'a Path>,
    /// A file in Retake's own folder that may be written, for the racy stamp.
    pub(crate) stamp: PathBuf,
    /// Whether that file is on the project's device.
    pub(crate) same_device: bool,
    /// Whether a look at everything leaves a view for narrower ones.
    pub(crate) watched: bool,
    /// What the last look at everything left.
    pub(crate) view: Option<Arc<View>>,
    pub(crate) spared: Spared<'a>,
    /// Whether calls are open that began at an earlier look: they are judged by the rules of their
    /// begin.
    pub(crate) has_open_calls: bool,
    /// What rules leave out and the watcher saw move.
    pub(crate) moved_ignored: BTreeSet<ProjectPath>,
}

/// Of what no new content is taken this time.
#[derive(Debug, Default)]
pub(crate) struct Spared<'a> {
    pub(crate) paths: BTreeSet<ProjectPath>,
    /// The calls whose scratch is spared, and the time.
    pub(crate) scratch_of: Option<(&'a Calls, Millis)>,
}

impl Spared<'_> {
    fn has(&self, suspect: &Suspect) -> bool {
        let is_scratch = |(calls, at): (&Calls, _)| calls.may_be_scratch(&suspect.path, at);
        self.paths.contains(&suspect.path)
            || (!suspect.known && self.scratch_of.is_some_and(is_scratch))
    }
}

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    pub(crate) changes: Vec<Observed>,
    /// What came into sight: path, state, and the stat to trust.
    pub(crate) baseline: Vec<(ProjectPath, Stored, Option<Stat>)>,
    /// Files that were read and are as the manifest says.
    pub(crate) unchanged: Vec<(ProjectPath, Stat)>,
    pub(crate) gaps: Vec<Gap>,
    /// Whether the whole project was walked through.
    pub(crate) whole: bool,
    /// Whether every gap would have been met again, so that the others are closed.
    pub(crate) all_gaps: bool,
    /// The rules, if they are not the ones of the last look.
    pub(crate) new_rules: Option<RuleSources>,
    /// The rules of the last look, if there are others by now.
    pub(crate) old_rules: Option<RuleSources>,
    /// The rules that open calls are judged by beside those of now.
    pub(crate) earlier_rules: Option<RuleSources>,
    /// What rules leave out, if that was walked through and is not too much to be kept.
    pub(crate) ignored_names: Option<BTreeSet<ProjectPath>>,
    /// Names that rules leave out and that were not there at the last look.
    pub(crate) made_ignored: Vec<ProjectPath>,
    /// Names that rules left out at the last look and that are gone.
    pub(crate) gone_ignored: Vec<ProjectPath>,
    /// The number of this look, if it was at everything.
    pub(crate) number: Option<u64>,
    /// What git tracks although rules hide it, if that was asked, and the digest of all that it
    /// tracks.
    pub(crate) tracked_hidden: Option<(Vec<ProjectPath>, u64)>,
    /// git's index, if it was asked.
    pub(crate) index: Option<Arc<Index>>,
    pub(crate) old_git: Option<GitLook>,
    pub(crate) git: Option<GitLook>,
    /// What rules left out when everything was last looked at.
    pub(crate) left_out: Arc<LeftOut>,
    /// What this look leaves for narrower ones.
    pub(crate) view: Option<Arc<View>>,
    /// What has changed and was not taken.
    pub(crate) spared: Vec<ProjectPath>,
    /// What was known of everything, if that was asked.
    pub(crate) recalled: Option<Recalled>,
    stamp: i64,
}

impl Observation {
    /// How many paths it found something of.
    pub(crate) fn len(&self) -> usize {
        self.changes.len() + self.baseline.len() + self.unchanged.len()
    }

    /// The stat to remember for a path; none if a later edit could look just the same.
    pub(crate) fn trusted(&self, stat: &Stat) -> Option<StatRow> {
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

/// File systems other than the store's may have a coarser clock.
const OTHER_DEVICE_SLACK_NS: i64 = 2_000_000_000;

/// Looks; at everything only where the hint, if there is one, says so.
pub(crate) fn observe(
    batch: &mut Batch<'_>,
    request: &Request<'_>,
    hint: Option<&Hint>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Observation, StoreError> {
    if request.scope == Scope::Paths(Vec::new()) && request.named.is_empty() {
        return Ok(Observation::default());
    }
    // A look that failed, or found nothing to keep, has left its number there.
    let begun = begun_looks(&request.stamp).unwrap_or(0).max(memory::last_look(batch)?);
    let number = if request.scope == Scope::Everything { begun + 1 } else { begun };
    let stamp = retake_workspace::stamp(&request.stamp, number.to_string().as_bytes())?;
    let slack = if request.same_device { 0 } else { OTHER_DEVICE_SLACK_NS };
    let mut observation = Observation { stamp: stamp - slack, ..Observation::default() };
    let found = survey(batch, request, hint, &mut observation)?;
    observation.number = observation.whole.then_some(number);
    let Survey { entries, scan, rules, old_rules } = found;
    let earlier = observation.earlier_rules.clone().map(Rules::new);
    let manifest: Manifest = entries.into_iter().map(|entry| (entry.path, entry.stored)).collect();
    // Of what is known, nothing comes into sight.
    let mut suspects = scan.suspects.iter();
    let is_new = suspects.clone().any(|suspect| !manifest.contains_key(&suspect.path));
    let (mut gaps, mut tracked_hidden) = (Vec::new(), Vec::new());
    if is_new {
        tracked_hidden = memory::tracked_hidden(batch)?;
        tracked_hidden.extend(memory::taken_hidden(batch)?);
    }
    if is_new || suspects.any(|suspect| request.spared.has(suspect)) {
        gaps.extend(batch.gaps()?.into_iter().map(|(gap, _)| gap));
    }
    let comes_into_sight = Sight {
        first: request.first,
        gaps: out_of_sight(&gaps),
        watched: if scan.suspects.iter().all(|suspect| suspect.known) {
            HashSet::new()
        } else {
            tracked_hidden.into_iter().collect()
        },
        hidden: request.hidden,
        named: request.named.iter().collect(),
        now: rules.as_deref(),
        before: old_rules,
        earlier,
    };
    // A gap would close if its path was left out.
    // So would what only came into sight be new later.
    let is_spared = |suspect: &Suspect| {
        request.spared.has(suspect)
            && !gaps.iter().any(|gap| gap.path == suspect.path)
            && (suspect.known || comes_into_sight.before(&suspect.path).is_some())
    };
    let (spared, suspects): (Vec<_>, Vec<_>) = scan.suspects.into_iter().partition(is_spared);
    observation.spared = spared.into_iter().map(|suspect| suspect.path).collect();
    let index = observation.index.clone();
    for (path, captured) in take(batch, request, suspects, index.as_deref(), progress)? {
        observation.compare(path, captured, &manifest, &comes_into_sight);
    }
    for path in scan.missing {
        observation.compare(path, Captured::Gone, &manifest, &comes_into_sight);
    }
    observation.gaps.extend(scan.gaps);
    Ok(observation)
}

type Manifest = HashMap<ProjectPath, Stored>;

/// Paths at and beneath which files may have been all along, without being seen.
fn out_of_sight(gaps: &[Gap]) -> HashSet<ProjectPath> {
    use GapReason::{NameTooLong, OtherMount, Unreadable, Unstable};
    let unseen =
        |gap: &&Gap| matches!(gap.reason, Unreadable | Unstable | OtherMount | NameTooLong);
    gaps.iter().filter(unseen).map(|gap| gap.path.clone()).collect()
}

/// Tells new files from files that only came into sight.
struct Sight<'a> {
    first: bool,
    /// What could not be looked at before: it may have been there all along.
    gaps: HashSet<ProjectPath>,
    /// Hidden, but looked at each time because git tracks it, or it was deleted on record: it was
    /// not there.
    watched: HashSet<ProjectPath>,
    hidden: HiddenIs,
    named: HashSet<&'a ProjectPath>,
    now: Option<&'a Rules>,
    /// The rules of the last look, if they were others.
    before: Option<Rules>,
    /// The rules that open calls are judged by, if they were others.
    earlier: Option<Rules>,
}

impl Sight<'_> {
    /// The state before of a path that the manifest does not have; `None` is baseline.
    fn before(&self, path: &ProjectPath) -> Option<Side> {
        if self.first {
            return None;
        }
        if self.was_out_of_sight(path) {
            return self.named.contains(path).then_some(Side::Unknown);
        }
        if self.watched.contains(path) {
            return Some(Side::Absent);
        }
        let hides = |rules: &Rules| rules.is_ignored(path, false);
        let hidden_now = self.now.is_some_and(hides);
        if hidden_now && self.named.contains(path) {
            return match self.hidden {
                HiddenIs::Baseline => None,
                HiddenIs::New => Some(Side::Absent),
                HiddenIs::UnknownBefore => Some(Side::Unknown),
            };
        }
        // What the last look left out may have been there all along.
        let left_out = self.before.as_ref().map_or(hidden_now, hides);
        let was_hidden = left_out && self.earlier.as_ref().is_none_or(hides);
        (!was_hidden).then_some(Side::Absent)
    }

    fn was_out_of_sight(&self, path: &ProjectPath) -> bool {
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
        captured: Captured,
        manifest: &Manifest,
        sight: &Sight<'_>,
    ) {
        let known = manifest.get(&path).copied();
        let (stored, stat) = match captured {
            Captured::Kept { state, stat } => (Some(Stored::Known(state)), Some(stat)),
            Captured::Unknown(gap) => {
                self.gaps.push(gap);
                (Some(Stored::Unknown), None)
            }
            Captured::Unread(gap) => {
                self.gaps.push(gap);
                // It is there, so it must never look as if it came to be later.
                if known.is_none() {
                    self.baseline.push((path, Stored::Unknown, None));
                }
                return;
            }
            Captured::Gone => (None, None),
        };
        if stored == known {
            self.unchanged.extend(stat.map(|stat| (path, stat)));
            return;
        }
        let before = match known {
            Some(known) => Some(Side::from(known)),
            None => sight.before(&path),
        };
        match (before, stored) {
            (Some(before), stored) => {
                let after = stored.map_or(Side::Absent, Side::from);
                self.changes.push(Observed { path, before, after, stat });
            }
            (None, Some(stored)) => self.baseline.push((path, stored, stat)),
            (None, None) => {}
        }
    }
}
