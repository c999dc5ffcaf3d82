//! Checks before a write, which change nothing, and `set_mode`, which moves nothing.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use retake_model::ProjectPath;
use retake_seam::at;
use rustix::fs::{Access, AtFlags, accessat, fstat, fstatvfs, statat};
use rustix::io::Errno;

use super::target::{DeepestFolder, WriteTarget, require_movable};
use super::{WriteError, WriteFault};
use crate::Workspace;
use crate::safe_open::stat_at;
use crate::stat::EntryStat;

impl Workspace {
    /// Checks that `path` could be written now, as far as reading can tell:
    /// replaced if a file or link is there, else created.
    ///
    /// The folder that it is in, or the deepest one on its way, must be a real
    /// folder of this mount that we may write.
    pub fn check_writable(&self, path: &ProjectPath) -> Result<(), WriteError> {
        let ask = || -> Result<(), WriteFault> {
            self.check_allowed(path)?;
            let way = self.deepest_folder(path)?;
            check_folder_writable(&way)?;
            if way.path != path.parent() {
                return Ok(());
            }
            match stat_at(way.folder.fd.as_fd(), path.file_name()) {
                Ok(entry) => {
                    require_movable(entry)?;
                    check_movable(way.folder.fd.as_fd(), path.file_name())
                }
                Err(Errno::NOENT) => Ok(()),
                Err(errno) => Err(errno.into()),
            }
        };
        ask().map_err(|why| why.at(path, "write"))
    }

    /// Gives a regular file another mode (the bits `0o7777`); it stays the
    /// same file with the same content and mtime.
    pub fn set_mode(&self, path: &ProjectPath, mode: u32) -> Result<(), WriteError> {
        let target = self.open_target(path, "change the mode of")?;
        // Looked at before it is opened: opening a device can have effects.
        require_regular(target.stat()?).map_err(|why| target.error(why))?;
        let done = match self.safe_root.open_file(target.at().folder, target.at().name) {
            Ok(file) => set_mode_of(&file, mode),
            // A mode that shuts out even the owner must not be for ever.
            Err(Errno::ACCESS) => self.set_mode_unopened(&target, mode),
            Err(Errno::LOOP) => Err(WriteFault::NotAFile("symbolic link")),
            Err(errno) => Err(errno.into()),
        };
        done.map_err(|why| target.error(why))
    }

    /// Returns the hard link count of the regular file at `path`: with more than one,
    /// an exchange separates it from its other names.
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless)] // the C types differ between systems
    pub fn link_count(&self, path: &ProjectPath) -> Option<u64> {
        let target = self.open_target(path, "look at").ok()?;
        let stat = statat(target.at().folder, target.at().name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        matches!(EntryStat::of(&stat), EntryStat::File(_)).then_some(stat.st_nlink as u64)
    }

    /// Returns device and inode of the regular file at `path`, and its hard link count; `None` if
    /// that is one.
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless)] // the C types differ between systems
    pub fn shared_file(&self, path: &ProjectPath) -> Option<((u64, u64), u64)> {
        let target = self.open_target(path, "look at").ok()?;
        let stat = statat(target.at().folder, target.at().name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let names = stat.st_nlink as u64;
        let is_shared = matches!(EntryStat::of(&stat), EntryStat::File(_)) && names > 1;
        is_shared.then_some(((stat.st_dev as u64, stat.st_ino as u64), names))
    }

    /// Returns the extended attributes that were set on the regular file at `path`, among them
    /// access lists and capabilities: an exchange loses them all.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn extended_attributes(&self, path: &ProjectPath) -> Vec<String> {
        /// Maximum bytes of the list that the system returns.
        const MAX_XATTR_LIST_BYTES: usize = 64 << 10;
        let Ok(target) = self.open_target(path, "look at") else { return Vec::new() };
        // Looked at before it is opened: opening a device can have effects.
        if !matches!(target.stat(), Ok(EntryStat::File(_))) {
            return Vec::new();
        }
        let Ok(file) = self.safe_root.open_file(target.at().folder, target.at().name) else {
            return Vec::new();
        };
        let mut list = vec![0; MAX_XATTR_LIST_BYTES];
        let length = rustix::fs::flistxattr(&file, &mut list[..]).unwrap_or(0);
        let names = list[..length].split(|byte| *byte == 0).map(String::from_utf8_lossy);
        names.filter(|name| is_user_attribute(name)).map(String::from).collect()
    }

    /// Elsewhere the system itself marks nearly every file.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    #[allow(clippy::unused_self, reason = "elsewhere it needs the root")]
    pub fn extended_attributes(&self, _: &ProjectPath) -> Vec<String> {
        Vec::new()
    }

    /// Returns the free bytes of the root's file system that we may use.
    pub fn free_bytes(&self) -> Option<u64> {
        let found = self.safe_root.root().and_then(fstatvfs).ok()?;
        found.f_bavail.checked_mul(found.f_frsize)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn set_mode_unopened(&self, target: &WriteTarget<'_>, mode: u32) -> Result<(), WriteFault> {
        let located = self.safe_root.open_path_only(target.at().folder, target.at().name)?;
        require_regular(EntryStat::of(&fstat(&located)?))?;
        Ok(at::set_mode_located(located.as_fd(), mode)?)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    #[allow(clippy::unused_self, reason = "elsewhere it needs the root")]
    fn set_mode_unopened(&self, target: &WriteTarget<'_>, mode: u32) -> Result<(), WriteFault> {
        Ok(at::set_mode_named(target.at(), mode)?)
    }
}

/// Returns `true` if a user or program set it; security modules set their labels on any file.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_user_attribute(attribute: &str) -> bool {
    attribute.starts_with("user.")
        || ["system.posix_acl_access", "security.capability"].contains(&attribute)
}

fn set_mode_of(file: &OwnedFd, mode: u32) -> Result<(), WriteFault> {
    require_regular(EntryStat::of(&fstat(file)?))?;
    Ok(at::set_mode(file.as_fd(), mode)?)
}

fn require_regular(entry: EntryStat) -> Result<(), WriteFault> {
    match entry {
        EntryStat::Link(_) => Err(WriteFault::NotAFile("symbolic link")),
        entry => require_movable(entry).map(drop),
    }
}

/// Checks that names in this folder may be created, renamed and removed.
fn check_folder_writable(way: &DeepestFolder) -> Result<(), WriteFault> {
    let folder = way.folder.fd.as_fd();
    if move_blockers(folder, b".")?.fixed {
        return Err(WriteFault::Immutable);
    }
    match accessat(folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        // An old system cannot tell: the write itself will.
        Ok(()) | Err(Errno::NOSYS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn check_movable(folder: BorrowedFd<'_>, name: &[u8]) -> Result<(), WriteFault> {
    match move_blockers(folder, name)? {
        MoveBlockers { mounted: true, .. } => Err(WriteFault::OtherMount),
        MoveBlockers { fixed: true, .. } => Err(WriteFault::Immutable),
        _ => Ok(()),
    }
}

/// Attributes that forbid to move a file, even for root.
struct MoveBlockers {
    /// Immutable or append-only.
    fixed: bool,
    /// Something is mounted on it.
    mounted: bool,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn move_blockers(folder: BorrowedFd<'_>, name: &[u8]) -> Result<MoveBlockers, Errno> {
    use rustix::fs::{StatxAttributes, StatxFlags, statx};
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let found = match statx(folder, name, flags, StatxFlags::empty()) {
        Ok(found) => found.stx_attributes,
        Err(Errno::NOSYS) => StatxAttributes::empty(),
        Err(errno) => return Err(errno),
    };
    Ok(MoveBlockers {
        fixed: found.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND),
        mounted: found.contains(StatxAttributes::MOUNT_ROOT),
    })
}

#[cfg(target_vendor = "apple")]
fn move_blockers(folder: BorrowedFd<'_>, name: &[u8]) -> Result<MoveBlockers, Errno> {
    /// The flags `UF_` and `SF_`, `IMMUTABLE` and `APPEND`.
    const IMMUTABLE_FLAGS: u32 = 0x0006_0006;
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(MoveBlockers { fixed: found.st_flags & IMMUTABLE_FLAGS != 0, mounted: false })
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn move_blockers(_: BorrowedFd<'_>, _: &[u8]) -> Result<MoveBlockers, Errno> {
    Ok(MoveBlockers { fixed: false, mounted: false })
}
