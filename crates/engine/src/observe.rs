//! Looks at the project and tells what is not as the manifest says.
//!
//! A look reads files and puts their content into the batch; it records nothing.
//! Invariants: a path that could not be read keeps its last known state and
//! becomes a gap; a path that only came into sight is baseline, never a change.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use retake_model::{Gap, GapReason, ObjectId, ProjectPath, Side};
use retake_store::{Batch, ManifestEntry, StatRow, StoreError, Stored};
use retake_workspace::git::GitLook;
use retake_workspace::{Ignored, Known, RuleSources, Rules, Scan, Stat, StatKind, Workspace};

use crate::capture::{Captured, capture};
use crate::memory;
use crate::repository::Repository;
use crate::settings::Settings;

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
    /// A file in Retake's own folder that may be written, for the racy stamp.
    pub(crate) stamp: PathBuf,
    /// Whether that file is on the project's device.
    pub(crate) same_device: bool,
}

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    pub(crate) changes: Vec<Observed>,
    /// What came into sight: path, state, and the stat to trust.
    pub(crate) baseline: Vec<(ProjectPath, Stored, Option<Stat>)>,
    /// Files that were read and are as the manifest says.
    pub(crate) unchanged: Vec<(ProjectPath, ObjectId, Stat)>,
    pub(crate) gaps: Vec<Gap>,
    /// Whether the whole project was looked at, so that gaps that were not met are closed.
    pub(crate) whole: bool,
    /// The rules, if they are not the ones of the last look.
    pub(crate) new_rules: Option<RuleSources>,
    /// What git tracks although rules hide it, if that was asked.
    pub(crate) tracked_hidden: Option<Vec<ProjectPath>>,
    pub(crate) old_git: Option<GitLook>,
    pub(crate) git: Option<GitLook>,
    pub(crate) scratch: u64,
    pub(crate) ignored: Vec<Ignored>,
    pub(crate) ignored_count: u64,
    pub(crate) nested_repositories: Vec<ProjectPath>,
    stamp: i64,
}

impl Observation {
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

/// Looks.
pub(crate) fn observe(
    batch: &mut Batch<'_>,
    request: &Request<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Observation, StoreError> {
    let stamp = retake_workspace::stamp(&request.stamp)?;
    let slack = if request.same_device { 0 } else { OTHER_DEVICE_SLACK_NS };
    let mut observation = Observation { stamp: stamp - slack, ..Observation::default() };
    let entries = load_manifest(batch, request)?;
    let old_rules = memory::rules(batch)?;
    let scan = scan(batch, request, &entries, &mut observation)?;
    let manifest: Manifest = entries.into_iter().map(|entry| (entry.path, entry.stored)).collect();
    let rules = observation.new_rules.clone().or_else(|| old_rules.clone()).map(Rules::new);
    let comes_into_sight = Sight {
        first: request.first,
        gaps: out_of_sight(batch)?,
        watched: memory::tracked_hidden(batch)?.into_iter().collect(),
        hidden: request.hidden,
        named: request.named.iter().collect(),
        now: rules.as_ref(),
        before: observation.new_rules.is_some().then(|| old_rules.map(Rules::new)).flatten(),
    };
    let paths: Vec<_> = scan.suspects.iter().map(|suspect| suspect.path.clone()).collect();
    let total = paths.len();
    let limit = request.settings.limits.max_file_bytes;
    let captured = capture(request.workspace, batch, &paths, limit, &mut |done| {
        progress(done, total);
    })?;
    for (path, captured) in paths.into_iter().zip(captured) {
        observation.compare(path, captured, &manifest, &comes_into_sight);
    }
    for path in scan.missing {
        observation.compare(path, Captured::Gone, &manifest, &comes_into_sight);
    }
    observation.gaps.extend(scan.gaps);
    Ok(observation)
}

type Manifest = HashMap<ProjectPath, Stored>;

fn load_manifest(
    batch: &Batch<'_>,
    request: &Request<'_>,
) -> Result<Vec<ManifestEntry>, StoreError> {
    match &request.scope {
        Scope::Everything => batch.manifest(),
        Scope::Paths(paths) => {
            let wanted: HashSet<_> = paths.iter().chain(&request.named).collect();
            let mut entries = Vec::new();
            for path in wanted {
                entries.extend(batch.manifest_entry(path)?);
            }
            Ok(entries)
        }
    }
}

fn scan(
    batch: &Batch<'_>,
    request: &Request<'_>,
    manifest: &[ManifestEntry],
    observation: &mut Observation,
) -> Result<Scan, StoreError> {
    let stat = |row: StatRow| Stat {
        kind: match row.kind {
            retake_model::FileKind::File => StatKind::File,
            retake_model::FileKind::Link => StatKind::Link,
        },
        mode: row.mode,
        size: row.size,
        mtime_ns: row.mtime_ns,
        ctime_ns: row.ctime_ns,
        inode: row.inode,
    };
    let known = Known::new(manifest.iter().map(|entry| (entry.path.clone(), entry.stat.map(stat))));
    let workspace = request.workspace;
    if let Scope::Paths(paths) = &request.scope {
        let paths: Vec<_> = paths.iter().chain(&request.named).cloned().collect();
        return Ok(workspace.look_at(&known, &dedup(paths)));
    }
    observation.whole = true;
    let ignore = &request.settings.ignore;
    let base = workspace.rule_sources(
        &ignore.profile_patterns(),
        &ignore.scratch,
        &ignore.include,
        request.global_excludes,
    );
    let mut scan = workspace.scan(&known, &base);
    if let Some(why) = scan.root_error {
        // Nothing was seen, which is not the same as "nothing is there".
        let (path, source) = (workspace.root().to_owned(), std::io::Error::other(why));
        return Err(StoreError::Io { act: "list", path, source });
    }
    if memory::rules(batch)?.as_ref() != Some(&scan.sources) {
        observation.new_rules = Some(scan.sources.clone());
    }
    let hidden = hidden_paths(batch, request, observation, &known, &scan.sources)?;
    let extra = workspace.look_at(&known, &hidden);
    let met: HashSet<_> = scan.suspects.iter().map(|suspect| suspect.path.clone()).collect();
    scan.suspects.extend(extra.suspects.into_iter().filter(|suspect| !met.contains(&suspect.path)));
    scan.gaps.extend(extra.gaps);
    observation.scratch = scan.scratch;
    observation.ignored = std::mem::take(&mut scan.ignored);
    observation.ignored_count = scan.ignored_count;
    observation.nested_repositories = std::mem::take(&mut scan.nested_repositories);
    Ok(scan)
}

/// Paths that rules hide but that are tracked: named ones, and what git tracks.
///
/// git's index is asked when it or the rules are not those of the last look; in between, what it
/// said is remembered, so that such a file is seen again when it comes back.
fn hidden_paths(
    batch: &Batch<'_>,
    request: &Request<'_>,
    observation: &mut Observation,
    known: &Known,
    sources: &RuleSources,
) -> Result<Vec<ProjectPath>, StoreError> {
    let repository = Repository::around(request.workspace.root());
    observation.old_git = memory::git_look(batch)?;
    observation.git = repository.as_ref().and_then(Repository::look);
    let index_of = |look: &Option<GitLook>| look.as_ref().and_then(|look| look.index_id.clone());
    let asked_before = index_of(&observation.old_git) == index_of(&observation.git);
    let mut paths = request.named.clone();
    match repository {
        Some(repository) if request.first || observation.new_rules.is_some() || !asked_before => {
            match repository.index() {
                Ok(entries) => {
                    let rules = Rules::new(sources.clone());
                    let hidden = |path: &ProjectPath| rules.is_ignored(path, false);
                    let tracked: Vec<_> = entries.into_keys().filter(hidden).collect();
                    paths.extend(tracked.iter().cloned());
                    observation.tracked_hidden = Some(tracked);
                }
                Err(why) => observation.gaps.extend(index_gap(why)),
            }
        }
        Some(_) => {
            paths.extend(memory::tracked_hidden(batch)?);
            // It could not be read then either; the gap must not close by not asking again.
            let is_it = |gap: &Gap| index_gap(String::new()).is_some_and(|it| it.path == gap.path);
            observation.gaps.extend(batch.gaps()?.into_iter().map(|(gap, _)| gap).filter(is_it));
        }
        None => {}
    }
    paths.retain(|path| !known.contains(path));
    Ok(dedup(paths))
}

/// Files that git tracks although rules hide them may be missed.
fn index_gap(why: String) -> Option<Gap> {
    let path = ProjectPath::new(".git/index").ok()?;
    Some(Gap { path, reason: GapReason::Unreadable, detail: why })
}

fn dedup(paths: Vec<ProjectPath>) -> Vec<ProjectPath> {
    let mut paths = paths;
    paths.sort();
    paths.dedup();
    paths
}

/// Paths at and beneath which files may have been all along, without being seen.
fn out_of_sight(batch: &Batch<'_>) -> Result<HashSet<ProjectPath>, StoreError> {
    use GapReason::{NameTooLong, OtherMount, Unreadable, Unstable};
    let unseen = |gap: &Gap| matches!(gap.reason, Unreadable | Unstable | OtherMount | NameTooLong);
    let gaps = batch.gaps()?.into_iter().map(|(gap, _)| gap);
    Ok(gaps.filter(unseen).map(|gap| gap.path).collect())
}

/// Tells new files from files that only came into sight.
struct Sight<'a> {
    first: bool,
    /// What could not be looked at before: it may have been there all along.
    gaps: HashSet<ProjectPath>,
    /// Hidden, but looked at each time because git tracks it: it was not there.
    watched: HashSet<ProjectPath>,
    hidden: HiddenIs,
    named: HashSet<&'a ProjectPath>,
    now: Option<&'a Rules>,
    /// The rules of the last look, if they were others.
    before: Option<Rules>,
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
        // Hidden and not named: git has come to track it, or a command targeted it.
        let was_hidden = hidden_now || self.before.as_ref().is_some_and(hides);
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
            if let (Some(Stored::Known(state)), Some(stat)) = (stored, stat) {
                self.unchanged.push((path, state.oid, stat));
            }
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
