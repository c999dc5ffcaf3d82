//! Mutating file-system calls, each behind one [`step`].
//!
//! Files and folders made here belong to their owner alone (0600, 0700).

#![expect(clippy::disallowed_methods, reason = "this is the door that the ban leads to")]

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::step;

/// Creates a folder and its parents, for the owner alone.
pub fn create_private_dir_all(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    step("mkdir")?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Opens a file for reading and writing, creating it for the owner alone.
pub fn open_private(path: &Path) -> io::Result<File> {
    step("open")?;
    private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path)
}

/// Writes a whole file so that a reader sees the old bytes or the new ones, durably.
pub fn replace_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("a file has a folder"))?;
    let temp = path.with_extension(format!("{}.tmp", std::process::id()));
    step("write temp")?;
    let mut file =
        private(OpenOptions::new().write(true).create(true).truncate(true)).open(&temp)?;
    file.write_all(bytes)?;
    step("fsync temp")?;
    file.sync_all()?;
    step("rename")?;
    std::fs::rename(&temp, path)?;
    sync_dir(folder)
}

/// Appends bytes at the end of an open file.
pub fn append(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek as _, SeekFrom};
    step("append")?;
    file.seek(SeekFrom::End(0))?;
    file.write_all(bytes)
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

/// Writes a few bytes into a private file without any promise of durability.
pub fn touch(path: &Path, bytes: &[u8]) -> io::Result<File> {
    step("touch")?;
    let mut file =
        private(OpenOptions::new().write(true).create(true).truncate(true)).open(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Removes a file.
pub fn remove_file(path: &Path) -> io::Result<()> {
    step("unlink")?;
    std::fs::remove_file(path)
}

/// Removes a folder with everything in it; links in it are removed, not followed.
pub fn remove_dir_all(path: &Path) -> io::Result<()> {
    step("remove folder")?;
    if path.symlink_metadata()?.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    }
}
