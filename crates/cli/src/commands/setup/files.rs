//! The files of agents on disk: read as they are, replaced whole, links kept.

use std::fmt::Display;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use retake_seam::fs::{Permissions, Staged, create_folder, remove_empty_folder, remove_file};

use super::place::real_path;
use crate::failure::Failure;

/// Maximum bytes of a settings file.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Result of an attempt to change a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Done,
    /// The file changed since it was read.
    Changed,
}

/// Reads a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    let text = String::from_utf8(bytes)
        .map_err(|_| left("not_text", path, "it is no UTF-8 text", "correct the file"))?;
    Ok(Some(text))
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    // A pipe without a writer would block for ever.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("read", path, &error)),
    };
    let known = file.metadata().map_err(|error| cannot("read", path, &error))?;
    if !known.is_file() {
        return Err(left("no_file", path, "it is no regular file", "put it elsewhere"));
    }
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| cannot("read", path, &error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST_BYTES) {
        return Err(left("too_large", path, "it is larger than 64 MiB", "put it elsewhere"));
    }
    Ok(Some(bytes))
}

/// Returns true if the file exists and its owner cannot execute it.
pub(super) fn lacks_execution(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| known.mode() & 0o100 == 0)
}

/// The mode of a program that its owner and all who may read it can run.
fn executable(mode: u32) -> u32 {
    mode | 0o100 | (mode & 0o444) >> 2
}

/// Makes a file, or replaces its content if that still is `now`.
pub(super) fn write(
    path: &Path,
    now: Option<&str>,
    then: &str,
    is_program: bool,
) -> Result<Attempt, Failure> {
    let real = real_path(path)?;
    make_folders(&real)?;
    let permissions = match fs::metadata(&real) {
        Ok(known) => {
            check(path, &known)?;
            let mode = known.mode() & 0o7777;
            let mode = if is_program { executable(mode) } else { mode };
            Permissions::Exactly { mode, user: known.uid(), group: known.gid() }
        }
        Err(_) => Permissions::New(if is_program { 0o777 } else { 0o666 }),
    };
    let staged = Staged::new(&real, then.as_bytes(), permissions);
    let staged = staged.map_err(|error| not_staged(path, permissions, &error))?;
    // As late as possible: a concurrent save must not be lost.
    if read(path)?.as_deref() != now || real_path(path)? != real {
        return Ok(Attempt::Changed);
    }
    staged.put().map_err(|error| cannot("write", path, &error))?;
    Ok(Attempt::Done)
}

/// Refuses read-only files and hard links, which a replacement by rename would not respect.
fn check(path: &Path, known: &Metadata) -> Result<(), Failure> {
    if known.permissions().mode() & 0o200 == 0 {
        let hint = format!("if you want it changed: chmod u+w {}", path.display());
        return Err(left("read_only", path, "it is read-only", hint));
    }
    if known.nlink() > 1 {
        let why = "it has further names (hard links), which would keep the old content";
        return Err(left("hard_links", path, why, "make it a file of its own, or a symbolic link"));
    }
    Ok(())
}

fn not_staged(path: &Path, permissions: Permissions, error: &std::io::Error) -> Failure {
    match permissions {
        Permissions::Exactly { user, .. } if user != rustix::process::geteuid().as_raw() => {
            let why =
                format!("it belongs to another user (id {user}), and that must stay: {error}");
            left("not_owner", path, &why, "run it as that user")
        }
        _ => cannot("write", path, error),
    }
}

/// Removes a file that Retake made, if it still holds `now`, and the folders that it made for it,
/// if they are empty.
pub(super) fn remove(
    path: &Path,
    now: Option<&str>,
    folders: &[PathBuf],
) -> Result<Attempt, Failure> {
    let real = real_path(path)?;
    if read(path)?.as_deref() != now {
        return Ok(Attempt::Changed);
    }
    remove_file(&real).map_err(|error| cannot("remove", path, &error))?;
    for folder in folders.iter().rev() {
        // A folder that holds other files by now stays.
        if remove_empty_folder(folder).is_err() {
            break;
        }
    }
    Ok(Attempt::Done)
}

/// The folders that must be made for a file, from the outermost on.
pub(super) fn missing_folders(real: &Path) -> Vec<PathBuf> {
    let missing = real.ancestors().skip(1).take_while(|folder| !folder.exists());
    let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

fn make_folders(real: &Path) -> Result<(), Failure> {
    for folder in missing_folders(real) {
        match create_folder(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(cannot("create", &folder, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn cannot(act: &str, path: &Path, error: &impl Display) -> Failure {
    let message = format!("cannot {act} {}: {error}", path.display());
    Failure::new("not_written", message, "see who owns it and what its permissions are")
}

/// Failure for a file that is left as it is.
pub(super) fn left(code: &'static str, path: &Path, why: &str, hint: impl Into<String>) -> Failure {
    Failure::new(code, format!("{} is left as it is: {why}", path.display()), hint)
}
