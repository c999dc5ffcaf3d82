//! Captures the targets of a command that may destroy, before it runs, ignored files included.
//!
//! Files that rules do not hide are captured by the scan that every command begins with. The shield
//! adds the hidden ones: a `.env`, local databases, notes. It errs on the large side: unless the
//! command has an understood shape, its targets are searched in every folder, and where they cannot
//! be determined everything hidden is at risk. Only what can be regenerated is left out. That, and
//! what exceeds the budget, becomes a gap.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use retake_model::{Gap, GapReason, ProjectPath};
use retake_store::Batch;
use retake_workspace::{FileStat, IgnoreRules, ListingFilter, Workspace};

use crate::calls::open_call::LiveCall;
use crate::calls::targets::PathScope;
use crate::resolve_path::link_target;
use crate::settings::ShieldSettings;
use crate::shell::{CommandTarget, DangerMatcher};

/// Maximum files left out that are named one by one.
const MAX_NAMED_GAPS: usize = 100;

/// Maximum targets that are matched; with more, everything hidden is at risk.
const MAX_TARGETS: usize = 64;

/// Path of a gap that stands for the whole project.
pub(crate) const WHOLE_PROJECT: &str = "*";

/// The files that the shield captures, and gaps for those it could not.
#[derive(Debug, Default)]
pub(crate) struct ShieldSelection {
    pub(crate) paths: Vec<ProjectPath>,
    pub(crate) gaps: Vec<Gap>,
}

/// Selects the hidden files that a call is about to destroy.
pub(crate) fn select_shielded(
    batch: &Batch<'_>,
    workspace: &Workspace,
    rules: &IgnoreRules,
    call: &LiveCall,
    settings: &ShieldSettings,
) -> ShieldSelection {
    let threat = CallThreat::before_call(workspace, call);
    let mut endangered = EndangeredFilter { batch, threat: &threat, considered: HashSet::new() };
    let (mut found, mut gaps, mut truncated) = (Vec::new(), Vec::new(), false);
    for place in threat.search_roots(call) {
        let limit = settings.max_files + MAX_NAMED_GAPS;
        let listing = workspace.list_hidden(place.as_ref(), rules, limit, &mut endangered);
        truncated |= listing.truncated;
        gaps.extend(listing.gaps);
        found.extend(listing.files);
    }
    // Notes, keys and settings are small; what takes the budget can often be regenerated.
    found.sort_by_key(|(path, stat)| (stat.size, path.clone()));
    let (paths, left_out) = within_budget(found, settings);
    let more =
        if truncated || left_out.len() > MAX_NAMED_GAPS { ", and more than this one" } else { "" };
    let command = call.describe();
    let detail = format!("ignored, and over the shield's budget before `{command}` ran{more}");
    let gap = |path| Gap { path, reason: GapReason::NotShielded, detail: detail.clone() };
    gaps.extend(left_out.into_iter().take(MAX_NAMED_GAPS).map(gap));
    ShieldSelection { paths, gaps }
}

fn within_budget(
    found: Vec<(ProjectPath, FileStat)>,
    settings: &ShieldSettings,
) -> (Vec<ProjectPath>, Vec<ProjectPath>) {
    let (mut paths, mut left_out, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (path, stat) in found {
        let fits = settings.enabled
            && paths.len() < settings.max_files
            && bytes + stat.size <= settings.max_bytes;
        if fits {
            bytes += stat.size;
            paths.push(path);
        } else {
            left_out.push(path);
        }
    }
    (paths, left_out)
}

/// The part of the project that a call may destroy.
struct CallThreat {
    /// The paths of its targets and names, as far as they can be resolved.
    reaches: Vec<PathScope>,
    /// Its targets, in any folder.
    dangers: Vec<DangerMatcher>,
    /// Set if the targets cannot be determined.
    everything: bool,
}

impl CallThreat {
    /// The state before the call: a pattern that leads through a symlink may match anything.
    fn before_call(workspace: &Workspace, call: &LiveCall) -> Self {
        let root = workspace.root();
        let mut threat = Self::from_text(root, call);
        let mut targets = call.destroyed_targets().iter().chain(call.editable_targets());
        threat.everything =
            threat.everything || targets.any(|target| call.goes_through_link(root, target));
        threat
    }

    /// From the command's text only, independent of the current files.
    fn from_text(root: &Path, call: &LiveCall) -> Self {
        let mut reaches = Vec::new();
        let is_plain = |target: &&CommandTarget| !target.glob;
        let targets =
            call.destroyed_targets().iter().filter(is_plain).chain(call.editable_targets());
        for reach in targets.filter_map(|target| call.resolve_target(root, target)) {
            let through = reach.path.as_ref().and_then(|path| link_target(root, path));
            reaches.extend(through.map(|path| PathScope { path: Some(path), ..reach.clone() }));
            reaches.push(reach);
        }
        let by_name = |path: &ProjectPath| PathScope { path: Some(path.clone()), beneath: true };
        reaches.extend(call.removed_paths().iter().map(by_name));
        let dangers = if call.is_understood() {
            Vec::new()
        } else {
            call.destroyed_targets().iter().map(|target| DangerMatcher::of(target, root)).collect()
        };
        // Matching every file against very many targets takes longer than capturing it.
        let everything = call.destroys_unknown() || dangers.len() > MAX_TARGETS;
        Self { reaches, dangers, everything }
    }

    /// The folders in which to search for hidden files; `None` is the whole project.
    fn search_roots(&self, call: &LiveCall) -> Vec<Option<ProjectPath>> {
        let is_anywhere = self.everything || !self.dangers.is_empty();
        if is_anywhere {
            return vec![None];
        }
        let mut places: Vec<_> = self.reaches.iter().map(|reach| reach.path.clone()).collect();
        // Deleting a folder deletes what is in it.
        places.extend(call.removed_paths().iter().cloned().map(Some));
        places.sort();
        places.dedup();
        places
    }

    fn includes(&self, path: &ProjectPath) -> bool {
        self.everything || self.reaches.iter().any(|reach| reach.covers(path)) || {
            let text = path.to_string().to_lowercase();
            self.dangers.iter().any(|danger| danger.threatens(&text))
        }
    }
}

/// Those of these paths that the shield neither captured nor named before the calls ran.
pub(crate) fn unshielded_paths<'p>(
    workspace: &Workspace,
    calls: &[&LiveCall],
    paths: impl Iterator<Item = &'p ProjectPath>,
) -> Vec<&'p ProjectPath> {
    let destroying = calls.iter().filter(|call| call.may_destroy());
    // The files after the calls say nothing about the symlinks that existed before them.
    let threats: Vec<_> =
        destroying.map(|call| CallThreat::from_text(workspace.root(), call)).collect();
    paths.filter(|path| !threats.iter().any(|threat| threat.includes(path))).collect()
}

/// Selects hidden files that a call destroys and that are not on record.
struct EndangeredFilter<'a, 'b> {
    batch: &'a Batch<'b>,
    threat: &'a CallThreat,
    considered: HashSet<ProjectPath>,
}

impl ListingFilter for EndangeredFilter<'_, '_> {
    fn lists_file(&mut self, path: &ProjectPath) -> bool {
        let is_on_record = || self.batch.manifest_entry(path).is_ok_and(|entry| entry.is_some());
        self.threat.includes(path) && !is_on_record() && self.considered.insert(path.clone())
    }

    fn reports_folder(&mut self, path: &ProjectPath) -> bool {
        let name = String::from_utf8_lossy(path.file_name()).to_lowercase();
        self.threat.includes(path) || self.threat.dangers.iter().any(|danger| danger.passes(&name))
    }
}

/// Gaps for what a destructive call would have needed, if its begin came too late for the shield.
pub(crate) fn missed_shield_gaps(workspace: &Workspace, call: &LiveCall) -> Vec<Gap> {
    let detail = "this command began before it could be shielded; ignored files were not captured";
    let threat = CallThreat::before_call(workspace, call);
    // By name, as far as its text tells, and in any folder it may have run in.
    let named = threat.reaches.iter().map(|reach| reach.path.clone());
    let places: BTreeSet<_> = named.chain(threat.search_roots(call)).collect();
    places
        .into_iter()
        .filter_map(|path| path.or_else(|| ProjectPath::new(WHOLE_PROJECT).ok()))
        .map(|path| Gap { path, reason: GapReason::NotShielded, detail: detail.to_owned() })
        .collect()
}
