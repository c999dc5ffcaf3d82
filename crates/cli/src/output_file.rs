//! Writes files that a person asked for, such as an export, atomically.
//!
//! Invariant: no existing content is lost. A file with other content stays, unless the person
//! wants it replaced; then it is renamed beside the new one.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use retake_engine::model::ErrorCode;
use retake_seam::at::{EntryAt, rename_new};
use retake_seam::fs::{StagedPermissions, StagedReplacement, sync_dir};

use crate::failure::ApiError;

/// Maximum renamed files beside an output file.
const MAX_ASIDE_FILES: u32 = 100;

/// Outcome of writing an output file.
pub(crate) enum OutputFileOutcome {
    /// It has this content already.
    Unchanged,
    /// It did not exist.
    Created,
    /// The old content is now in this file.
    Replaced(PathBuf),
}

/// Writes a file with this mode, less the umask.
pub(crate) fn write_output_file(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    replace: bool,
) -> Result<OutputFileOutcome, ApiError> {
    let cannot = |error: &io::Error| {
        let message = format!("cannot write {}: {error}", path.display());
        ApiError::new(
            ErrorCode::NotWritten,
            message,
            "name another file, or see who owns that folder",
        )
    };
    // Writes the target of a symlink, not the symlink. Anything but a plain file, such as a pipe,
    // could block.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::symlink_metadata(path).is_ok_and(|known| !known.is_file()) {
        return Err(cannot(&io::Error::other("it is there and no regular file")));
    }
    let stands = match fs::read(path) {
        Ok(there) if there == bytes => return Ok(OutputFileOutcome::Unchanged),
        Ok(_) if !replace => {
            let message = format!("{} is there already, and says something else", path.display());
            let hint = "name another file, or pass --force, which keeps that one beside";
            return Err(ApiError::new(ErrorCode::Exists, message, hint));
        }
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(cannot(&error)),
    };
    let staged = StagedReplacement::new(path, bytes, StagedPermissions::New(mode))
        .map_err(|error| cannot(&error))?;
    let aside = stands.then(|| set_aside(path)).transpose().map_err(|error| cannot(&error))?;
    staged.persist().map_err(|error| match &aside {
        Some(aside) => cannot(&io::Error::other(format!("{error}; it is at {}", aside.display()))),
        None => cannot(&error),
    })?;
    Ok(aside.map_or(OutputFileOutcome::Created, OutputFileOutcome::Replaced))
}

/// Renames a file to an unused name beside its own, and returns that path.
pub(crate) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let (Some(folder_path), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it has no name"));
    };
    let folder = File::open(folder_path)?;
    let from = EntryAt { folder: folder.as_fd(), name: name.as_bytes() };
    for number in 0..MAX_ASIDE_FILES {
        let mut other = name.to_owned();
        other.push(if number == 0 { ".bak".to_owned() } else { format!(".bak{number}") });
        match rename_new(from, EntryAt { folder: folder.as_fd(), name: other.as_bytes() }) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => {
                sync_dir(folder_path)?;
                return Ok(folder_path.join(other));
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
