//! The watcher of folders on Linux: inotify.

use std::io::{self, PipeReader};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::{Arc, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::folders::{
    FolderEvent, FolderEventHandler, FolderEventKind, WatchedFolders, report_all,
};

/// Size of the event buffer.
const EVENT_BUFFER_BYTES: usize = 16 << 10;

pub(super) fn open() -> io::Result<Arc<OwnedFd>> {
    Ok(Arc::new(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
}

pub(super) fn add_watch(inotify: &OwnedFd, folder: &Path) -> io::Result<i32> {
    let events = WatchFlags::MODIFY
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::CREATE
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::ONLYDIR;
    Ok(inotify::add_watch(inotify, folder, events)?)
}

pub(super) fn remove_watch(inotify: &OwnedFd, number: i32) {
    // The folder may be gone, and the watch with it.
    let _ = inotify::remove_watch(inotify, number);
}

/// Hands events to the handler until the other end of the pipe is closed.
pub(super) fn run(
    inotify: &OwnedFd,
    ended: &PipeReader,
    folders: &WatchedFolders,
    mut handler: impl FolderEventHandler,
) {
    let mut buffer = vec![MaybeUninit::uninit(); EVENT_BUFFER_BYTES];
    let mut reader = Reader::new(inotify, &mut buffer);
    loop {
        let pause = handler.pause().map(|pause| Timespec {
            tv_sec: pause.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: pause.subsec_nanos().into(),
        });
        let mut ready = [
            PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(inotify.as_fd(), PollFlags::IN),
        ];
        match poll(&mut ready, pause.as_ref()) {
            Ok(0) => handler.on_pause_over(),
            Ok(_) if !ready[0].revents().is_empty() => return,
            Ok(_) => {
                if let Err(errno) = read_events(&mut reader, folders, &mut handler) {
                    let error = io::Error::from(errno);
                    tracing::warn!(%error, "folders of records are not watched any longer");
                    return;
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Reads one buffer full of events.
fn read_events(
    reader: &mut Reader<'_, &OwnedFd>,
    folders: &WatchedFolders,
    handler: &mut impl FolderEventHandler,
) -> Result<(), Errno> {
    loop {
        match reader.next() {
            Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                report_all(folders, handler);
            }
            Ok(event) => {
                let kind = kind_of(event.events());
                let folder = folders
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get(&event.wd())
                    .cloned();
                if let (Some(folder), Some(kind)) = (folder, kind) {
                    let name = event.file_name().map(|name| name.to_bytes().to_vec());
                    handler.on_event(&FolderEvent { folder, name, kind });
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(errno) => return Err(errno),
        }
        if reader.is_buffer_empty() {
            return Ok(());
        }
    }
}

/// Returns what an event says; `None` if it is about the watch itself.
fn kind_of(events: ReadFlags) -> Option<FolderEventKind> {
    if events.contains(ReadFlags::CLOSE_WRITE) {
        return Some(FolderEventKind::Closed);
    }
    if events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
        return Some(FolderEventKind::Added);
    }
    if events.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
        return Some(FolderEventKind::Removed);
    }
    events.contains(ReadFlags::MODIFY).then_some(FolderEventKind::Written)
}
