//! The watcher: a hint where a scan should look, never the truth.
//!
//! On Linux it is a loop of our own on inotify (`linux`), elsewhere the crate notify
//! (`foreign`).
//!
//! Invariants: after [`Watch::settle`], the hint covers every change that was made before the call
//! to what the walk would look at; where that cannot be promised it is [`Hint::Everything`].
//! Writes that the system does not report are the exception: those through a memory map until the
//! file is closed, through a hard link in a folder that is not watched, and on other machines.

mod budget;
mod cookie;
#[cfg(any(test, not(target_os = "linux")))]
mod foreign;
mod hint;
#[cfg(target_os = "linux")]
mod linux;
mod sieve;
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

pub use budget::Budget;
use cookie::Cookies;
#[cfg(not(target_os = "linux"))]
use foreign as native;
use hint::Notes;
pub use hint::{Hint, Pending};
#[cfg(target_os = "linux")]
use linux as native;

use crate::beneath::FolderId;
use crate::{RootId, RuleSources, Workspace, root_id};

/// A watcher of one project root, with a thread of its own; ends when dropped.
#[derive(Debug)]
pub struct Watch {
    /// Ends its thread when dropped; `None` if there is nothing to be seen.
    eyes: Option<Box<dyn Eyes>>,
    notes: Arc<Notes>,
    cookies: Cookies,
    workspace: Workspace,
}

/// How much is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchState {
    /// How many folders are watched; always 0 where the system watches whole trees.
    pub watched: usize,
    /// Subtrees that could not be watched, for lack of budget or permission. They are in every
    /// hint, but their changes wake nobody.
    pub polled: Vec<ProjectPath>,
    /// Whether the next hint is [`Hint::Everything`].
    pub catching_up: bool,
    /// How often events were lost because there were too many.
    pub overflows: u64,
    /// What became of the root.
    pub root: RootState,
    /// Why nothing can be watched, so that every hint is [`Hint::Everything`].
    pub blind: Option<String>,
}

/// What is at the root's path now.
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

/// What sees the changes and writes them into the notes.
trait Eyes: Send + Sync + std::fmt::Debug {
    /// See [`Watch::set_rules`].
    fn set_rules(&self, rules: &RuleSources);
    /// See [`Watch::always`].
    fn set_always(&self, paths: BTreeSet<ProjectPath>);
}

/// Why there are no eyes.
#[derive(Debug)]
enum NoEyes {
    /// The system will not tell anything; that can be lived with.
    Blind(String),
    /// Something is wrong.
    Failed(io::Error),
}

impl From<io::Error> for NoEyes {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// What eyes need to open.
struct Sight<'a> {
    workspace: Workspace,
    rules: &'a RuleSources,
    /// The folder of cookies, canonical.
    cookies: &'a Path,
    budget: Budget,
    notes: Arc<Notes>,
}

impl Watch {
    /// Starts to watch.
    ///
    /// `rules` say which folders are not watched (ignored ones; those of version control and
    /// Retake's own never are). `cookies` is a folder of Retake's own, outside the project, in
    /// which files are made and removed. Until the first [`Watch::take`] the hint is
    /// [`Hint::Everything`]; it stays so where the system does not tell of changes, such as on a
    /// network file system, and [`WatchState::blind`] says why.
    pub fn start(
        workspace: &Workspace,
        rules: &RuleSources,
        cookies: &Path,
        budget: Budget,
    ) -> Result<Self, WatchError> {
        Self::start_with(native::open, workspace, rules, cookies, budget)
    }

    fn start_with(
        open: impl FnOnce(Sight<'_>) -> Result<Box<dyn Eyes>, NoEyes>,
        workspace: &Workspace,
        rules: &RuleSources,
        cookies: &Path,
        budget: Budget,
    ) -> Result<Self, WatchError> {
        let root = workspace.root();
        let failed = |source| WatchError::System { root: root.to_owned(), source };
        let cookies = Cookies::open(cookies)
            .map_err(|source| WatchError::Cookies { folder: cookies.to_owned(), source })?;
        let notes = Arc::new(Notes::default());
        let sight = Sight {
            workspace: workspace.try_clone().map_err(failed)?,
            rules,
            cookies: cookies.folder(),
            budget,
            notes: Arc::clone(&notes),
        };
        let eyes = match open(sight) {
            Ok(eyes) => Some(eyes),
            Err(NoEyes::Blind(why)) => {
                notes.go_blind(why);
                None
            }
            Err(NoEyes::Failed(source)) => return Err(failed(source)),
        };
        notes.add_everything();
        let workspace = workspace.try_clone().map_err(failed)?;
        Ok(Self { eyes, notes, cookies, workspace })
    }

    /// Waits until everything that happened before this call is in the hint.
    ///
    /// If that cannot be made sure within `patience`, the hint becomes [`Hint::Everything`].
    pub fn settle(&self, patience: Duration) {
        if self.is_removed() {
            // No event tells: our descriptor keeps the folder alive, though nobody can reach it.
            self.notes.go_blind("the project folder was removed".to_owned());
        }
        if self.notes.lock().tells_everything() {
            return;
        }
        let settled = match self.cookies.bake() {
            Ok(number) => self.notes.await_cookie(number, patience),
            Err(error) => {
                let folder = self.cookies.folder().display();
                tracing::warn!(%folder, %error, "the watcher cannot make a file");
                false
            }
        };
        if !settled {
            self.notes.add_everything();
        }
    }

    /// Takes the hint; what happens from now on goes into a new one.
    pub fn take(&self) -> Hint {
        self.notes.lock().take()
    }

    /// Takes the names that rules leave out and that moved since this was last asked, as far as
    /// their folders are watched; not all of them, if they are many.
    pub fn take_ignored(&self) -> BTreeSet<ProjectPath> {
        self.notes.lock().take_ignored()
    }

    /// When a path of the hint that was taken last was first seen to move, in milliseconds of the
    /// system's clock; that is not before it did.
    pub fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        self.notes.lock().first_seen(path)
    }

    /// Gives a hint back that could not be used; it joins what has come since.
    pub fn put_back(&self, hint: Hint) {
        self.notes.put_back(hint);
    }

    /// The rules have changed: watches folders that came into sight, leaves those that went out
    /// of it.
    ///
    /// The hint becomes [`Hint::Everything`] if folders came into sight, or if something was
    /// passed over since the last [`Watch::take`] that may matter by the new rules.
    pub fn set_rules(&self, rules: &RuleSources) {
        if let Some(eyes) = &self.eyes {
            eyes.set_rules(rules);
        }
    }

    /// Sets the paths that are tracked although the rules ignore them.
    ///
    /// Their folders are watched from now on; whoever sets them looks at them once more.
    pub fn always(&self, paths: BTreeSet<ProjectPath>) {
        if let Some(eyes) = &self.eyes {
            eyes.set_always(paths);
        }
    }

    /// Since when something is in the hint; `None` if nothing is (but for polled subtrees).
    pub fn pending(&self) -> Option<Pending> {
        self.notes.lock().pending()
    }

    /// Blocks until something is in the hint (`true`) or `patience` is over.
    pub fn wait(&self, patience: Duration) -> bool {
        self.notes.await_pending(patience)
    }

    /// How much is watched.
    pub fn state(&self) -> WatchState {
        let root = self.root_state();
        let state = self.notes.lock();
        WatchState {
            watched: state.watched,
            polled: state.polled.iter().cloned().collect(),
            catching_up: state.tells_everything(),
            overflows: state.overflows,
            root,
            blind: state.blind.clone(),
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
        rustix::fs::fstat(self.workspace.beneath.root())
    }
}
