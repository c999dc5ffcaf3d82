//! The file watcher: hints where to scan, never the truth.
//!
//! On Linux it is an event loop of our own on inotify (`linux`), elsewhere the crate notify
//! (`notify_backend`).
//!
//! Invariants: after [`FileWatcher::flush`], the hint covers every earlier change of paths that
//! the walk would visit; where that cannot be guaranteed it is [`ChangeHint::Everything`].
//! Writes that the system does not report are the exception: those through a memory map until the
//! file is closed, through a hard link in a folder that is not watched, and on other machines.

mod budget;
mod cookie;
mod filter;
mod folders;
#[cfg(target_os = "linux")]
mod folders_linux;
mod hint;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod notify_backend;
#[cfg(test)]
mod tests;
#[cfg(target_os = "linux")]
mod tree;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use retake_model::{Millis, ProjectPath};

pub use budget::WatchBudget;
use cookie::CookieFolder;
pub use folders::{FolderEvent, FolderEventHandler, FolderEventKind, FolderWatcher};
use hint::HintBuffer;
pub use hint::{ChangeHint, ChangeWaiter, PendingSince, WaitOutcome};
#[cfg(target_os = "linux")]
use linux as native;
#[cfg(not(target_os = "linux"))]
use notify_backend as native;

use crate::safe_open::FolderId;
use crate::{RootId, RuleSources, Workspace, root_id};

/// A watcher of one project root, with a thread of its own; ends when dropped.
#[derive(Debug)]
pub struct FileWatcher {
    /// Ends its thread when dropped; `None` if the system reports no changes.
    backend: Option<Box<dyn WatchBackend>>,
    hints: Arc<HintBuffer>,
    cookies: CookieFolder,
    workspace: Workspace,
}

/// The extent and the state of the watching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchState {
    /// Number of watched folders; always 0 where the system watches whole trees.
    pub watched: usize,
    /// Subtrees that could not be watched, for lack of budget or permission. They are in every
    /// hint, but their changes do not wake a waiting caller.
    pub polled: Vec<ProjectPath>,
    /// `true` if the next hint is [`ChangeHint::Everything`].
    pub catching_up: bool,
    /// Number of overflows of the event queue.
    pub overflows: u64,
    /// The state of the root.
    pub root: RootState,
    /// Why nothing can be watched, so that every hint is [`ChangeHint::Everything`].
    pub unavailable_reason: Option<String>,
}

/// The state of the root's path now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootState {
    /// The folder that is watched.
    Here,
    /// Another folder.
    Replaced,
    /// Nothing: the folder that is watched was moved elsewhere.
    Moved,
    /// Nothing: the folder was removed.
    Gone,
}

/// Why a watcher cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The folder for cookies cannot be used.
    #[error("cannot use the folder '{}' for the watcher: {source}", .folder.display())]
    Cookies {
        /// The folder.
        folder: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The system gives no descriptor or thread.
    #[error("cannot watch the project folder '{}': {source}", .root.display())]
    System {
        /// The root.
        root: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// A watcher backend: receives the changes and writes them into the hints.
trait WatchBackend: Send + Sync + std::fmt::Debug {
    /// See [`FileWatcher::set_rules`].
    fn set_rules(&self, rules: &RuleSources);
    /// See [`FileWatcher::set_always_tracked`].
    fn set_always_tracked(&self, paths: BTreeSet<ProjectPath>);
}

/// The reason why a backend cannot start.
#[derive(Debug)]
enum WatchUnavailable {
    /// The system reports no changes; scans then walk everything.
    NotReported(String),
    /// A system call failed.
    Failed(io::Error),
}

impl From<io::Error> for WatchUnavailable {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// The arguments for starting a backend.
struct BackendSetup<'a> {
    workspace: Workspace,
    rules: &'a RuleSources,
    /// The folder of cookies, canonical.
    cookies: &'a Path,
    budget: WatchBudget,
    hints: Arc<HintBuffer>,
}

impl Drop for FileWatcher {
    fn drop(&mut self) {
        self.hints.end();
    }
}

impl FileWatcher {
    /// Starts to watch.
    ///
    /// `rules` say which folders are not watched (ignored ones; those of version control and
    /// Retake's own never are). `cookies` is a folder of Retake's own, outside the project, in
    /// which files are made and removed. Until the first [`FileWatcher::take_hint`] the hint is
    /// [`ChangeHint::Everything`]; it stays so where the system does not report changes, such as on a
    /// network file system, and [`WatchState::unavailable_reason`] says why.
    pub fn start(
        workspace: &Workspace,
        rules: &RuleSources,
        cookies: &Path,
        budget: WatchBudget,
    ) -> Result<Self, WatchError> {
        Self::start_with(native::open, workspace, rules, cookies, budget)
    }

    fn start_with(
        open: impl FnOnce(BackendSetup<'_>) -> Result<Box<dyn WatchBackend>, WatchUnavailable>,
        workspace: &Workspace,
        rules: &RuleSources,
        cookies: &Path,
        budget: WatchBudget,
    ) -> Result<Self, WatchError> {
        let root = workspace.root();
        let failed = |source| WatchError::System { root: root.to_owned(), source };
        let cookies = CookieFolder::open(cookies)
            .map_err(|source| WatchError::Cookies { folder: cookies.to_owned(), source })?;
        let hints = Arc::new(HintBuffer::default());
        let setup = BackendSetup {
            workspace: workspace.try_clone().map_err(failed)?,
            rules,
            cookies: cookies.folder(),
            budget,
            hints: Arc::clone(&hints),
        };
        let backend = match open(setup) {
            Ok(backend) => Some(backend),
            Err(WatchUnavailable::NotReported(why)) => {
                hints.disable(why);
                None
            }
            Err(WatchUnavailable::Failed(source)) => return Err(failed(source)),
        };
        hints.add_everything();
        let workspace = workspace.try_clone().map_err(failed)?;
        Ok(Self { backend, hints, cookies, workspace })
    }

    /// Blocks until every change made before this call is in the hint.
    ///
    /// On timeout or failure the hint becomes [`ChangeHint::Everything`].
    pub fn flush(&self, timeout: Duration) {
        if self.is_removed() {
            // There is no event: our descriptor keeps the folder alive, though no path leads to it.
            self.hints.disable("the project folder was removed".to_owned());
        }
        if self.hints.lock().covers_everything() {
            return;
        }
        let settled = match self.cookies.create_cookie() {
            Ok(number) => self.hints.wait_for_cookie(number, timeout),
            Err(error) => {
                let folder = self.cookies.folder().display();
                tracing::warn!(%folder, %error, "the watcher cannot make a file");
                false
            }
        };
        if !settled {
            self.hints.add_everything();
        }
    }

    /// Takes the hint; later changes go into a new one.
    pub fn take_hint(&self) -> ChangeHint {
        self.hints.lock().take_hint()
    }

    /// Takes the ignored names that changed since the last call, as far as their folders are
    /// watched; only some, if there are many.
    pub fn take_ignored(&self) -> BTreeSet<ProjectPath> {
        self.hints.lock().take_ignored()
    }

    /// Returns when the first event of a path in the last taken hint was read, in milliseconds of
    /// the system's clock; never earlier than the change.
    pub fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        self.hints.lock().first_seen(path)
    }

    /// Puts back a hint that could not be used; it is merged with later changes.
    pub fn put_back(&self, hint: ChangeHint) {
        self.hints.put_back(hint);
    }

    /// Applies changed rules: watches folders that are no longer ignored, unwatches those that
    /// now are.
    ///
    /// The hint becomes [`ChangeHint::Everything`] if watches were added, or if an event was dropped
    /// since the last [`FileWatcher::take_hint`] that may matter by the new rules.
    pub fn set_rules(&self, rules: &RuleSources) {
        if let Some(backend) = &self.backend {
            backend.set_rules(rules);
        }
    }

    /// Sets the paths that are tracked although the rules ignore them.
    ///
    /// Their folders are watched from now on; the caller has to scan them once after this call.
    pub fn set_always_tracked(&self, paths: BTreeSet<ProjectPath>) {
        if let Some(backend) = &self.backend {
            backend.set_always_tracked(paths);
        }
    }

    /// Returns since when the hint is not empty; `None` if it is (but for polled subtrees).
    pub fn pending(&self) -> Option<PendingSince> {
        self.hints.lock().pending()
    }

    /// Blocks until the hint is not empty (`true`) or the timeout has elapsed.
    pub fn wait_for_changes(&self, timeout: Duration) -> bool {
        self.waiter().wait(Some(timeout)) == WaitOutcome::Changed
    }

    /// Waits for changes without keeping the watcher alive.
    pub fn waiter(&self) -> ChangeWaiter {
        ChangeWaiter::new(Arc::clone(&self.hints))
    }

    /// The extent and the state of the watching.
    pub fn state(&self) -> WatchState {
        let root = self.root_state();
        let state = self.hints.lock();
        WatchState {
            watched: state.watched,
            polled: state.polled.iter().cloned().collect(),
            catching_up: state.covers_everything(),
            overflows: state.overflows,
            root,
            unavailable_reason: state.unavailable_reason.clone(),
        }
    }

    /// Asks the system instead of events: a folder above the root may have been moved.
    fn root_state(&self) -> RootState {
        let is_watched = |found: RootId| {
            let found = FolderId { device: found.device, inode: found.inode };
            self.stat().is_ok_and(|stat| FolderId::of(&stat) == found)
        };
        match root_id(self.workspace.root()) {
            Ok(found) if is_watched(found) => RootState::Here,
            Ok(_) => RootState::Replaced,
            Err(_) if self.is_removed() => RootState::Gone,
            Err(_) => RootState::Moved,
        }
    }

    fn is_removed(&self) -> bool {
        self.stat().is_ok_and(|stat| stat.st_nlink == 0)
    }

    fn stat(&self) -> Result<rustix::fs::Stat, rustix::io::Errno> {
        self.workspace.safe_root.root().and_then(rustix::fs::fstat)
    }
}
