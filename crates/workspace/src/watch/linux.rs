//! The watcher on Linux: an event loop on inotify.
//!
//! It does not watch ignored folders, which the crate notify cannot do, and does not miss files
//! in a folder that is filled while it appears, which notify does.
//!
//! Invariant: the tree is locked before events are read, and their hints are in the notes before
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

use super::hint::{News, Notes};
use super::sieve::Sieve;
use super::tree::{Seen, Tree, Wd};
use super::{Budget, Eyes, NoEyes, Sight, cookie};
use crate::RuleSources;

/// Size of the event buffer: room for some thousand events per read.
const BUFFER: usize = 64 << 10;

/// Network file systems by magic number: their changes may bypass this machine's kernel (row 51).
const NETWORK: &[(u64, &str)] = &[
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
pub(crate) struct Loop {
    pub(crate) shared: Arc<Shared>,
    /// The thread ends when this is closed.
    alive: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    tree: Mutex<Tree>,
    inotify: Arc<OwnedFd>,
    notes: Arc<Notes>,
    cookies: Wd,
    budget: Budget,
}

/// Adds all watches and starts the thread.
pub(super) fn open(sight: Sight<'_>) -> Result<Box<dyn Eyes>, NoEyes> {
    let root = rustix::fs::fstatfs(sight.workspace.beneath.root()).map_err(io::Error::from)?;
    match network(root.f_type as u64) {
        Some(kind) => Err(NoEyes::Blind(format!(
            "the project is on a {kind} file system, which does not tell of all changes"
        ))),
        None => Loop::start(sight).map(|eyes| Box::new(eyes) as Box<dyn Eyes>),
    }
}

/// Returns the name of a network file system by its `statfs` magic number.
fn network(kind: u64) -> Option<&'static str> {
    let kind = kind & 0xffff_ffff;
    NETWORK.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name)
}

impl Loop {
    pub(super) fn start(sight: Sight<'_>) -> Result<Self, NoEyes> {
        let Sight { workspace, rules, cookies, budget, notes } = sight;
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let inotify = Arc::new(inotify.map_err(no_instance)?);
        let cookies = watch_cookies(&inotify, cookies, &budget)?;
        let made = Tree::new(workspace, Arc::clone(&inotify), budget.clone(), Sieve::new(rules));
        let tree = made.inspect_err(|_| budget.give_back(1)).map_err(no_watch)?;
        let shared = Arc::new(Shared { tree: Mutex::new(tree), inotify, notes, cookies, budget });
        let mut tree = shared.lock();
        shared.refresh(&mut tree);
        drop(tree);

        let (ended, alive) = io::pipe()?;
        let eyes = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("retake-watch".to_owned())
            .spawn(move || eyes.run(&ended))?;
        Ok(Self { shared, alive: Some(alive), thread: Some(thread) })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // `Alarm` has recorded a panic in the notes.
            let _ = thread.join();
        }
    }
}

impl Eyes for Loop {
    fn set_rules(&self, rules: &RuleSources) {
        let mut tree = self.shared.lock();
        if !tree.sieve.set_rules(rules) {
            return;
        }
        let came_into_sight = self.shared.refresh(&mut tree);
        self.shared.notes.add_everything_if(came_into_sight);
    }

    fn set_always(&self, paths: BTreeSet<ProjectPath>) {
        let mut tree = self.shared.lock();
        if tree.sieve.set_always(paths) {
            self.shared.refresh(&mut tree);
            self.shared.notes.add_everything_if(false);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The watch of the cookies; the tree gives back its own.
        self.budget.give_back(1);
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until the other end of the pipe is closed.
    fn run(&self, ended: &PipeReader) {
        let alarm = Alarm { notes: &self.notes };
        let why = match self.watch_until(ended) {
            Ok(()) => return std::mem::forget(alarm),
            Err(errno) => io::Error::from(errno),
        };
        self.notes.go_blind(format!("the system's reports cannot be read: {why}"));
    }

    fn watch_until(&self, ended: &PipeReader) -> Result<(), Errno> {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
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
        let mut news = News::default();
        loop {
            match reader.next() {
                Ok(event) => self.take_in(&mut tree, &event, &mut news),
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(errno) => return Err(errno),
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        self.publish(&tree);
        self.notes.add(news);
        Ok(())
    }

    fn take_in(&self, tree: &mut Tree, event: &inotify::Event<'_>, news: &mut News) {
        let (wd, what) = (event.wd(), event.events());
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.overflow(tree, news);
        }
        let name = event.file_name().map(std::ffi::CStr::to_bytes);
        let is_lost = what.intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT);
        match name {
            _ if wd == self.cookies && is_lost => {
                self.notes.go_blind("the watcher's own folder was removed; start it again".into());
            }
            Some(name) if wd == self.cookies => {
                news.cookie = news.cookie.max(cookie::number(name).unwrap_or_default());
            }
            Some(name) => match tree.look_at(wd, name, what.contains(ReadFlags::ISDIR)) {
                Seen::Nothing => {}
                Seen::Ignored(path) => news.ignored.push(path),
                Seen::Rules => news.everything = true,
                Seen::Path(path) => news.paths.push(path),
            },
            None if wd == tree.root() && is_lost => {
                self.notes.go_blind("the project folder was unmounted".into());
            }
            // Moved, or its permissions changed, which may let us see more.
            None if wd == tree.root() => {
                self.refresh(tree);
                news.everything = true;
            }
            None if is_lost => news.paths.extend(tree.lost(wd)),
            // Its own attributes: the watch of the folder above reports them, too.
            None => {}
        }
    }

    /// Events were lost, and with them perhaps that folders came or went.
    fn overflow(&self, tree: &mut Tree, news: &mut News) {
        tracing::warn!("too many changes at once for the watcher; catching up");
        news.overflows += 1;
        self.refresh(tree);
        news.everything = true;
    }

    /// Refreshes the watches of all folders; returns `true` if new ones were added. If the root
    /// cannot be listed, the watcher is disabled.
    fn refresh(&self, tree: &mut Tree) -> bool {
        let met = tree.refresh();
        if let Some(errno) = met.root_error {
            let error = io::Error::from(errno);
            self.notes.go_blind(format!("the project folder cannot be listed: {error}"));
        }
        self.publish(tree);
        met.new_folders
    }

    /// Publishes the watched and polled counts.
    fn publish(&self, tree: &Tree) {
        let mut state = self.notes.lock();
        if state.blind.is_some() {
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
struct Alarm<'a> {
    notes: &'a Notes,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.notes.go_blind("the watcher failed; start it again".into());
    }
}

fn watch_cookies(inotify: &OwnedFd, folder: &Path, budget: &Budget) -> Result<Wd, NoEyes> {
    if !budget.take() {
        return Err(no_watch(Errno::NOSPC));
    }
    let flags = WatchFlags::CREATE | WatchFlags::ONLYDIR;
    let added = inotify::add_watch(inotify, folder, flags);
    added.inspect_err(|_| budget.give_back(1)).map_err(no_watch)
}

fn no_instance(errno: Errno) -> NoEyes {
    match errno {
        Errno::MFILE | Errno::NFILE => NoEyes::Blind(
            "too many watchers run for this user; end some, or raise \
             fs.inotify.max_user_instances"
                .to_owned(),
        ),
        _ => NoEyes::Failed(errno.into()),
    }
}

fn no_watch(errno: Errno) -> NoEyes {
    match errno {
        Errno::NOSPC => NoEyes::Blind(
            "too many folders are watched for this user; raise fs.inotify.max_user_watches"
                .to_owned(),
        ),
        _ => NoEyes::Failed(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told() {
        let notes = Arc::new(Notes::default());
        let inside = Arc::clone(&notes);
        let thread = std::thread::spawn(move || {
            let _alarm = Alarm { notes: &inside };
            panic!("on purpose");
        });
        assert!(thread.join().is_err());
        assert!(notes.lock().blind.is_some());
    }

    #[test]
    fn reports_that_cannot_be_read_are_told() {
        let temp = tempfile::tempdir().unwrap();
        let inotify = || Arc::new(inotify::init(CreateFlags::CLOEXEC).unwrap());
        let workspace = crate::Workspace::open(temp.path()).unwrap();
        let budget = Budget::new(2);
        let sieve = Sieve::new(&RuleSources::default());
        let tree = Tree::new(workspace, inotify(), budget.clone(), sieve).unwrap();
        let shared = Shared {
            tree: Mutex::new(tree),
            // Reading it gives nothing, which inotify never does.
            inotify: Arc::new(std::fs::File::open("/dev/null").unwrap().into()),
            notes: Arc::default(),
            cookies: 0,
            budget,
        };
        let (ended, _alive) = io::pipe().unwrap();
        shared.run(&ended);
        let why = shared.notes.lock().blind.clone().unwrap();
        assert!(why.contains("cannot be read"), "{why}");
    }

    #[test]
    fn network_file_systems_are_known_by_their_number() {
        assert_eq!(network(0x6969), Some("NFS"));
        // 32-bit numbers come sign-extended.
        assert_eq!(network(0xffff_ffff_ff53_4d42), Some("CIFS"));
        assert_eq!(network(0x6573_5546), Some("FUSE"));
        for local in [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342] {
            assert_eq!(network(local), None, "{local:x}");
        }
    }
}
