//! Staging: writes new contents beside their targets, complete and durable, before
//! any target is touched.
//!
//! Invariant: a temp that [`Workspace::stage`] returned holds the whole content
//! and the final mode; one that failed is gone again.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use retake_model::{FileKind, ProjectPath};
use retake_seam::at;

use super::name::temp_name;
use super::target::WriteTarget;
use super::{WriteError, WriteFault};
use crate::Workspace;
use crate::safe_open::MAX_PATH_BYTES;
use crate::stat::EntryStat;

/// Maximum number of files or folders that are synced one by one; above, syncing the
/// whole file system at once costs less (measured on ext4: 10 files 0.5 ms
/// instead of 2.4, 100 files 2 ms instead of 22). A few are still synced one by one:
/// other processes may have much dirty data there.
pub(super) const MAX_SINGLE_SYNCS: usize = 4;

const WRITE_BUFFER_BYTES: usize = 128 * 1024;

/// A temp that holds a whole content.
#[derive(Clone, Debug)]
pub struct StagedFile {
    /// Where it lies.
    pub temp: ProjectPath,
    /// Regular file or link.
    pub kind: FileKind,
    inode: u64,
    /// Synced already, because its mode forbids to open it again.
    synced: bool,
}

/// Produces a content; called once.
type ContentWriter<'f> = &'f mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

impl Workspace {
    /// Where the new content of `path` can be staged: `.retake-<tag>.tmp` in
    /// the path's own folder, or in the deepest one that exists and leaves
    /// room for the name. Reads only.
    ///
    /// The tag is plain (letters, digits, `-`, `_`; at most 100 bytes) and
    /// unique per path of an operation: a temp that exists is never reused.
    pub fn temp_for(&self, path: &ProjectPath, tag: &str) -> Result<ProjectPath, WriteError> {
        let find = || -> Result<ProjectPath, WriteFault> {
            self.check_allowed(path)?;
            let name = temp_name(tag).ok_or(WriteFault::NotATemp)?;
            let mut folder = self.deepest_folder(path)?.path;
            while let Some(inside) = folder {
                // One more byte for the spare's name.
                if inside.as_bytes().len() + 1 + name.len() + 1 < MAX_PATH_BYTES {
                    return inside.child(&name).map_err(|_| WriteFault::NotATemp);
                }
                folder = inside.parent();
            }
            ProjectPath::new(name).map_err(|_| WriteFault::NotATemp)
        };
        find().map_err(|why| why.at(path, "find a place for the new content of"))
    }

    /// Writes a content under a temp's name, where nothing may stand.
    ///
    /// `fill` produces the content; of a link, the target's text. The file is
    /// its owner's alone until it is complete and gets `mode` (its bits
    /// `0o7777`; of a link the mode means nothing).
    pub fn stage(
        &self,
        temp: &ProjectPath,
        kind: FileKind,
        mode: u32,
        fill: ContentWriter<'_>,
    ) -> Result<StagedFile, WriteError> {
        let target = self.open_temp_target(temp, "write")?;
        match kind {
            FileKind::File => stage_file(&target, mode, fill),
            FileKind::Link => stage_link(&target, fill),
        }
    }

    /// Makes staged contents survive power loss, together.
    pub fn sync_staged(&self, staged: &[StagedFile]) -> Result<(), WriteError> {
        const ACT: &str = "sync";
        if staged.len() > MAX_SINGLE_SYNCS
            && let Some(done) = self.sync_file_system()
        {
            return done.map_err(|error| WriteFault::from(error).at(&staged[0].temp, ACT));
        }
        for one in staged.iter().filter(|one| one.kind == FileKind::File && !one.synced) {
            let target = self.open_temp_target(&one.temp, ACT)?;
            let file = self.open_staged(&target, one.inode).map_err(|why| target.error(why))?;
            at::sync(file).map_err(|error| target.error(error))?;
        }
        // A link cannot be opened; it becomes durable with its name.
        let links: BTreeSet<_> =
            staged.iter().filter(|one| one.kind == FileKind::Link).map(|one| &one.temp).collect();
        self.sync_folders(links)
    }

    /// Makes the modes of these files survive power loss, together: the names in a folder can be
    /// synced without the files behind them.
    pub fn sync_modes<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p ProjectPath>,
    ) -> Result<(), WriteError> {
        const ACT: &str = "sync the mode of";
        let paths: Vec<_> = paths.into_iter().collect();
        if paths.len() > MAX_SINGLE_SYNCS
            && let Some(done) = self.sync_file_system()
        {
            return done.map_err(|error| WriteFault::from(error).at(paths[0], ACT));
        }
        for path in paths {
            let target = self.open_target(path, ACT)?;
            let done = match self.safe_root.open_file(target.at().folder, target.at().name) {
                Ok(file) => at::sync(file).map_err(WriteFault::from),
                Err(errno) => self.sync_unreadable(errno),
            };
            done.map_err(|why| target.error(why))?;
        }
        Ok(())
    }

    fn open_staged(&self, target: &WriteTarget<'_>, inode: u64) -> Result<OwnedFd, WriteFault> {
        let at = target.at();
        let file = self.safe_root.open_file(at.folder, at.name)?;
        match EntryStat::of(&rustix::fs::fstat(&file)?) {
            EntryStat::File(stat) if stat.inode == inode => Ok(file),
            // The file that we wrote is gone.
            _ => Err(WriteFault::Gone),
        }
    }

    /// Makes everything on the root's file system durable; `None` where the
    /// system cannot.
    pub(super) fn sync_file_system(&self) -> Option<io::Result<()>> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        return {
            let root = self.safe_root.root().ok()?;
            forwards_syncfs(root).then(|| at::sync_file_system(root))
        };
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        None
    }
}

/// Returns `true` if the kernel forwards `syncfs` to the file system. It does not for FUSE
/// (sshfs, rclone, encfs): the call succeeds, and nothing was done.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn forwards_syncfs(root: BorrowedFd<'_>) -> bool {
    const FUSE: u64 = 0x6573_5546;
    rustix::fs::fstatfs(root).is_ok_and(|found| found.f_type as u64 & 0xffff_ffff != FUSE)
}

fn stage_file(
    target: &WriteTarget<'_>,
    mode: u32,
    fill: ContentWriter<'_>,
) -> Result<StagedFile, WriteError> {
    let opened = at::create(target.at()).map_err(|error| target.error(error))?;
    fill_temp(target, &opened, mode, fill).map_err(|why| {
        if let Err(error) = at::unlink(target.at()) {
            tracing::warn!(temp = %target.path, %error, "an incomplete temp stays behind");
        }
        target.error(why)
    })
}

fn fill_temp(
    target: &WriteTarget<'_>,
    opened: &OwnedFd,
    mode: u32,
    fill: ContentWriter<'_>,
) -> Result<StagedFile, WriteFault> {
    write_content(opened.as_fd(), fill)?;
    // After the content: a write takes the setuid bit away.
    at::set_mode(opened.as_fd(), mode)?;
    // Without the right to read it cannot be opened again to be synced.
    let unreadable = mode & 0o400 == 0;
    if unreadable {
        at::sync(opened.try_clone()?)?;
    }
    #[allow(clippy::unnecessary_cast)] // the C type differs between systems
    let inode = rustix::fs::fstat(opened)?.st_ino as u64;
    let temp = target.path.clone();
    Ok(StagedFile { temp, kind: FileKind::File, inode, synced: unreadable })
}

fn write_content(opened: BorrowedFd<'_>, fill: ContentWriter<'_>) -> Result<(), WriteFault> {
    let mut buffered =
        BufWriter::with_capacity(WRITE_BUFFER_BYTES, TempWriter { file: opened, fault: None });
    let filled = fill(&mut buffered).and_then(|()| buffered.flush());
    // Taken apart, not dropped: that would write the rest once more.
    let (target, _) = buffered.into_parts();
    match (target.fault, filled) {
        (Some(error), _) => Err(WriteFault::Io(error)),
        (None, Err(error)) => Err(WriteFault::Filled(error)),
        (None, Ok(())) => Ok(()),
    }
}

fn stage_link(target: &WriteTarget<'_>, fill: ContentWriter<'_>) -> Result<StagedFile, WriteError> {
    let mut link_text = Vec::new();
    fill(&mut link_text).map_err(|error| target.error(WriteFault::Filled(error)))?;
    if link_text.is_empty() || link_text.contains(&0) {
        let error = io::Error::new(io::ErrorKind::InvalidData, "no link has such a target");
        return Err(target.error(WriteFault::Filled(error)));
    }
    at::symlink(&link_text, target.at()).map_err(|error| target.error(error))?;
    let inode = target.file_or_link()?.inode;
    Ok(StagedFile { temp: target.path.clone(), kind: FileKind::Link, inode, synced: false })
}

/// Writes to the temp, and remembers an error as the file's own.
struct TempWriter<'f> {
    file: BorrowedFd<'f>,
    fault: Option<io::Error>,
}

impl Write for TempWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        at::write(self.file, bytes).map_err(|error| {
            let copy = error
                .raw_os_error()
                .map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            self.fault = Some(error);
            copy
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
