//! Permissions of the home: what Retake makes there belongs to its owner alone.
//!
//! Every folder is made with 0700 and every file with 0600, so only what was made otherwise
//! (unpacked from a backup, an existing folder that the person chose) is ever found open. Links
//! are not followed. A file with several names is the person's own: a borrowed pack.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::Home;

/// Folders of the home that Retake makes.
const OWN_FOLDERS: [&str; 4] = ["projects", "roots", "run", "setup"];
/// Maximum depth below these: `projects/<id>/packs/<file>`.
const MAX_DEPTH: usize = 3;
/// The exported repository: closed as a whole, and perhaps large.
const EXPORT_FOLDER: &str = "export.git";

/// A file or folder of the home that other users may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPath {
    /// The path.
    pub path: PathBuf,
    /// The mode.
    pub mode: u32,
    /// Whether Retake made it and this user owns it, so that it can be closed.
    pub is_own: bool,
}

/// The person's settings, written with whatever mode; the folder around them is private.
const SETTINGS_FILE: &str = "config.toml";

impl Home {
    /// Lists the files and folders that other users may reach, the home itself included. In a
    /// folder that is its owner's alone they reach nothing, whatever the modes in it.
    pub fn open_paths(&self) -> Vec<OpenPath> {
        self.collect_open_paths(OpenSearch::Reachable)
    }

    fn collect_open_paths(&self, search: OpenSearch) -> Vec<OpenPath> {
        let mut found = Vec::new();
        push_open(self.folder(), false, &mut found);
        if search == OpenSearch::Reachable && found.is_empty() {
            return found;
        }
        for name in OWN_FOLDERS {
            collect_open(&self.folder().join(name), MAX_DEPTH, search, &mut found);
        }
        found
    }

    /// Restricts what Retake made to its owner. The home itself is left as the person made it.
    pub fn close_open_paths(&self) {
        for open in self.collect_open_paths(OpenSearch::Everything) {
            let (path, mode) = (open.path.display(), open.mode);
            if !open.is_own {
                tracing::warn!("{path} has the mode {mode:o}: other users may reach it");
            } else if let Err(error) = retake_seam::fs::make_private(&open.path) {
                tracing::warn!(%error, "{path} has the mode {mode:o}, and cannot be restricted");
            }
        }
    }
}

/// How far open modes are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenSearch {
    /// Below open folders only.
    Reachable,
    /// Everywhere.
    Everything,
}

fn collect_open(path: &Path, depth: usize, search: OpenSearch, found: &mut Vec<OpenPath>) {
    let Ok(known) = path.symlink_metadata() else { return };
    let is_settings = path.file_name().is_some_and(|name| name == SETTINGS_FILE);
    if is_settings {
        return;
    }
    let is_open = push_open(path, true, found);
    if search == OpenSearch::Reachable && !is_open {
        return;
    }
    let is_export = path.file_name().is_some_and(|name| name == EXPORT_FOLDER);
    if depth == 0 || !known.is_dir() || is_export {
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        collect_open(&entry.path(), depth - 1, search, found);
    }
}

/// Adds the path if other users may use it; returns whether they may.
fn push_open(path: &Path, is_made_here: bool, found: &mut Vec<OpenPath>) -> bool {
    let Ok(known) = path.symlink_metadata() else { return false };
    let is_shared = known.is_file() && known.nlink() > 1;
    let mode = known.mode() & 0o777;
    let is_closed = mode & !0o700 == 0;
    if known.is_symlink() || is_shared || is_closed {
        return false;
    }
    let is_own = is_made_here && known.uid() == rustix::process::geteuid().as_raw();
    found.push(OpenPath { path: path.to_owned(), mode, is_own });
    true
}
