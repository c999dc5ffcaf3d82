//! Hard links: files with several names, of which only some may change their mode.

use std::collections::{HashMap, HashSet};

use retake_model::{PathState, ProjectPath};
use retake_workspace::Workspace;

/// Returns the paths whose mode changes and that need a file of their own: the file has another
/// hard link that must keep its mode.
pub(crate) fn paths_needing_own_file<'p>(
    workspace: &Workspace,
    modes: impl Iterator<Item = (&'p ProjectPath, &'p PathState)>,
) -> HashSet<&'p ProjectPath> {
    let mut files: HashMap<_, (u64, Vec<&ProjectPath>)> = HashMap::new();
    for (path, then) in modes {
        let Some((file, names)) = workspace.shared_file(path) else { continue };
        let mode = then.known().map(|state| state.mode);
        files.entry((file, mode)).or_insert((names, Vec::new())).1.push(path);
    }
    let is_not_all = |(names, paths): &(u64, Vec<_>)| (paths.len() as u64) < *names;
    files.into_values().filter(is_not_all).flat_map(|(_, paths)| paths).collect()
}
