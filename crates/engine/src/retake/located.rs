//! A project that was found and not opened.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use retake_store::{FoundProject, RootPresence};

use crate::settings;

/// A project that was found and not opened.
///
/// Two are equal as long as a project that was opened in between is still the one to use: its
/// root, its record and its settings are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedProject {
    pub(super) found: FoundProject,
    record: Option<DeviceInode>,
    settings: [Option<FileVersion>; 2],
}

/// Identity of a file: device and inode.
type DeviceInode = (u64, u64);
/// Identity and version of a file's content.
type FileVersion = (DeviceInode, u64, i64, i64);

impl LocatedProject {
    pub(super) fn new(home: &Path, mut found: FoundProject) -> Self {
        let record = file_id(&found.folder.join("retake.db"));
        let settings = [&*found.folder, home]
            .map(|folder| version(&folder.join(settings::SETTINGS_FILE_NAME)));
        // A move is reported once, to the first caller that finds it.
        found.moved_from = None;
        Self { found, record, settings }
    }

    /// The project's id.
    pub fn id(&self) -> &str {
        &self.found.identity.id
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.found.identity.root_path()
    }

    /// The project's folder in Retake's home.
    pub fn folder(&self) -> &Path {
        &self.found.folder
    }

    /// What stands at the root's path.
    pub fn presence(&self) -> RootPresence {
        self.found.presence
    }
}

fn file_id(path: &Path) -> Option<DeviceInode> {
    path.metadata().ok().map(|data| (data.dev(), data.ino()))
}

fn version(path: &Path) -> Option<FileVersion> {
    let data = path.metadata().ok()?;
    Some(((data.dev(), data.ino()), data.size(), data.mtime(), data.mtime_nsec()))
}
