//! The git repository that a project is, or is a part of.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use retake_model::ProjectPath;
use retake_workspace::git::{self, Attributes, GitLook, Index, IndexEntry};

/// A repository around a project's root.
#[derive(Debug)]
pub(crate) struct Repository {
    top: PathBuf,
    /// Path of the root in it, ending in `/`; empty at the top.
    prefix: Vec<u8>,
}

impl Repository {
    /// The nearest repository at or above a project's root.
    pub(crate) fn around(root: &Path) -> Option<Self> {
        let top = git::toplevel(root)?;
        let mut prefix = root.strip_prefix(&top).ok()?.as_os_str().as_bytes().to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        Some(Self { top, prefix })
    }

    /// Returns git's current state.
    pub(crate) fn look(&self) -> Option<GitLook> {
        git::look(&self.top)
    }

    /// Entries of HEAD's reflog since it had this size.
    pub(crate) fn actions_since(&self, reflog_size: u64) -> Vec<String> {
        git::new_reflog_actions(&self.top, reflog_size)
    }

    /// Reads the index entries of the project.
    pub(crate) fn index(&self) -> Result<Index, String> {
        let mut index = git::index(&self.top)?.unwrap_or_default();
        if self.prefix.is_empty() {
            return Ok(index);
        }
        let inside = |(path, entry): (ProjectPath, IndexEntry)| {
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
    ) -> Option<Attributes> {
        if !self.prefix.is_empty() {
            return None;
        }
        let mut attributes = Attributes::outside(global);
        for (file, text) in within {
            let folder = file.parent();
            let folder = folder.as_ref().map_or(&b""[..], ProjectPath::as_bytes);
            attributes.add(text, Path::new(OsStr::from_bytes(folder)));
        }
        if let Some(file) = git::attributes_file(&self.top) {
            attributes.add_file(&file);
        }
        Some(attributes)
    }
}

/// Digest of the paths in an index; their entries do not count.
pub(crate) fn path_digest(index: &Index) -> u64 {
    let digest = |path: &ProjectPath| {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        hasher.finish()
    };
    // A sum, because they come in no order.
    index.entries.keys().map(digest).fold(index.entries.len() as u64, u64::wrapping_add)
}
