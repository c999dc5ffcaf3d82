//! Reads one file's content, whole and consistent.
//!
//! Invariants: nothing is reached through a link; only regular files are
//! opened; the content handed to the sink last belongs to the stat returned
//! (row 27): a file that changes while it is read is read again, three times
//! in all.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::path::Path;

use retake_model::{GapReason, ProjectPath, format_count};
use rustix::io::{Errno, retry_on_intr};

use crate::safe_open::{OpenFolder, gap_reason, stat_at};
use crate::stat::EntryStat;
use crate::{FileStat, Workspace};

const MAX_READ_ATTEMPTS: usize = 3;

/// Why a content could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing at the path, or a link stands on the way.
    #[error("there is no such file")]
    Gone,
    /// A folder, FIFO, socket or device.
    #[error("it is not a regular file")]
    NotAFile,
    /// Larger than the limit; nothing that was read of it may be used.
    #[error("it is larger than the limit ({} bytes)", format_count(*size))]
    TooLarge {
        /// The size, as far as it is known.
        size: u64,
    },
    /// The system does not let us read it.
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// It changed each time it was read.
    #[error("it changed each time it was read")]
    Unstable,
    /// The path is longer than the system can handle.
    #[error("its path is too long")]
    NameTooLong,
    /// The reader's consumer failed.
    #[error(transparent)]
    Sink(io::Error),
}

impl ReadError {
    /// The gap that this error leaves; `None` if nothing is left unprotected
    /// (there is nothing) or the fault lies with the consumer.
    pub fn gap_reason(&self) -> Option<GapReason> {
        match self {
            Self::Gone | Self::Sink(_) => None,
            Self::NotAFile => Some(GapReason::Special),
            Self::TooLarge { .. } => Some(GapReason::TooLarge),
            Self::Unstable => Some(GapReason::Unstable),
            Self::NameTooLong => Some(GapReason::NameTooLong),
            Self::Unreadable(error) => match Errno::from_io_error(error) {
                Some(Errno::XDEV) => Some(GapReason::OtherMount),
                _ => Some(GapReason::Unreadable),
            },
        }
    }
}

impl From<Errno> for ReadError {
    fn from(errno: Errno) -> Self {
        match gap_reason(errno) {
            None => Self::Gone,
            Some(GapReason::NameTooLong) => Self::NameTooLong,
            Some(_) => Self::Unreadable(errno.into()),
        }
    }
}

/// Consumes a content; called again from the start for each attempt.
type ContentSink<'s> = &'s mut dyn FnMut(&mut dyn Read, &FileStat) -> io::Result<()>;

impl Workspace {
    /// Hands the content at `path` (of a link: its target's text) to `sink`.
    ///
    /// `sink` gets the stat from before and is called again from the start if
    /// the file changed meanwhile; only what it took last counts. A sink that
    /// fails because the content does not fit the stat is called again, too.
    pub fn read(
        &self,
        path: &ProjectPath,
        limit: u64,
        sink: ContentSink<'_>,
    ) -> Result<FileStat, ReadError> {
        for _ in 0..MAX_READ_ATTEMPTS {
            let folder = self.safe_root.open_parent(path.as_bytes())?;
            let name = path.file_name();
            let source = match self.open_source(&folder, name) {
                Err(ReadError::Unstable) => continue,
                source => source?,
            };
            let before = source.stat;
            if before.size > limit {
                return Err(ReadError::TooLarge { size: before.size });
            }
            let taken = source.read_into(limit, sink);
            let unchanged = matches!(
                stat_at(folder.fd.as_fd(), name).map(EntryStat::stat),
                Ok(Some(after)) if after.same_moment(&before)
            );
            match taken {
                Ok(()) if unchanged => return Ok(before),
                Err(error @ (ReadError::TooLarge { .. } | ReadError::Unreadable(_))) => {
                    return Err(error);
                }
                Err(error) if unchanged => return Err(error),
                _ => {}
            }
        }
        Err(ReadError::Unstable)
    }

    fn open_source(&self, folder: &OpenFolder, name: &[u8]) -> Result<OpenedSource, ReadError> {
        // Looked at before it is opened: opening a device can have effects.
        match stat_at(folder.fd.as_fd(), name)? {
            EntryStat::Link(stat) => {
                let target =
                    retry_on_intr(|| rustix::fs::readlinkat(folder.fd.as_fd(), name, Vec::new()));
                match target {
                    Ok(target) => {
                        Ok(OpenedSource { stat, content: OpenedContent::Link(target.into_bytes()) })
                    }
                    // It is no longer a link.
                    Err(Errno::INVAL) => Err(ReadError::Unstable),
                    Err(errno) => Err(errno.into()),
                }
            }
            EntryStat::File(_) => {
                let file = match self.safe_root.open_file(folder.fd.as_fd(), name) {
                    Ok(file) => file,
                    // A link since we looked: not gone, so look again.
                    Err(Errno::LOOP) => return Err(ReadError::Unstable),
                    // A socket since we looked.
                    Err(Errno::NXIO) => return Err(ReadError::NotAFile),
                    Err(errno) => return Err(errno.into()),
                };
                match EntryStat::of(&rustix::fs::fstat(&file)?) {
                    EntryStat::File(stat) => {
                        Ok(OpenedSource { stat, content: OpenedContent::File(file.into()) })
                    }
                    _ => Err(ReadError::NotAFile),
                }
            }
            EntryStat::Folder | EntryStat::Special(_) => Err(ReadError::NotAFile),
        }
    }
}

struct OpenedSource {
    stat: FileStat,
    content: OpenedContent,
}

enum OpenedContent {
    File(File),
    Link(Vec<u8>),
}

impl OpenedSource {
    fn read_into(self, limit: u64, sink: ContentSink<'_>) -> Result<(), ReadError> {
        let mut link;
        let mut file;
        let inner: &mut dyn Read = match self.content {
            OpenedContent::Link(target) => {
                link = io::Cursor::new(target);
                &mut link
            }
            OpenedContent::File(opened) => {
                file = opened;
                &mut file
            }
        };
        let mut reader = BoundedReader { inner, left: limit, fault: None };
        let result = sink(&mut reader, &self.stat);
        match (reader.fault, result) {
            (Some(BoundedReadFault::TooLarge), _) => Err(ReadError::TooLarge { size: limit + 1 }),
            (Some(BoundedReadFault::Read(error)), _) => Err(ReadError::Unreadable(error)),
            (None, Err(error)) => Err(ReadError::Sink(error)),
            (None, Ok(())) => Ok(()),
        }
    }
}

/// Reader that fails when a file grows past the limit, and remembers whose fault an error is.
struct BoundedReader<'r> {
    inner: &'r mut dyn Read,
    left: u64,
    fault: Option<BoundedReadFault>,
}

enum BoundedReadFault {
    TooLarge,
    Read(io::Error),
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        // One byte more than allowed tells "at the limit" from "past it".
        let capacity = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX);
        let end = buffer.len().min(capacity);
        let read = loop {
            match self.inner.read(&mut buffer[..end]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let copy = error.raw_os_error().map_or_else(
                        || io::Error::from(error.kind()),
                        io::Error::from_raw_os_error,
                    );
                    self.fault = Some(BoundedReadFault::Read(error));
                    return Err(copy);
                }
                Ok(read) => break read,
            }
        };
        let Some(left) = self.left.checked_sub(read as u64) else {
            self.fault = Some(BoundedReadFault::TooLarge);
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the file grew past the limit",
            ));
        };
        self.left = left;
        Ok(read)
    }
}

/// Reads a small file that is not content: rules, git's own files.
pub(crate) fn read_whole(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut content = Vec::with_capacity(metadata.len().min(limit) as usize);
    let read = file.take(limit + 1).read_to_end(&mut content)? as u64;
    if read > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than expected"));
    }
    Ok(content)
}

/// Like [`read_whole`] by path, for files outside the project's tree; never blocks on a FIFO.
pub(crate) fn read_whole_path(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_whole(open_path(path)?, limit)
}

/// Opens a file by path, non-blocking.
pub(crate) fn open_path(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?.into())
}
