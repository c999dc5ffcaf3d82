//! The folder of a running daemon: its socket, its lock and its log.
//!
//! ```text
//! HOME/run/               0700
//! HOME/run/daemon.lock    held for the daemon's life, with its pid in it
//! HOME/run/daemon.sock    0600; where it listens
//! HOME/run/daemon.log     0600; bounded
//! ```

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const SOCKET_NAME: &str = "daemon.sock";
/// Time for which taking the lock is retried: a reader of the owner holds it for a moment.
const LOCK_RETRY_TIMEOUT: Duration = Duration::from_millis(300);

/// The folder of the daemon of one home.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

/// Held by the one daemon of a home.
#[derive(Debug)]
pub(crate) struct DaemonLock {
    file: File,
}

impl RunFolder {
    /// The folder in this home; it need not exist yet.
    pub fn in_home(home: &Path) -> Self {
        Self { path: home.join("run") }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the daemon writes its log.
    pub fn log_path(&self) -> PathBuf {
        self.path.join("daemon.log")
    }

    /// Where it listens.
    pub(crate) fn socket_path(&self) -> PathBuf {
        self.path.join(SOCKET_NAME)
    }

    /// Makes the folder, for its owner alone.
    pub fn create(&self) -> io::Result<()> {
        retake_seam::fs::create_private_dir_all(&self.path)?;
        retake_seam::fs::make_private(&self.path)
    }

    /// Becomes the daemon of this home; none if there is one, see [`RunFolder::owner`].
    pub(crate) fn try_lock(&self) -> io::Result<Option<DaemonLock>> {
        self.create()?;
        let mut file = retake_seam::fs::open_private(&self.lock_path())?;
        let until = Instant::now() + LOCK_RETRY_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // A process that asks for the owner holds the lock for a moment, too.
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        retake_seam::fs::truncate(&file, 0)?;
        retake_seam::fs::append(&mut file, format!("{}\n", std::process::id()).as_bytes())?;
        Ok(Some(DaemonLock { file }))
    }

    /// The process that is the daemon of this home, whether it answers or not; 0 if it is just
    /// becoming it.
    pub fn owner(&self) -> Option<u32> {
        let mut file = retake_seam::fs::open_private_to_read(&self.lock_path()).ok()?;
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        Some(text.trim().parse().unwrap_or(0))
    }

    /// Returns the first of the daemon's own files that is a symbolic link: no daemon starts on it.
    pub fn linked_file(&self) -> Option<PathBuf> {
        let is_link =
            |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        [self.lock_path(), self.log_path()].into_iter().find(is_link)
    }

    fn lock_path(&self) -> PathBuf {
        self.path.join("daemon.lock")
    }

    /// Listens, in place of a daemon that was killed; only with the claim.
    pub(crate) fn listen(&self, _claim: &DaemonLock) -> io::Result<UnixListener> {
        self.remove_socket();
        let way = SocketPath::new(&self.path)?;
        let listener = UnixListener::bind(&way.path)?;
        retake_seam::fs::make_private(&self.socket_path())?;
        Ok(listener)
    }

    fn remove_socket(&self) {
        // Most often it is not there.
        let _ = retake_seam::fs::remove_file(&self.socket_path());
    }

    /// Removes the socket, if it is still that of the claim.
    pub(crate) fn close(&self, claim: &DaemonLock) {
        if self.is_locked_by(claim) {
            self.remove_socket();
        }
    }

    /// Returns whether the claim still counts: the home may have been removed, and made again by
    /// another daemon.
    pub(crate) fn is_locked_by(&self, claim: &DaemonLock) -> bool {
        let own = claim.file.metadata().ok().map(|data| (data.dev(), data.ino()));
        let there = self.lock_path().symlink_metadata().ok().map(|data| (data.dev(), data.ino()));
        own.is_some() && own == there
    }

    /// Connects to the daemon, if one listens; a full queue is not waited for.
    #[cfg(target_os = "linux")]
    pub(crate) fn connect(&self) -> io::Result<UnixStream> {
        use rustix::net::{
            AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
        };
        let way = SocketPath::new(&self.path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(&way.path)?)?;
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    /// Connects to the daemon, if one listens.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(SocketPath::new(&self.path)?.path)
    }
}

/// A path to the socket that is short enough for the system.
struct SocketPath {
    path: PathBuf,
    /// What the path leads through.
    _folder: Option<File>,
}

impl SocketPath {
    #[cfg(target_os = "linux")]
    fn new(folder: &Path) -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::ffi::OsStrExt as _;
        /// Maximum bytes of a socket's path (`sun_path` without its NUL).
        const MAX_SOCKET_PATH: usize = 107;
        let straight = folder.join(SOCKET_NAME);
        if straight.as_os_str().as_bytes().len() <= MAX_SOCKET_PATH {
            return Ok(Self { path: straight, _folder: None });
        }
        let opened = File::open(folder)?;
        let path = format!("/proc/self/fd/{}/{SOCKET_NAME}", opened.as_raw_fd());
        Ok(Self { path: path.into(), _folder: Some(opened) })
    }

    /// The system itself says if the path is too long.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, reason = "it can fail on Linux")]
    fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self { path: folder.join(SOCKET_NAME), _folder: None })
    }
}

/// Returns whether the peer is the same user, or root.
#[cfg(target_os = "linux")]
pub(crate) fn is_same_user(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream);
    peer.is_ok_and(|peer| may_connect(peer.uid.as_raw(), rustix::process::geteuid().as_raw()))
}

/// The modes of the folder and the socket decide.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_same_user(_stream: &UnixStream) -> bool {
    true
}

#[cfg(target_os = "linux")]
fn may_connect(peer: u32, own: u32) -> bool {
    peer == own || peer == 0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_user_and_root_may_ask() {
        assert!(may_connect(1000, 1000) && may_connect(0, 1000) && may_connect(0, 0));
        assert!(!may_connect(1001, 1000) && !may_connect(1000, 0) && !may_connect(65534, 0));
    }
}
