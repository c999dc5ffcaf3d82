//! Before a command that may destroy, its targets are captured, ignored files included.
//!
//! What rules do not hide is captured by the look that every such command begins with. The
//! shield adds what they hide: a `.env`, local databases, notes. Folders of the default-exclude
//! profile can be made again and are left out; what the budget did not allow becomes a gap.

use std::collections::HashSet;
use std::path::Path;

use retake_model::{Gap, GapReason, ProjectPath};
use retake_store::Batch;
use retake_workspace::{Rules, Workspace, glob_matches};

use crate::live::LiveCall;
use crate::place::link_target;
use crate::settings::Shield;
use crate::shell::Target;

/// More files that were left out than this are not named one by one.
const NAMED_GAPS: usize = 100;

/// What stands for the whole project in a gap, which must name something.
const ANYWHERE: &str = "*";

/// What the shield takes, and what it could not take.
#[derive(Debug, Default)]
pub(crate) struct Shielded {
    pub(crate) paths: Vec<ProjectPath>,
    pub(crate) gaps: Vec<Gap>,
}

/// Chooses the hidden files that a call is about to destroy.
pub(crate) fn shield(
    batch: &Batch<'_>,
    workspace: &Workspace,
    rules: &Rules,
    call: &LiveCall,
    settings: &Shield,
) -> Shielded {
    let mut shielded = Shielded::default();
    let (mut left_out, mut considered) = (Vec::new(), HashSet::new());
    let (mut bytes, mut truncated) = (0, false);
    for (place, target) in places(workspace.root(), call) {
        let limit = settings.max_files + NAMED_GAPS;
        // Only what would be lost counts against the limit.
        let mut wanted = |path: &ProjectPath| {
            target.is_none_or(|target| is_meant(workspace.root(), call, target, path))
                && !considered.contains(path)
                && !batch.manifest_entry(path).is_ok_and(|entry| entry.is_some())
        };
        let listing = workspace.list_hidden(place.as_ref(), rules, limit, &mut wanted);
        truncated |= listing.truncated;
        shielded.gaps.extend(listing.gaps);
        for (path, stat) in listing.files {
            considered.insert(path.clone());
            let fits = settings.enabled
                && shielded.paths.len() < settings.max_files
                && bytes + stat.size <= settings.max_bytes;
            if fits {
                bytes += stat.size;
                shielded.paths.push(path);
            } else {
                left_out.push(path);
            }
        }
    }
    let command = call.aim.intent.command.as_deref().unwrap_or(&call.call.tool);
    let more =
        if truncated || left_out.len() > NAMED_GAPS { ", and more than this one" } else { "" };
    let detail = format!("ignored, and over the shield's budget before `{command}` ran{more}");
    let gap = |path| Gap { path, reason: GapReason::NotShielded, detail: detail.clone() };
    shielded.gaps.extend(left_out.into_iter().take(NAMED_GAPS).map(gap));
    shielded
}

/// The places that the call may destroy; `None` is the whole project.
fn places<'a>(root: &Path, call: &'a LiveCall) -> Vec<(Option<ProjectPath>, Option<&'a Target>)> {
    let by_command = call.destroys().iter().flat_map(|target| {
        let place = call.reach(root, target).map(|reach| reach.path);
        let through = place.clone().flatten().and_then(|path| link_target(root, &path));
        place.into_iter().chain(through.map(Some)).map(move |place| (place, Some(target)))
    });
    let by_name = call.removes().iter().map(|path| (Some(path.clone()), None));
    // What cannot be told may be anything.
    let unknown = call.destroys_unknown().then_some((None, None));
    by_command.chain(by_name).chain(unknown).collect()
}

/// A glob's reach is wider than its matches.
fn is_meant(root: &Path, call: &LiveCall, target: &Target, path: &ProjectPath) -> bool {
    if !target.glob {
        return true;
    }
    let whole = Target { glob: false, recursive: false, ..target.clone() };
    let pattern = call.reach(root, &whole).and_then(|reach| reach.path);
    let Some(pattern) = pattern else { return true };
    // `rm -r *.d` takes what lies in a folder that matches, too.
    let mut at = Some(path.clone());
    while let Some(place) = at {
        if glob_matches(pattern.as_bytes(), place.as_bytes()) {
            return true;
        }
        at = place.parent();
    }
    false
}

/// What a destructive call would have needed, if its begin came too late to be shielded.
pub(crate) fn too_late(root: &Path, call: &LiveCall) -> Vec<Gap> {
    let detail = "this command began while the project was in use; ignored files were not captured";
    places(root, call)
        .into_iter()
        .filter_map(|(path, _)| path.or_else(|| ProjectPath::new(ANYWHERE).ok()))
        .map(|path| Gap { path, reason: GapReason::NotShielded, detail: detail.to_owned() })
        .collect()
}
