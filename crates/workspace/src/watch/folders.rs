//! Watches files that lie directly in a few folders, with one thread and one instance of inotify for
//! all of them.
//!
//! [`super::FileWatcher`] is for trees of a project; this is for folders of Retake's own, in which
//! other processes write. Invariant: an event may be reported that did not happen, never the other
//! way round. Where the system reports nothing, everything is reported at each interval.

use std::collections::HashMap;
use std::io::{self, PipeWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[cfg(target_os = "linux")]
use super::folders_linux as native;

/// Interval of reports where the system reports nothing.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Something may have happened to a file of a watched folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEvent {
    /// The folder.
    pub folder: PathBuf,
    /// The file's name; `None` if it may be any.
    pub name: Option<Vec<u8>>,
    /// What happened.
    pub kind: FolderEventKind,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderEventKind {
    /// Bytes were written.
    Written,
    /// It was closed after it was open for writing.
    Closed,
    /// It came to be under this name.
    Added,
    /// It is gone from this name.
    Removed,
    /// Any of these: events were lost, or the system reports none.
    Unknown,
}

/// Receives the events, on the watcher's thread.
pub trait FolderEventHandler: Send {
    /// Takes an event.
    fn on_event(&mut self, event: &FolderEvent);
    /// Takes the end of a pause that was asked for.
    fn on_pause_over(&mut self);
    /// Returns the pause after which [`FolderEventHandler::on_pause_over`] is to be called if no
    /// event comes before.
    fn pause(&self) -> Option<Duration>;
}

/// The watched folders, by the number that the system gave to each.
pub(super) type WatchedFolders = Mutex<HashMap<i32, PathBuf>>;

/// Watches folders until it is dropped.
#[derive(Debug)]
pub struct FolderWatcher {
    folders: Arc<WatchedFolders>,
    backend: FolderBackend,
    /// The thread ends when this is closed.
    alive: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

/// How events are received.
#[derive(Debug)]
enum FolderBackend {
    #[cfg(target_os = "linux")]
    Inotify(Arc<std::os::fd::OwnedFd>),
    Polling,
}

impl FolderWatcher {
    /// Starts to watch, no folder yet.
    pub fn start(handler: impl FolderEventHandler + 'static) -> io::Result<Self> {
        let (ended, alive) = io::pipe()?;
        let folders = Arc::<WatchedFolders>::default();
        #[cfg(target_os = "linux")]
        match native::open() {
            Ok(inotify) => {
                let (inner, watched) = (Arc::clone(&inotify), Arc::clone(&folders));
                let run = move || native::run(&inner, &ended, &watched, handler);
                let thread = thread::Builder::new().name("retake-folders".to_owned()).spawn(run)?;
                let backend = FolderBackend::Inotify(inotify);
                return Ok(Self { folders, backend, alive: Some(alive), thread: Some(thread) });
            }
            Err(error) => tracing::warn!(%error, "folders are polled, not watched"),
        }
        let watched = Arc::clone(&folders);
        let run = move || poll_folders(&ended, &watched, handler);
        let thread = thread::Builder::new().name("retake-folders".to_owned()).spawn(run)?;
        let backend = FolderBackend::Polling;
        Ok(Self { folders, backend, alive: Some(alive), thread: Some(thread) })
    }

    /// Watches a folder, too; one that is watched already stays so.
    pub fn watch(&self, folder: &Path) -> io::Result<()> {
        let mut folders = self.lock();
        let number = match &self.backend {
            #[cfg(target_os = "linux")]
            FolderBackend::Inotify(inotify) => native::add_watch(inotify, folder)?,
            FolderBackend::Polling => match folders.iter().find(|(_, path)| *path == folder) {
                Some((number, _)) => *number,
                None => folders.keys().max().map_or(0, |last| last + 1),
            },
        };
        folders.insert(number, folder.to_owned());
        Ok(())
    }

    /// Stops watching a folder.
    pub fn unwatch(&self, folder: &Path) {
        let mut folders = self.lock();
        let found = folders.iter().find(|(_, path)| *path == folder).map(|(number, _)| *number);
        let Some(number) = found else { return };
        folders.remove(&number);
        #[cfg(target_os = "linux")]
        if let FolderBackend::Inotify(inotify) = &self.backend {
            native::remove_watch(inotify, number);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i32, PathBuf>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FolderWatcher {
    fn drop(&mut self) {
        self.alive = None;
        // The handler itself may hold the last reference: a thread cannot wait for its own end.
        let other = |thread: &JoinHandle<()>| thread.thread().id() != thread::current().id();
        if let Some(thread) = self.thread.take().filter(other) {
            let _ = thread.join();
        }
    }
}

/// Reports every folder at each interval, until the other end of the pipe is closed.
fn poll_folders(
    ended: &io::PipeReader,
    folders: &WatchedFolders,
    mut handler: impl FolderEventHandler,
) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::os::fd::AsFd as _;
    let interval = Timespec { tv_sec: POLL_INTERVAL.as_secs() as i64, tv_nsec: 0 };
    loop {
        let mut ready = [PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)];
        let _ = poll(&mut ready, Some(&interval));
        if !ready[0].revents().is_empty() {
            return;
        }
        report_all(folders, &mut handler);
    }
}

/// Reports that anything may have happened.
pub(super) fn report_all(folders: &WatchedFolders, handler: &mut impl FolderEventHandler) {
    let all: Vec<_> =
        folders.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
    for folder in all {
        handler.on_event(&FolderEvent { folder, name: None, kind: FolderEventKind::Unknown });
    }
}
