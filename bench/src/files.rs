//! File operations of the benchmark: edits of agents and people, copies, its scratch folder.

#![expect(clippy::disallowed_methods, reason = "a benchmark plays the user, not Retake")]

use std::collections::HashSet;
use std::fs::{File, FileTimes, Metadata, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use anyhow::{Context as _, Result};

/// A folder that goes when it is dropped.
pub(crate) fn scratch_in(folder: &Path) -> Result<tempfile::TempDir> {
    let mut scratch = tempfile::Builder::new();
    scratch.prefix("retake-bench-").tempdir_in(folder).with_context(|| {
        format!("{} cannot be used: name another folder with --scratch", folder.display())
    })
}

/// Writes a file as an editor does that does not sync; folders are made as needed.
pub(crate) fn write(file: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, content).with_context(|| format!("{} cannot be written", file.display()))
}

/// Copies a file with its mode.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?;
    Ok(())
}

/// Adds to the end of a file.
pub(crate) fn append(file: &Path, text: &str) -> Result<()> {
    let mut opened = OpenOptions::new().append(true).create(true).open(file)?;
    Ok(opened.write_all(text.as_bytes())?)
}

/// Writes a file so that it survives power loss.
pub(crate) fn write_synced(file: &Path, content: &[u8]) -> Result<()> {
    let mut opened = File::create(file)?;
    opened.write_all(content)?;
    Ok(opened.sync_all()?)
}

/// Adds to the end of a file so that it survives power loss.
pub(crate) fn append_synced(file: &mut File, content: &[u8]) -> Result<()> {
    file.write_all(content)?;
    Ok(file.sync_data()?)
}

/// Writes a file beside its place, syncs it, moves it there, and syncs the folder.
pub(crate) fn replace_synced(file: &Path, content: &[u8]) -> Result<()> {
    let beside = file.with_extension("tmp");
    write_synced(&beside, content)?;
    std::fs::rename(&beside, file)?;
    let folder = file.parent().context("a file has a folder")?;
    Ok(File::open(folder)?.sync_all()?)
}

pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    Ok(std::fs::create_dir_all(folder)?)
}

/// Removes a folder with all that is in it; it may be missing.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Syncs the file system, so that no measurement pays for the one before.
pub(crate) fn sync_file_system(folder: &Path) -> Result<()> {
    let opened = File::open(folder)?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(opened)?;
    #[cfg(not(target_os = "linux"))]
    {
        drop(opened);
        rustix::fs::sync();
    }
    Ok(())
}

/// Drops the system's caches; `false` without the permission to.
pub(crate) fn drop_caches(folder: &Path) -> Result<bool> {
    sync_file_system(folder)?;
    Ok(std::fs::write("/proc/sys/vm/drop_caches", "3\n").is_ok())
}

/// Copies a folder with modes, times and symbolic links; what `linked` names (by its path from
/// the top) is linked instead, with all beneath.
pub(crate) fn copy_tree(from: &Path, to: &Path, leave_out: &[&str], linked: &[&str]) -> Result<()> {
    copy_folder(from, to, Path::new(""), leave_out, linked, false)
}

fn copy_folder(
    from: &Path,
    to: &Path,
    at: &Path,
    leave_out: &[&str],
    linked: &[&str],
    link: bool,
) -> Result<()> {
    let here = to.join(at);
    std::fs::create_dir_all(&here)?;
    for entry in std::fs::read_dir(from.join(at))? {
        let entry = entry?;
        let path = at.join(entry.file_name());
        let names = |list: &[&str]| list.iter().any(|name| Path::new(name) == path);
        if names(leave_out) {
            continue;
        }
        let about = entry.metadata()?;
        let (source, target) = (from.join(&path), to.join(&path));
        if about.is_dir() {
            copy_folder(from, to, &path, leave_out, linked, link || names(linked))?;
        } else if about.is_symlink() {
            symlink(std::fs::read_link(source)?, target)?;
        } else if link {
            std::fs::hard_link(source, target)?;
        } else {
            copy_file(&source, &target, &about)?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, about: &Metadata) -> Result<()> {
    std::fs::copy(from, to)?;
    let times = FileTimes::new().set_modified(about.modified()?);
    Ok(OpenOptions::new().write(true).open(to)?.set_times(times)?)
}

/// The space that files take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DiskSpace {
    /// Blocks of files that are not shared.
    pub(crate) own: u64,
    /// Blocks of files that are the very files of the user's repository.
    pub(crate) shared: u64,
}

/// The space of everything in a folder, each inode once. Blocks of inodes that the folder
/// `shared` has, too, cost nothing.
pub(crate) fn space(folder: &Path, shared: Option<&Path>) -> Result<DiskSpace> {
    let mut theirs = HashSet::new();
    if let Some(shared) = shared {
        each_file(shared, &mut |about| {
            theirs.insert(about.ino());
        })?;
    }
    let (mut seen, mut space) = (HashSet::new(), DiskSpace::default());
    each_file(folder, &mut |about| {
        if seen.insert(about.ino()) {
            let part =
                if theirs.contains(&about.ino()) { &mut space.shared } else { &mut space.own };
            *part += about.blocks() * 512;
        }
    })?;
    Ok(space)
}

fn each_file(folder: &Path, see: &mut impl FnMut(&Metadata)) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        see(&about);
        if about.is_dir() {
            each_file(&entry.path(), see)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_file_costs_nothing_and_a_copied_one_keeps_its_time() {
        let top = tempfile::tempdir().unwrap();
        let (from, to) = (top.path().join("from"), top.path().join("to"));
        write(&from.join("git/pack"), &[7; 10_000]).unwrap();
        write(&from.join("src/a.rs"), &[8; 10_000]).unwrap();
        write(&from.join("gone/b"), b"b").unwrap();
        symlink("a.rs", from.join("src/link")).unwrap();
        copy_tree(&from, &to, &["gone"], &["git"]).unwrap();
        assert!(!to.join("gone").exists());
        assert_eq!(std::fs::read_link(to.join("src/link")).unwrap(), Path::new("a.rs"));
        let time = |root: &Path| root.join("src/a.rs").metadata().unwrap().modified().unwrap();
        assert_eq!(time(&from), time(&to));
        let space = space(&to, Some(&from)).unwrap();
        assert_eq!(space.shared, to.join("git/pack").metadata().unwrap().blocks() * 512);
        assert!(space.own >= 10_000);
        remove(&to).unwrap();
        remove(&to).unwrap();
    }
}
