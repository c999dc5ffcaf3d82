//! The budget of inotify watches.
//!
//! The system counts watches per user, for all programs together; a process that takes them all
//! breaks editors and build tools. So at most half are taken, by all [`crate::FileWatcher`]s of the
//! process together, and other folders are polled (row 26).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of watches. Clones share it.
#[derive(Clone, Debug)]
pub struct WatchBudget {
    left: Arc<AtomicUsize>,
}

impl WatchBudget {
    /// A budget of this many watches.
    pub fn new(watches: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(watches)) }
    }

    /// Half of the user's limit.
    pub fn half_of_user_limit() -> Self {
        Self::new(user_watch_limit() / 2)
    }

    /// Takes one; `false` if none is left.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only inotify counts"))]
    pub(crate) fn try_take(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// Gives some back.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only inotify counts"))]
    pub(crate) fn give_back(&self, watches: usize) {
        self.left.fetch_add(watches, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }
}

/// The user's limit; a user namespace may have a lower one of its own.
#[cfg(target_os = "linux")]
fn user_watch_limit() -> usize {
    /// Default limit of Linux for years, where `/proc` does not say.
    const DEFAULT_MAX_WATCHES: usize = 8192;
    let read = |file| std::fs::read_to_string(file).ok()?.trim().parse::<usize>().ok();
    ["/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"]
        .into_iter()
        .filter_map(read)
        .min()
        .unwrap_or(DEFAULT_MAX_WATCHES)
}

/// Other systems have no limit.
#[cfg(not(target_os = "linux"))]
fn user_watch_limit() -> usize {
    usize::MAX
}
