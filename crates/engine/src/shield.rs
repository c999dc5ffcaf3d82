//! Before a command that may destroy, its targets are captured, ignored files included.
//!
//! Tracked files are captured by the look that every such command begins with.
//! The shield adds what rules hide: a `.env`, local databases, notes. Folders of
//! the default-exclude profile can be made again and are left out; what the
//! budget did not allow becomes a gap.

use std::path::Path;

use retake_model::{Gap, GapReason, ProjectPath};
use retake_workspace::{Listing, Rules, Workspace, glob_matches};

use crate::live::{LiveCall, reach};
use crate::settings::Shield;
use crate::shell::{Effect, Target};

/// What the shield takes, and what it could not take.
#[derive(Debug, Default)]
pub(crate) struct Shielded {
    pub(crate) paths: Vec<ProjectPath>,
    pub(crate) gaps: Vec<Gap>,
}

/// Chooses the files that a call is about to destroy.
pub(crate) fn shield(
    workspace: &Workspace,
    rules: &Rules,
    call: &LiveCall,
    settings: &Shield,
) -> Shielded {
    let mut shielded = Shielded::default();
    if !settings.enabled {
        return shielded;
    }
    let mut bytes = 0;
    for target in call.destroys() {
        let listing = list(workspace, rules, call, target, settings.max_files);
        shielded.gaps.extend(listing.gaps);
        let mut left_out = u64::from(listing.truncated);
        for (path, stat) in listing.files {
            if !is_meant(workspace.root(), call, target, &path) {
                continue;
            }
            let fits = shielded.paths.len() < settings.max_files
                && bytes + stat.size <= settings.max_bytes;
            if fits {
                bytes += stat.size;
                shielded.paths.push(path);
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            shielded.gaps.extend(not_shielded(workspace.root(), call, target));
        }
    }
    shielded
}

fn list(
    workspace: &Workspace,
    rules: &Rules,
    call: &LiveCall,
    target: &Target,
    limit: usize,
) -> Listing {
    match target.what {
        Effect::CleanIgnored => workspace.list_ignored(rules, limit),
        // What git checks out, and untracked files that no rule hides, are captured already.
        Effect::CheckoutTree | Effect::CleanUntracked => Listing::default(),
        Effect::Write | Effect::Append | Effect::Delete | Effect::Move => {
            match reach(workspace.root(), call.call.cwd.as_deref(), target) {
                Some(reach) => match reach.path {
                    Some(path) => workspace.list_beneath(&path, rules, limit),
                    None => workspace.list_ignored(rules, limit),
                },
                None => Listing::default(),
            }
        }
    }
}

/// A glob's reach is wider than its matches.
fn is_meant(root: &Path, call: &LiveCall, target: &Target, path: &ProjectPath) -> bool {
    if !target.glob {
        return true;
    }
    let whole = Target { glob: false, recursive: false, ..target.clone() };
    let pattern = reach(root, call.call.cwd.as_deref(), &whole).and_then(|reach| reach.path);
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

fn not_shielded(root: &Path, call: &LiveCall, target: &Target) -> Option<Gap> {
    let path = reach(root, call.call.cwd.as_deref(), target).and_then(|reach| reach.path)?;
    let detail = format!(
        "ignored files here were over the shield's budget before `{}` ran",
        call.intent.command.as_deref().unwrap_or_default()
    );
    Some(Gap { path, reason: GapReason::NotShielded, detail })
}
