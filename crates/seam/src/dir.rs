//! Writes into one folder without ever following a symlink out of it.
//!
//! Each name is one component, opened relative to the folder's descriptor and
//! never through a link. A file appears whole under its name, or not at all.

#![expect(clippy::disallowed_methods, reason = "this is the door that the ban leads to")]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::fs::StepWriter;
use crate::step;

/// An open folder.
#[derive(Debug)]
pub struct ConfinedDir {
    fd: OwnedFd,
}

impl ConfinedDir {
    /// Opens a folder that a person named; made for the owner alone if it is not there.
    pub fn open(path: &Path) -> io::Result<Self> {
        crate::fs::create_private_dir_all(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { fd: rustix::fs::open(path, flags, Mode::empty())? })
    }

    /// Returns whether nothing is in it.
    pub fn is_empty(&self) -> io::Result<bool> {
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The folder of this name in it, made if it is not there; a link is refused.
    pub fn folder(&self, name: &str) -> io::Result<Self> {
        check_one_component(name)?;
        step("mkdir")?;
        match rustix::fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())? })
    }

    /// A new file that takes this name when it is finished, in place of whatever has it then.
    pub fn file(&self, name: &str) -> io::Result<UnfinishedFile<'_>> {
        check_one_component(name)?;
        let temp = format!(".{}.tmp", std::process::id());
        // A killed process with the same pid may have left one.
        self.remove(&temp);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        step("create")?;
        let file = File::from(rustix::fs::openat(&self.fd, &temp, flags, mode)?);
        let out = io::BufWriter::with_capacity(64 * 1024, StepWriter(file));
        Ok(UnfinishedFile { dir: self, temp, name: name.to_owned(), out, finished: false })
    }
}

impl ConfinedDir {
    /// Removes a temporary file, if it is there. One that stays does no harm.
    fn remove(&self, temp: &str) {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let is_there = rustix::fs::statat(&self.fd, temp, flags).is_ok();
        if is_there && step("unlink").is_ok() {
            let _ = rustix::fs::unlinkat(&self.fd, temp, AtFlags::empty());
        }
    }
}

fn check_one_component(name: &str) -> io::Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' is no name")));
    }
    Ok(())
}

/// A file that is being written under a temporary name; removed if dropped unfinished.
#[derive(Debug)]
pub struct UnfinishedFile<'d> {
    dir: &'d ConfinedDir,
    temp: String,
    name: String,
    out: io::BufWriter<StepWriter<File>>,
    finished: bool,
}

impl UnfinishedFile<'_> {
    /// Gives the file its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        step("rename")?;
        rustix::fs::renameat(&self.dir.fd, &self.temp, &self.dir.fd, &self.name)?;
        self.finished = true;
        Ok(())
    }
}

impl Write for UnfinishedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for UnfinishedFile<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.dir.remove(&self.temp);
        }
    }
}
