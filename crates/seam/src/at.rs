//! Mutating calls on a name in an opened folder, each behind one [`step`].
//!
//! These change the user's files. A name is given as one component in a folder
//! that the caller holds open, so no call here resolves a path: whether the
//! folder may be written was decided when it was opened.

#![expect(clippy::disallowed_methods, reason = "this is the door that the ban leads to")]

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::retry_on_intr;

use crate::step;

/// A name in an opened folder.
#[derive(Clone, Copy, Debug)]
pub struct EntryAt<'a> {
    /// The folder.
    pub folder: BorrowedFd<'a>,
    /// One component: no `/`, not `.` or `..`.
    pub name: &'a [u8],
}

/// Creates a file that was not there, for the owner alone, to be written.
pub fn create(at: EntryAt<'_>) -> io::Result<OwnedFd> {
    step("create")?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    Ok(retry_on_intr(|| rustix::fs::openat(at.folder, at.name, flags, mode))?)
}

/// Writes some of the bytes at the file's position; returns how many.
pub fn write(file: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    crate::write("write file", bytes, |bytes| Ok(retry_on_intr(|| rustix::io::write(file, bytes))?))
}

/// Sets the permission bits of an opened file.
pub fn set_mode(file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    step("chmod")?;
    Ok(rustix::fs::fchmod(file, permissions(mode))?)
}

/// Sets the permission bits of a file that its owner may not open.
///
/// `located` is a descriptor that only locates the file (`O_PATH`); the system
/// changes the mode of such a one by no other way than its name in `/proc`.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn set_mode_located(located: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    step("chmod located")?;
    let name = format!("/proc/self/fd/{}", located.as_raw_fd());
    Ok(rustix::fs::chmod(name, permissions(mode))?)
}

/// Sets the permission bits of a file that its owner may not open; follows no link.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn set_mode_named(at: EntryAt<'_>, mode: u32) -> io::Result<()> {
    step("chmod named")?;
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    Ok(rustix::fs::chmodat(at.folder, at.name, permissions(mode), flags)?)
}

// The C type of a mode differs between systems.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as rustix::fs::RawMode)
}

/// Makes a symbolic link with this target's text.
pub fn symlink(target: &[u8], at: EntryAt<'_>) -> io::Result<()> {
    step("symlink")?;
    Ok(rustix::fs::symlinkat(target, at.folder, at.name)?)
}

/// Makes what a file holds, or a folder's names, survive power loss.
pub fn sync(opened: OwnedFd) -> io::Result<()> {
    step("fsync")?;
    // std asks macOS for more than fsync, which does not reach the disk there.
    File::from(opened).sync_all()
}

/// Makes everything on the file system of `opened` survive power loss.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn sync_file_system(opened: BorrowedFd<'_>) -> io::Result<()> {
    step("syncfs")?;
    Ok(rustix::fs::syncfs(opened)?)
}

/// Swaps what two names stand for, in one moment.
pub fn exchange(one: EntryAt<'_>, other: EntryAt<'_>) -> io::Result<()> {
    step("exchange")?;
    flagged::exchange(one, other)
}

/// Renames; fails with `EEXIST` if something stands at `to`.
pub fn rename_new(from: EntryAt<'_>, to: EntryAt<'_>) -> io::Result<()> {
    step("rename new")?;
    flagged::rename_new(from, to)
}

/// Renames; what stands at `to` is lost.
pub fn rename_over(from: EntryAt<'_>, to: EntryAt<'_>) -> io::Result<()> {
    step("rename over")?;
    Ok(rustix::fs::renameat(from.folder, from.name, to.folder, to.name)?)
}

/// Creates a hard link to a file or symlink; fails with `EEXIST` if `to` exists.
pub fn link(from: EntryAt<'_>, to: EntryAt<'_>) -> io::Result<()> {
    step("link")?;
    Ok(rustix::fs::linkat(from.folder, from.name, to.folder, to.name, AtFlags::empty())?)
}

/// Removes a name of a file or link.
pub fn unlink(at: EntryAt<'_>) -> io::Result<()> {
    step("unlink")?;
    Ok(rustix::fs::unlinkat(at.folder, at.name, AtFlags::empty())?)
}

/// Makes a folder as the user's own tools do: with the permissions that the umask leaves.
pub fn make_folder(at: EntryAt<'_>) -> io::Result<()> {
    step("mkdir")?;
    Ok(rustix::fs::mkdirat(at.folder, at.name, Mode::from_raw_mode(0o777))?)
}

/// Removes an empty folder.
pub fn remove_folder(at: EntryAt<'_>) -> io::Result<()> {
    step("rmdir")?;
    Ok(rustix::fs::unlinkat(at.folder, at.name, AtFlags::REMOVEDIR)?)
}

/// Renames with flags, where the system has them.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod flagged {
    use rustix::fs::{RenameFlags, renameat_with};

    use super::{EntryAt, io};

    pub(super) fn exchange(one: EntryAt<'_>, other: EntryAt<'_>) -> io::Result<()> {
        rename(one, other, RenameFlags::EXCHANGE)
    }

    pub(super) fn rename_new(from: EntryAt<'_>, to: EntryAt<'_>) -> io::Result<()> {
        rename(from, to, RenameFlags::NOREPLACE)
    }

    fn rename(from: EntryAt<'_>, to: EntryAt<'_>, flags: RenameFlags) -> io::Result<()> {
        Ok(renameat_with(from.folder, from.name, to.folder, to.name, flags)?)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod flagged {
    use super::{EntryAt, io};

    pub(super) fn exchange(_: EntryAt<'_>, _: EntryAt<'_>) -> io::Result<()> {
        Err(rustix::io::Errno::NOTSUP.into())
    }

    pub(super) fn rename_new(_: EntryAt<'_>, _: EntryAt<'_>) -> io::Result<()> {
        Err(rustix::io::Errno::NOTSUP.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{read_link, symlink_metadata};
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn each_call_does_what_its_name_says() {
        let temp = tempfile::tempdir().unwrap();
        let folder = File::open(temp.path()).unwrap();
        let at = |name: &'static str| EntryAt { folder: folder.as_fd(), name: name.as_bytes() };
        let text = |name: &str| std::fs::read_to_string(temp.path().join(name)).unwrap();
        let mode =
            |name: &str| symlink_metadata(temp.path().join(name)).unwrap().permissions().mode();

        let file = create(at("a")).unwrap();
        assert_eq!((write(file.as_fd(), b"one").unwrap(), mode("a") & 0o7777), (3, 0o600));
        set_mode(file.as_fd(), 0o4751).unwrap();
        assert_eq!(mode("a") & 0o7777, 0o4751);
        sync(file).unwrap();
        let exists = create(at("a")).unwrap_err();
        assert_eq!(exists.kind(), io::ErrorKind::AlreadyExists);

        write(create(at("b")).unwrap().as_fd(), b"two").unwrap();
        exchange(at("a"), at("b")).unwrap();
        assert_eq!((text("a"), text("b")), ("two".into(), "one".into()));
        assert_eq!(rename_new(at("a"), at("b")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(link(at("a"), at("b")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        link(at("a"), at("c")).unwrap();
        rename_over(at("b"), at("a")).unwrap();
        assert_eq!((text("a"), text("c")), ("one".into(), "two".into()));
        unlink(at("c")).unwrap();
        symlink(b"to/nowhere", at("c")).unwrap();
        assert_eq!(read_link(temp.path().join("c")).unwrap().to_str(), Some("to/nowhere"));
        make_folder(at("d")).unwrap();
        assert!(unlink(at("d")).is_err() && remove_folder(at("c")).is_err());
        remove_folder(at("d")).unwrap();
        assert!(symlink_metadata(temp.path().join("d")).is_err());
    }
}
