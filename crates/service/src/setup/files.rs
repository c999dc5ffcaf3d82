//! The files of agents on disk: read as they are, replaced whole, links kept.

use std::fmt::Display;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use retake_engine::model::ErrorCode;
use retake_seam::fs::{
    StagedPermissions, StagedReplacement, create_folder, remove_empty_folder, remove_file,
};

use super::symlinks::real_path;
use crate::ApiError;

/// Maximum bytes of a settings file.
const MAX_SETTINGS_BYTES: u64 = 64 * 1024 * 1024;

/// Result of an attempt to change a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAttempt {
    /// It was written or removed.
    Done,
    /// The file changed since it was read.
    Changed,
}

/// Reads a file; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<String>, ApiError> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| {
        left_unchanged(ErrorCode::NotText, path, "it is no UTF-8 text", "correct the file")
    })?;
    Ok(Some(text))
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, ApiError> {
    // A pipe without a writer would block for ever.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_failure("read", path, &error)),
    };
    let known = file.metadata().map_err(|error| io_failure("read", path, &error))?;
    if !known.is_file() {
        return Err(left_unchanged(
            ErrorCode::NoFile,
            path,
            "it is no regular file",
            "put it elsewhere",
        ));
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_SETTINGS_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| io_failure("read", path, &error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_SETTINGS_BYTES) {
        return Err(left_unchanged(
            ErrorCode::TooLarge,
            path,
            "it is larger than 64 MiB",
            "put it elsewhere",
        ));
    }
    Ok(Some(bytes))
}

/// Returns true if the file exists and its owner cannot execute it.
pub fn is_not_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| known.mode() & 0o100 == 0)
}

/// The mode of a program that its owner and all who may read it can run.
fn executable_mode(mode: u32) -> u32 {
    mode | 0o100 | (mode & 0o444) >> 2
}

/// Makes a file, or replaces its content if that still is `now`.
pub fn write(
    path: &Path,
    now: Option<&str>,
    then: &str,
    is_program: bool,
) -> Result<WriteAttempt, ApiError> {
    let real = real_path(path)?;
    make_folders(&real)?;
    let permissions = match fs::metadata(&real) {
        Ok(known) => {
            check_replaceable(path, &known)?;
            let mode = known.mode() & 0o7777;
            let mode = if is_program { executable_mode(mode) } else { mode };
            StagedPermissions::Exactly { mode, user: known.uid(), group: known.gid() }
        }
        Err(_) => StagedPermissions::New(if is_program { 0o777 } else { 0o666 }),
    };
    let staged = StagedReplacement::new(&real, then.as_bytes(), permissions);
    let staged = staged.map_err(|error| staging_failure(path, permissions, &error))?;
    // As late as possible: a concurrent save must not be lost.
    if read(path)?.as_deref() != now || real_path(path)? != real {
        return Ok(WriteAttempt::Changed);
    }
    staged.persist().map_err(|error| io_failure("write", path, &error))?;
    Ok(WriteAttempt::Done)
}

/// Refuses read-only files and hard links, which a replacement by rename would not respect.
fn check_replaceable(path: &Path, known: &Metadata) -> Result<(), ApiError> {
    if known.permissions().mode() & 0o200 == 0 {
        let hint = format!("if you want it changed: chmod u+w {}", path.display());
        return Err(left_unchanged(ErrorCode::ReadOnly, path, "it is read-only", hint));
    }
    if known.nlink() > 1 {
        let why = "it has further names (hard links), which would keep the old content";
        return Err(left_unchanged(
            ErrorCode::HardLinks,
            path,
            why,
            "make it a file of its own, or a symbolic link",
        ));
    }
    Ok(())
}

fn staging_failure(
    path: &Path,
    permissions: StagedPermissions,
    error: &std::io::Error,
) -> ApiError {
    match permissions {
        StagedPermissions::Exactly { user, .. } if user != rustix::process::geteuid().as_raw() => {
            let why =
                format!("it belongs to another user (id {user}), and that must stay: {error}");
            left_unchanged(ErrorCode::NotOwner, path, &why, "run it as that user")
        }
        _ => io_failure("write", path, error),
    }
}

/// Removes a file that Retake made, if it still holds `now`, and the folders that it made for it,
/// if they are empty.
pub fn remove(
    path: &Path,
    now: Option<&str>,
    folders: &[PathBuf],
) -> Result<WriteAttempt, ApiError> {
    let real = real_path(path)?;
    if read(path)?.as_deref() != now {
        return Ok(WriteAttempt::Changed);
    }
    remove_file(&real).map_err(|error| io_failure("remove", path, &error))?;
    for folder in folders.iter().rev() {
        // A folder that holds other files by now stays.
        if remove_empty_folder(folder).is_err() {
            break;
        }
    }
    Ok(WriteAttempt::Done)
}

/// The folders that must be made for a file, from the outermost on.
pub fn missing_folders(real: &Path) -> Vec<PathBuf> {
    let missing = real.ancestors().skip(1).take_while(|folder| !folder.exists());
    let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

fn make_folders(real: &Path) -> Result<(), ApiError> {
    for folder in missing_folders(real) {
        match create_folder(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(io_failure("create", &folder, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Failure of an act on a file.
pub fn io_failure(act: &str, path: &Path, error: &impl Display) -> ApiError {
    let message = format!("cannot {act} {}: {error}", path.display());
    ApiError::new(ErrorCode::NotWritten, message, "see who owns it and what its permissions are")
}

/// Failure for a file that is left as it is.
pub fn left_unchanged(
    code: ErrorCode,
    path: &Path,
    why: &str,
    hint: impl Into<String>,
) -> ApiError {
    ApiError::new(code, format!("{} is left as it is: {why}", path.display()), hint)
}
