//! Mutating file-system calls, each behind one [`step`].
//!
//! Files and folders made here belong to their owner alone (0600, 0700), but for those that are
//! made for the user's own programs ([`StagedReplacement`], [`create_folder`]). A private file is
//! never opened through a symbolic link at its name: what is written stays where it belongs.

#![expect(clippy::disallowed_methods, reason = "this is the door that the ban leads to")]

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::step;

/// Creates a folder and its parents, for the owner alone; their names survive power loss.
pub fn create_private_dir_all(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().map_or(Path::new("."), or_current_dir);
    // The folder that we are in may have been removed: it is not made again.
    if parent != Path::new(".") {
        create_private_dir_all(parent)?;
    }
    step("mkdir")?;
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        // Another process created it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_dir_if_permitted(parent)
}

/// Syncs a folder that is perhaps not ours; a missing permission is no error.
pub fn sync_dir_if_permitted(folder: &Path) -> io::Result<()> {
    match sync_dir(or_current_dir(folder)) {
        // A folder may be written without the right to list it, but not synced.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

/// Returns `.` for the empty parent of a relative path's first component.
fn or_current_dir(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// A file whose every write is a step; owned or borrowed.
#[derive(Debug)]
pub struct StepWriter<F>(pub F);

impl<F: Write> Write for StepWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        crate::write("write", bytes, |bytes| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Opens a file for its owner alone; refuses symbolic links and what is no regular file.
fn open_owner_only(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Opening a FIFO must not wait for its other end.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| explain_link(error, path))?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is no regular file, and is left alone; remove it"))
}

/// Names a symbolic link as the reason, which the system calls a loop.
fn explain_link(error: io::Error, path: &Path) -> io::Error {
    let is_link = || path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if error.kind() != io::ErrorKind::NotFound && is_link() {
        return io::Error::other("it is a symbolic link, which is not followed here; remove it");
    }
    error
}

/// Opens a file for reading and writing, creating it for the owner alone.
pub fn open_private(path: &Path) -> io::Result<File> {
    step("open")?;
    let mut options = OpenOptions::new();
    open_owner_only(options.read(true).write(true).create(true).truncate(false), path)
}

/// Opens a private file for reading.
pub fn open_private_to_read(path: &Path) -> io::Result<File> {
    open_owner_only(OpenOptions::new().read(true), path)
}

/// Writes a whole file so that a reader sees the old bytes or the new ones, durably.
pub fn replace_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("a file has a folder"))?;
    let temp = path.with_extension(format!("{}.tmp", std::process::id()));
    let replaced = write_durably(&temp, bytes).and_then(|()| rename(&temp, path));
    if replaced.is_err() && temp.exists() {
        let _ = remove_file(&temp);
    }
    replaced.and_then(|()| sync_dir(folder))
}

fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = create_private(path)?;
    write_all(&file, bytes)?;
    sync_file(&file)
}

/// The permissions of a file that is written for the user's own programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagedPermissions {
    /// Just these, and this owner and group, because the file had them.
    Exactly {
        /// The mode.
        mode: u32,
        /// The owner.
        user: u32,
        /// The group.
        group: u32,
    },
    /// These, as far as the umask lets, because the file is new.
    New(u32),
}

/// Suffix of staged files, which replace a user's file by a rename.
const STAGED_SUFFIX: &str = ".retake-tmp";
/// Staged files older than this were left behind by a killed process and are removed.
const STAGED_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum temporary names tried; earlier ones are in use by concurrent processes.
const MAX_NAME_ATTEMPTS: u32 = 100;

/// A synced temporary file beside the user's file that it will replace. Removed on drop if it
/// was not put in place.
#[derive(Debug)]
pub struct StagedReplacement {
    temp: PathBuf,
    path: PathBuf,
}

impl StagedReplacement {
    /// Writes the bytes beside the file.
    pub fn new(path: &Path, bytes: &[u8], permissions: StagedPermissions) -> io::Result<Self> {
        let folder = path.parent().ok_or_else(|| io::Error::other("a file has a folder"))?;
        let name = path.file_name().ok_or_else(|| io::Error::other("a file has a name"))?;
        let start = format!(".{}.", name.to_string_lossy());
        remove_stale_staged(folder, &start);
        let (file, temp) = create_new(folder, &start, permissions)?;
        let staged = Self { temp, path: path.to_owned() };
        fill_staged(&file, bytes, permissions)?;
        Ok(staged)
    }

    /// Puts the bytes in the file's place: a reader sees the old ones or the new ones.
    pub fn persist(self) -> io::Result<()> {
        rename(&self.temp, &self.path)?;
        sync_dir(self.path.parent().ok_or_else(|| io::Error::other("a file has a folder"))?)
    }
}

impl Drop for StagedReplacement {
    fn drop(&mut self) {
        // After the rename it is gone.
        if self.temp.exists() {
            let _ = remove_file(&self.temp);
        }
    }
}

fn create_new(
    folder: &Path,
    start: &str,
    permissions: StagedPermissions,
) -> io::Result<(File, PathBuf)> {
    step("create")?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        // No other user may read it before it has its final owner.
        let mode = if let StagedPermissions::New(mode) = permissions { mode } else { 0o600 };
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    }
    for count in 0..MAX_NAME_ATTEMPTS {
        let temp = folder.join(format!("{start}{}-{count}{STAGED_SUFFIX}", std::process::id()));
        match options.open(&temp) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, temp)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn fill_staged(file: &File, bytes: &[u8], permissions: StagedPermissions) -> io::Result<()> {
    #[cfg(unix)]
    if let StagedPermissions::Exactly { mode, user, group } = permissions {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (user, group) {
            step("chown")?;
            fchown(file, Some(user), Some(group))?;
        }
        step("chmod")?;
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    write_all(file, bytes)?;
    sync_file(file)
}

/// Removes stale staged files that killed processes left beside a file.
fn remove_stale_staged(folder: &Path, start: &str) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with(start) && name.ends_with(STAGED_SUFFIX) && is_stale(&entry) {
            let _ = remove_file(&entry.path());
        }
    }
}

fn is_stale(entry: &std::fs::DirEntry) -> bool {
    let changed = entry.metadata().and_then(|known| known.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    age.is_some_and(|age| age > STAGED_MAX_AGE)
}

/// Creates a folder as the user's own programs do: with the permissions that the umask leaves.
pub fn create_folder(path: &Path) -> io::Result<()> {
    step("mkdir")?;
    std::fs::create_dir(path)
}

/// Removes a folder that is empty.
pub fn remove_empty_folder(path: &Path) -> io::Result<()> {
    step("rmdir")?;
    std::fs::remove_dir(path)
}

/// Restricts a file or folder to its owner (0600, 0700).
#[cfg(unix)]
pub fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    step("chmod")?;
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Creates a hard link. Fails if `to` exists or is on another file system.
pub fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    step("link")?;
    std::fs::hard_link(from, to)
}

/// Makes a file that only its owner reads, empty whatever was there, for reading and writing.
pub fn create_private(path: &Path) -> io::Result<File> {
    step("create")?;
    let mut options = OpenOptions::new();
    open_owner_only(options.read(true).write(true).create(true).truncate(true), path)
}

/// Writes all of the bytes at the file's position.
pub fn write_all(file: &File, bytes: &[u8]) -> io::Result<()> {
    StepWriter(file).write_all(bytes)
}

/// Renames a file of our own, replacing `to`.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step("rename")?;
    std::fs::rename(from, to)
}

/// Appends bytes at the end of an open file.
pub fn append(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    write_all(file, bytes)
}

/// Makes a file's bytes survive power loss.
pub fn sync_file(file: &File) -> io::Result<()> {
    step("fsync")?;
    file.sync_data()
}

/// Makes a folder's entries survive power loss.
pub fn sync_dir(folder: &Path) -> io::Result<()> {
    step("fsync folder")?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Cuts a file to a length.
pub fn truncate(file: &File, length: u64) -> io::Result<()> {
    step("truncate")?;
    file.set_len(length)
}

/// Writes a few bytes into a private file without syncing it.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let file = create_private(path)?;
    write_all(&file, bytes)?;
    Ok(file)
}

/// Removes a file.
pub fn remove_file(path: &Path) -> io::Result<()> {
    step("unlink")?;
    std::fs::remove_file(path)
}

/// Removes a folder with everything in it; links in it are removed, not followed.
pub fn remove_dir_all(path: &Path) -> io::Result<()> {
    if !path.symlink_metadata()?.is_dir() {
        return remove_file(path);
    }
    for entry in std::fs::read_dir(path)? {
        remove_dir_all(&entry?.path())?;
    }
    remove_empty_folder(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_taken_and_old_ones_do_no_harm() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a.json");
        let name = |count: u32| format!(".a.json.{}-{count}.retake-tmp", std::process::id());
        let (taken, old) = (temp.path().join(name(0)), temp.path().join(".a.json.1-0.retake-tmp"));
        std::fs::write(&taken, "taken").unwrap();
        std::fs::write(&old, "old").unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * STAGED_MAX_AGE;
        File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        StagedReplacement::new(&path, b"new", StagedPermissions::New(0o666))
            .unwrap()
            .persist()
            .unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(taken.exists() && !old.exists());
        // What is not put leaves nothing.
        drop(StagedReplacement::new(&path, b"newer", StagedPermissions::New(0o666)).unwrap());
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 2);
    }
}
