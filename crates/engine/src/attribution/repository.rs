//! The git repository that a project is, or is a part of.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use retake_model::ProjectPath;
use retake_workspace::git::{self, GitAttributes, GitIndex, GitIndexEntry, GitState};

/// A repository around a project's root.
#[derive(Debug)]
pub(crate) struct ProjectRepository {
    top: PathBuf,
    /// Path of the root in it, ending in `/`; empty at the top.
    prefix: Vec<u8>,
}

impl ProjectRepository {
    /// The nearest repository at or above a project's root.
    pub(crate) fn find_around(root: &Path) -> Option<Self> {
        let top = git::toplevel(root)?;
        let mut prefix = root.strip_prefix(&top).ok()?.as_os_str().as_bytes().to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        Some(Self { top, prefix })
    }

    /// Returns git's current state.
    pub(crate) fn git_state(&self) -> Option<GitState> {
        git::read_state(&self.top)
    }

    /// Entries of HEAD's reflog since it had this size.
    pub(crate) fn actions_since(&self, reflog_size: u64) -> Vec<String> {
        git::new_reflog_actions(&self.top, reflog_size)
    }

    /// Reads the index entries of the project.
    pub(crate) fn index(&self) -> Result<GitIndex, String> {
        let mut index = git::read_index(&self.top)?.unwrap_or_default();
        if self.prefix.is_empty() {
            return Ok(index);
        }
        let inside = |(path, entry): (ProjectPath, GitIndexEntry)| {
            let rest = path.as_bytes().strip_prefix(self.prefix.as_slice())?;
            Some((ProjectPath::new(rest).ok()?, entry))
        };
        index.entries = index.entries.into_iter().filter_map(inside).collect();
        Ok(index)
    }

    /// Folders of its packs.
    pub(crate) fn pack_folders(&self) -> Vec<PathBuf> {
        git::pack_folders(&self.top)
    }

    /// The files that git converts: by the user's attributes, and by these files in the project,
    /// those of deeper folders later. `None` if there may be others above the project.
    pub(crate) fn attributes(
        &self,
        global: Option<&Path>,
        within: &[(ProjectPath, Vec<u8>)],
    ) -> Option<GitAttributes> {
        if !self.prefix.is_empty() {
            return None;
        }
        let mut attributes = GitAttributes::load_global(global);
        for (file, text) in within {
            let folder = file.parent();
            let folder = folder.as_ref().map_or(&b""[..], ProjectPath::as_bytes);
            attributes.add_text(text, Path::new(OsStr::from_bytes(folder)));
        }
        if let Some(file) = git::attributes_file(&self.top) {
            attributes.add_file(&file);
        }
        Some(attributes)
    }
}

/// Digest of the paths in an index; their entries do not count.
pub(crate) fn path_digest(index: &GitIndex) -> u64 {
    let digest = |path: &ProjectPath| {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        hasher.finish()
    };
    // A sum, because they come in no order.
    index.entries.keys().map(digest).fold(index.entries.len() as u64, u64::wrapping_add)
}
