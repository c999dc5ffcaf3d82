//! Net changes: what consecutive changes of one file amount to, and which of them go together.

use std::collections::BTreeMap;

use retake_model::{Change, ChangeId, PathState, ProjectPath};

use crate::plan::groups::PathGroups;
use crate::plan::nesting::PathNesting;

/// One step of a file from `before` to `after`, made by one change or by several in a row.
#[derive(Clone, Debug)]
pub(crate) struct NetChange {
    /// Where the file was before.
    pub(crate) from: ProjectPath,
    /// Where it was after; the same path unless it was moved.
    pub(crate) path: ProjectPath,
    pub(crate) before: PathState,
    pub(crate) after: PathState,
    /// The changes in it, oldest first.
    pub(crate) changes: Vec<ChangeId>,
    /// The content to go back to, if only some hunks are taken back.
    pub(crate) partly: Option<Vec<u8>>,
}

impl NetChange {
    /// The step that one change made.
    pub(crate) fn of(change: &Change) -> Self {
        Self {
            from: change.from_path().clone(),
            path: change.path.clone(),
            before: change.before,
            after: change.after,
            changes: vec![change.id],
            partly: None,
        }
    }

    /// The newest change in it.
    pub(crate) fn newest(&self) -> ChangeId {
        self.changes.last().copied().unwrap_or(ChangeId(0))
    }
}

/// Two paths that are written together or not at all.
pub(crate) type PathBond = (ProjectPath, ProjectPath);

/// Splits net changes into parts: changes of one file belong together, also across moves, and so
/// does what one part of an operation did.
pub(crate) fn split_into_parts(nets: &[NetChange], bonds: &[PathBond]) -> Vec<Vec<NetChange>> {
    let mut groups = PathGroups::default();
    for net in nets {
        groups.join(&net.from, &net.path);
    }
    for (a, b) in bonds {
        groups.join(a, b);
    }
    // A file that was where now a folder is, and what is in that folder, go together.
    let nesting = PathNesting::of(nets.iter().flat_map(|net| [&net.from, &net.path]));
    for (path, top) in nesting.pairs() {
        groups.join(top, path);
    }
    let mut parts: BTreeMap<&ProjectPath, Vec<NetChange>> = BTreeMap::new();
    for net in nets {
        parts.entry(groups.leader(&net.path)).or_default().push(net.clone());
    }
    for part in parts.values_mut() {
        part.sort_by_key(NetChange::newest);
    }
    parts.into_values().collect()
}

/// Joins consecutive changes into one net change; changes in between that cancel out are ignored.
pub(crate) fn join_consecutive(nets: Vec<NetChange>) -> Vec<NetChange> {
    let mut result: Vec<NetChange> = Vec::with_capacity(nets.len());
    for net in nets {
        let continues = |last: &NetChange| {
            last.path == net.from && last.after == net.before && last.partly.is_none()
        };
        match result.iter().rposition(continues) {
            Some(at) if !is_separated(&result, at, &net) => {
                result[at].path = net.path;
                result[at].after = net.after;
                result[at].changes.extend(net.changes);
                // It is as new as its newest change.
                let net = result.remove(at);
                result.push(net);
            }
            _ => result.push(net),
        }
    }
    result
}

/// Returns whether a net change after the one at `at` lies between it and one that continues it.
fn is_separated(nets: &[NetChange], at: usize, net: &NetChange) -> bool {
    nets[at + 1..].iter().any(|other| touches(other, net) || touches(other, &nets[at]))
}

fn touches(a: &NetChange, b: &NetChange) -> bool {
    [&a.from, &a.path].iter().any(|path| **path == b.from || **path == b.path)
}
