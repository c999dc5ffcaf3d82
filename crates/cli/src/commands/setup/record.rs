//! Records of the files that Retake added hooks to, so that it can restore them.
//!
//! `HOME/setup/<hash of the path>.json`, for the owner alone: the file's text before and after,
//! and the folders that were made for it. It is written before the file is, and removed after
//! the file was put back, so whenever the program is killed the text before is still known.

use std::path::{Path, PathBuf};

use retake_agents::setup::record_name;
use retake_seam::fs::{create_private_dir_all, remove_file, replace_durably};
use serde::{Deserialize, Serialize};

use crate::failure::ApiError;
use retake_service::setup::files::io_failure;

/// Record of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    /// The file, for people.
    path: String,
    /// Its text without our hooks; none if there was no file.
    pub(super) before: Option<String>,
    /// Its text with our hooks.
    pub(super) after: String,
    /// The folders that were made for it, from the outermost on.
    pub(super) folders: Vec<PathBuf>,
}

/// The folder of all records.
#[derive(Debug)]
pub(super) struct SetupRecords {
    folder: PathBuf,
}

impl SetupRecords {
    /// The records in Retake's own folder.
    pub(super) fn new(home: &Path) -> Self {
        Self { folder: home.join("setup") }
    }

    /// Returns the record of a file; none if it cannot be read.
    pub(super) fn find(&self, path: &Path) -> Option<SetupRecord> {
        serde_json::from_slice(&std::fs::read(self.file(path)).ok()?).ok()
    }

    /// Saves the record of a file.
    pub(super) fn save(
        &self,
        path: &Path,
        before: Option<String>,
        after: String,
        folders: Vec<PathBuf>,
    ) -> Result<(), ApiError> {
        let record = SetupRecord { path: path.display().to_string(), before, after, folders };
        let json = serde_json::to_vec_pretty(&record).expect("texts and paths are JSON");
        let file = self.file(path);
        create_private_dir_all(&self.folder)
            .and_then(|()| replace_durably(&file, &json))
            .map_err(|error| io_failure("write", &file, &error))
    }

    /// Removes the record of a file.
    pub(super) fn remove(&self, path: &Path) -> Result<(), ApiError> {
        let file = self.file(path);
        match remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_failure("remove", &file, &error))
            }
            _ => Ok(()),
        }
    }

    fn file(&self, path: &Path) -> PathBuf {
        self.folder.join(record_name(path)).with_extension("json")
    }
}
