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
use retake_workspace::{Choose, Rules, Stat, Workspace};

use crate::live::{LiveCall, Reach};
use crate::place::link_target;
use crate::settings::Shield;
use crate::shell::{Danger, Target};

/// Maximum files left out that are named one by one.
const NAMED_GAPS: usize = 100;

/// Maximum targets that are matched; with more, everything hidden is at risk.
const MOST_DANGERS: usize = 64;

/// Path of a gap that stands for the whole project.
pub(crate) const ANYWHERE: &str = "*";

/// The files that the shield captures, and gaps for those it could not.
#[derive(Debug, Default)]
pub(crate) struct Shielded {
    pub(crate) paths: Vec<ProjectPath>,
    pub(crate) gaps: Vec<Gap>,
}

/// Selects the hidden files that a call is about to destroy.
pub(crate) fn shield(
    batch: &Batch<'_>,
    workspace: &Workspace,
    rules: &Rules,
    call: &LiveCall,
    settings: &Shield,
) -> Shielded {
    let threat = Threat::of(workspace, call);
    let mut endangered = Endangered { batch, threat: &threat, considered: HashSet::new() };
    let (mut found, mut gaps, mut truncated) = (Vec::new(), Vec::new(), false);
    for place in threat.places(call) {
        let limit = settings.max_files + NAMED_GAPS;
        let listing = workspace.list_hidden(place.as_ref(), rules, limit, &mut endangered);
        truncated |= listing.truncated;
        gaps.extend(listing.gaps);
        found.extend(listing.files);
    }
    // Notes, keys and settings are small; what takes the budget can often be regenerated.
    found.sort_by_key(|(path, stat)| (stat.size, path.clone()));
    let (paths, left_out) = within_budget(found, settings);
    let more =
        if truncated || left_out.len() > NAMED_GAPS { ", and more than this one" } else { "" };
    let command = call.described();
    let detail = format!("ignored, and over the shield's budget before `{command}` ran{more}");
    let gap = |path| Gap { path, reason: GapReason::NotShielded, detail: detail.clone() };
    gaps.extend(left_out.into_iter().take(NAMED_GAPS).map(gap));
    Shielded { paths, gaps }
}

fn within_budget(
    found: Vec<(ProjectPath, Stat)>,
    settings: &Shield,
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
struct Threat {
    /// The paths of its targets and names, as far as they can be resolved.
    reaches: Vec<Reach>,
    /// Its targets, in any folder.
    dangers: Vec<Danger>,
    /// Set if the targets cannot be determined.
    everything: bool,
}

impl Threat {
    /// The state before the call: a pattern that leads through a symlink may match anything.
    fn of(workspace: &Workspace, call: &LiveCall) -> Self {
        let root = workspace.root();
        let mut threat = Self::by_text(root, call);
        let mut targets = call.destroys().iter().chain(call.may_edit());
        threat.everything =
            threat.everything || targets.any(|target| call.goes_through_link(root, target));
        threat
    }

    /// From the command's text only, independent of the current files.
    fn by_text(root: &Path, call: &LiveCall) -> Self {
        let mut reaches = Vec::new();
        let is_plain = |target: &&Target| !target.glob;
        let targets = call.destroys().iter().filter(is_plain).chain(call.may_edit());
        for reach in targets.filter_map(|target| call.reach(root, target)) {
            let through = reach.path.as_ref().and_then(|path| link_target(root, path));
            reaches.extend(through.map(|path| Reach { path: Some(path), ..reach.clone() }));
            reaches.push(reach);
        }
        let by_name = |path: &ProjectPath| Reach { path: Some(path.clone()), beneath: true };
        reaches.extend(call.removes().iter().map(by_name));
        let dangers = if call.is_understood() {
            Vec::new()
        } else {
            call.destroys().iter().map(|target| Danger::of(target, root)).collect()
        };
        // Matching every file against very many targets takes longer than capturing it.
        let everything = call.destroys_unknown() || dangers.len() > MOST_DANGERS;
        Self { reaches, dangers, everything }
    }

    /// The folders in which to search for hidden files; `None` is the whole project.
    fn places(&self, call: &LiveCall) -> Vec<Option<ProjectPath>> {
        let is_anywhere = self.everything || !self.dangers.is_empty();
        if is_anywhere {
            return vec![None];
        }
        let mut places: Vec<_> = self.reaches.iter().map(|reach| reach.path.clone()).collect();
        // Deleting a folder deletes what is in it.
        places.extend(call.removes().iter().cloned().map(Some));
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
pub(crate) fn not_considered<'p>(
    workspace: &Workspace,
    calls: &[&LiveCall],
    paths: impl Iterator<Item = &'p ProjectPath>,
) -> Vec<&'p ProjectPath> {
    let destroying = calls.iter().filter(|call| call.may_destroy());
    // The files after the calls say nothing about the symlinks that existed before them.
    let threats: Vec<_> = destroying.map(|call| Threat::by_text(workspace.root(), call)).collect();
    paths.filter(|path| !threats.iter().any(|threat| threat.includes(path))).collect()
}

/// Selects hidden files that a call destroys and that are not on record.
struct Endangered<'a, 'b> {
    batch: &'a Batch<'b>,
    threat: &'a Threat,
    considered: HashSet<ProjectPath>,
}

impl Choose for Endangered<'_, '_> {
    fn file(&mut self, path: &ProjectPath) -> bool {
        let is_on_record = || self.batch.manifest_entry(path).is_ok_and(|entry| entry.is_some());
        self.threat.includes(path) && !is_on_record() && self.considered.insert(path.clone())
    }

    fn folder(&mut self, path: &ProjectPath) -> bool {
        let name = String::from_utf8_lossy(path.file_name()).to_lowercase();
        self.threat.includes(path) || self.threat.dangers.iter().any(|danger| danger.passes(&name))
    }
}

/// Gaps for what a destructive call would have needed, if its begin came too late for the shield.
pub(crate) fn too_late(workspace: &Workspace, call: &LiveCall) -> Vec<Gap> {
    let detail = "this command began before it could be shielded; ignored files were not captured";
    let threat = Threat::of(workspace, call);
    // By name, as far as its text tells, and in any folder it may have run in.
    let named = threat.reaches.iter().map(|reach| reach.path.clone());
    let places: BTreeSet<_> = named.chain(threat.places(call)).collect();
    places
        .into_iter()
        .filter_map(|path| path.or_else(|| ProjectPath::new(ANYWHERE).ok()))
        .map(|path| Gap { path, reason: GapReason::NotShielded, detail: detail.to_owned() })
        .collect()
}
