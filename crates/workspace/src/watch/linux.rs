//! The watcher on Linux: an event loop on inotify.
//!
//! It does not watch ignored folders, which the crate notify cannot do, and does not miss files
//! in a folder that is filled while it appears, which notify does.
//!
//! Invariant: the tree is locked before events are read, and their paths are in the hints before
//! it is unlocked.

use std::collections::BTreeSet;
use std::io::{self, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use retake_model::ProjectPath;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::filter::EventFilter;
use super::hint::{EventBatch, HintBuffer};
use super::tree::{EventTarget, WatchDescriptor, WatchTree};
use super::{BackendSetup, WatchBackend, WatchBudget, WatchUnavailable, cookie};
use crate::RuleSources;

/// Size of the event buffer: room for some thousand events per read.
const EVENT_BUFFER_BYTES: usize = 64 << 10;

/// Network file systems by magic number: their changes may bypass this machine's kernel (row 51).
const NETWORK_FILE_SYSTEMS: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x517b, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x786f_4256, "VirtualBox"),
];

/// The watcher's thread and the state that it shares with the callers.
#[derive(Debug)]
pub(crate) struct InotifyWatcher {
    pub(crate) shared: Arc<InotifyShared>,
    /// The thread ends when this is closed.
    alive: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(crate) struct InotifyShared {
    tree: Mutex<WatchTree>,
    inotify: Arc<OwnedFd>,
    hints: Arc<HintBuffer>,
    cookies: WatchDescriptor,
    budget: WatchBudget,
}

/// Adds all watches and starts the thread.
pub(super) fn open(setup: BackendSetup<'_>) -> Result<Box<dyn WatchBackend>, WatchUnavailable> {
    let root = setup.workspace.safe_root.root().and_then(rustix::fs::fstatfs);
    let root = root.map_err(io::Error::from)?;
    match network_file_system(root.f_type as u64) {
        Some(kind) => Err(WatchUnavailable::NotReported(format!(
            "the project is on a {kind} file system, which does not tell of all changes"
        ))),
        None => {
            InotifyWatcher::start(setup).map(|watcher| Box::new(watcher) as Box<dyn WatchBackend>)
        }
    }
}

/// Returns the name of a network file system by its `statfs` magic number.
fn network_file_system(kind: u64) -> Option<&'static str> {
    let kind = kind & 0xffff_ffff;
    NETWORK_FILE_SYSTEMS.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name)
}

impl InotifyWatcher {
    pub(super) fn start(setup: BackendSetup<'_>) -> Result<Self, WatchUnavailable> {
        let BackendSetup { workspace, rules, cookies, budget, hints } = setup;
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let inotify = Arc::new(inotify.map_err(instance_error)?);
        let cookies = watch_cookies(&inotify, cookies, &budget)?;
        let made = WatchTree::new(
            workspace,
            Arc::clone(&inotify),
            budget.clone(),
            EventFilter::new(rules),
        );
        let tree = made.inspect_err(|_| budget.give_back(1)).map_err(watch_error)?;
        let shared =
            Arc::new(InotifyShared { tree: Mutex::new(tree), inotify, hints, cookies, budget });
        let mut tree = shared.lock();
        shared.refresh(&mut tree);
        drop(tree);

        let (ended, alive) = io::pipe()?;
        let watcher = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("retake-watch".to_owned())
            .spawn(move || watcher.run(&ended))?;
        Ok(Self { shared, alive: Some(alive), thread: Some(thread) })
    }
}

impl Drop for InotifyWatcher {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // `PanicGuard` has recorded a panic in the hints.
            let _ = thread.join();
        }
    }
}

impl WatchBackend for InotifyWatcher {
    fn set_rules(&self, rules: &RuleSources) {
        let mut tree = self.shared.lock();
        if !tree.filter.set_rules(rules) {
            return;
        }
        let has_new_folders = self.shared.refresh(&mut tree);
        self.shared.hints.add_everything_if(has_new_folders);
    }

    fn set_always_tracked(&self, paths: BTreeSet<ProjectPath>) {
        let mut tree = self.shared.lock();
        if tree.filter.set_always_tracked(paths) {
            self.shared.refresh(&mut tree);
            self.shared.hints.add_everything_if(false);
        }
    }
}

impl Drop for InotifyShared {
    fn drop(&mut self) {
        // The watch of the cookies; the tree gives back its own.
        self.budget.give_back(1);
    }
}

impl InotifyShared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, WatchTree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until the other end of the pipe is closed.
    fn run(&self, ended: &PipeReader) {
        let guard = PanicGuard { hints: &self.hints };
        let why = match self.poll_events_until(ended) {
            Ok(()) => return std::mem::forget(guard),
            Err(errno) => io::Error::from(errno),
        };
        self.hints.disable(format!("the system's reports cannot be read: {why}"));
    }

    fn poll_events_until(&self, ended: &PipeReader) -> Result<(), Errno> {
        let mut buffer = vec![MaybeUninit::uninit(); EVENT_BUFFER_BYTES];
        let mut reader = Reader::new(&*self.inotify, &mut buffer);
        loop {
            let mut ready = [
                PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.inotify.as_fd(), PollFlags::IN),
            ];
            match poll(&mut ready, None) {
                Ok(_) if !ready[0].revents().is_empty() => return Ok(()),
                Ok(_) => self.read_events(&mut reader)?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Reads one buffer full of events.
    fn read_events(&self, reader: &mut Reader<'_, &OwnedFd>) -> Result<(), Errno> {
        let mut tree = self.lock();
        let mut batch = EventBatch::default();
        loop {
            match reader.next() {
                Ok(event) => self.handle_event(&mut tree, &event, &mut batch),
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(errno) => return Err(errno),
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        self.publish_counts(&tree);
        self.hints.add(batch);
        Ok(())
    }

    fn handle_event(
        &self,
        tree: &mut WatchTree,
        event: &inotify::Event<'_>,
        batch: &mut EventBatch,
    ) {
        let (wd, what) = (event.wd(), event.events());
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.overflow(tree, batch);
        }
        let name = event.file_name().map(std::ffi::CStr::to_bytes);
        let is_lost = what.intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT);
        match name {
            _ if wd == self.cookies && is_lost => {
                self.hints.disable("the watcher's own folder was removed; start it again".into());
            }
            Some(name) if wd == self.cookies => {
                batch.cookie = batch.cookie.max(cookie::cookie_number(name).unwrap_or_default());
            }
            Some(name) => match tree.resolve_event(wd, name, what.contains(ReadFlags::ISDIR)) {
                EventTarget::Nothing => {}
                EventTarget::Ignored(path) => batch.ignored.push(path),
                EventTarget::Rules => batch.everything = true,
                EventTarget::Path(path) => batch.paths.push(path),
            },
            None if wd == tree.root() && is_lost => {
                self.hints.disable("the project folder was unmounted".into());
            }
            // Moved, or its permissions changed, which may let us see more.
            None if wd == tree.root() => {
                self.refresh(tree);
                batch.everything = true;
            }
            None if is_lost => batch.paths.extend(tree.handle_lost_watch(wd)),
            // Its own attributes: the watch of the folder above reports them, too.
            None => {}
        }
    }

    /// Events were lost, and with them perhaps that folders came or went.
    fn overflow(&self, tree: &mut WatchTree, batch: &mut EventBatch) {
        tracing::warn!("too many changes at once for the watcher; catching up");
        batch.overflows += 1;
        self.refresh(tree);
        batch.everything = true;
    }

    /// Refreshes the watches of all folders; returns `true` if new ones were added. If the root
    /// cannot be listed, the watcher is disabled.
    fn refresh(&self, tree: &mut WatchTree) -> bool {
        let met = tree.refresh();
        if let Some(errno) = met.root_error {
            let error = io::Error::from(errno);
            self.hints.disable(format!("the project folder cannot be listed: {error}"));
        }
        self.publish_counts(tree);
        met.new_folders
    }

    /// Publishes the watched and polled counts.
    fn publish_counts(&self, tree: &WatchTree) {
        let mut state = self.hints.lock();
        if state.unavailable_reason.is_some() {
            return;
        }
        state.watched = tree.watched();
        if state.polled != *tree.polled() {
            state.polled.clone_from(tree.polled());
        }
    }
}

/// Drop guard that disables the hints on a panic: a watcher that silently sees nothing would be
/// worse than none.
struct PanicGuard<'a> {
    hints: &'a HintBuffer,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        self.hints.disable("the watcher failed; start it again".into());
    }
}

fn watch_cookies(
    inotify: &OwnedFd,
    folder: &Path,
    budget: &WatchBudget,
) -> Result<WatchDescriptor, WatchUnavailable> {
    if !budget.try_take() {
        return Err(watch_error(Errno::NOSPC));
    }
    let flags = WatchFlags::CREATE | WatchFlags::ONLYDIR;
    let added = inotify::add_watch(inotify, folder, flags);
    added.inspect_err(|_| budget.give_back(1)).map_err(watch_error)
}

fn instance_error(errno: Errno) -> WatchUnavailable {
    match errno {
        Errno::MFILE | Errno::NFILE => WatchUnavailable::NotReported(
            "too many watchers run for this user; end some, or raise \
             fs.inotify.max_user_instances"
                .to_owned(),
        ),
        _ => WatchUnavailable::Failed(errno.into()),
    }
}

fn watch_error(errno: Errno) -> WatchUnavailable {
    match errno {
        Errno::NOSPC => WatchUnavailable::NotReported(
            "too many folders are watched for this user; raise fs.inotify.max_user_watches"
                .to_owned(),
        ),
        _ => WatchUnavailable::Failed(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told() {
        let hints = Arc::new(HintBuffer::default());
        let inside = Arc::clone(&hints);
        let thread = std::thread::spawn(move || {
            let _guard = PanicGuard { hints: &inside };
            panic!("on purpose");
        });
        assert!(thread.join().is_err());
        assert!(hints.lock().unavailable_reason.is_some());
    }

    #[test]
    fn reports_that_cannot_be_read_are_told() {
        let temp = tempfile::tempdir().unwrap();
        let inotify = || Arc::new(inotify::init(CreateFlags::CLOEXEC).unwrap());
        let workspace = crate::Workspace::open(temp.path()).unwrap();
        let budget = WatchBudget::new(2);
        let filter = EventFilter::new(&RuleSources::default());
        let tree = WatchTree::new(workspace, inotify(), budget.clone(), filter).unwrap();
        let shared = InotifyShared {
            tree: Mutex::new(tree),
            // Reading it gives nothing, which inotify never does.
            inotify: Arc::new(std::fs::File::open("/dev/null").unwrap().into()),
            hints: Arc::default(),
            cookies: 0,
            budget,
        };
        let (ended, _alive) = io::pipe().unwrap();
        shared.run(&ended);
        let why = shared.hints.lock().unavailable_reason.clone().unwrap();
        assert!(why.contains("cannot be read"), "{why}");
    }

    #[test]
    fn network_file_systems_are_known_by_their_number() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        // 32-bit numbers come sign-extended.
        assert_eq!(network_file_system(0xffff_ffff_ff53_4d42), Some("CIFS"));
        assert_eq!(network_file_system(0x6573_5546), Some("FUSE"));
        for local in [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342] {
            assert_eq!(network_file_system(local), None, "{local:x}");
        }
    }
}
