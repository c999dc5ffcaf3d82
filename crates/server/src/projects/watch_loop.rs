//! Scans a project when its watcher reports changes, without a request.
//!
//! Events are debounced, so that a burst costs one scan; a long burst is scanned in between.
//! Folders that cannot be watched are polled.

use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use retake_engine::model::Millis;
use retake_engine::{FileWatcher, RefreshOutcome, WatchState};

use super::IdleTracker;
use super::worker::ProjectJob;

/// Debounce: a burst ends when the watcher is quiet for this long.
const DEBOUNCE: Duration = Duration::from_millis(150);
/// Maximum debounce: a longer burst is scanned after this time.
const MAX_DEBOUNCE: Duration = Duration::from_millis(600);
/// Timeout of one wait for the watcher, after which due scans and polling are checked.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
/// Delay before a retry while git is at work or the project is locked.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Poll interval of folders that cannot be watched.
const POLL_INTERVAL: Duration = Duration::from_secs(20);

/// The watch loop of a project; ends with its watcher.
pub(super) struct WatchLoop {
    pub(super) watch: Weak<FileWatcher>,
    pub(super) jobs: SyncSender<ProjectJob>,
    pub(super) clock: fn() -> Millis,
    pub(super) idle: Arc<IdleTracker>,
}

impl WatchLoop {
    /// Starts the loop in its own thread.
    pub(super) fn spawn(self) {
        let spawned = thread::Builder::new().spawn(move || self.run());
        if let Err(error) = spawned {
            tracing::warn!("there is no thread to look around: {error}");
        }
    }

    fn run(self) {
        let mut last = Instant::now();
        let mut due = None;
        while let Some(watch) = self.watch.upgrade() {
            let has_changes = watch.wait_for_changes(TICK_INTERVAL);
            if has_changes {
                debounce(&watch);
            } else if !self.is_scan_due(&watch, last, due) {
                continue;
            }
            drop(watch);
            let Some(refreshed) = self.refresh() else { continue };
            if has_changes {
                self.idle.record_activity();
            }
            if refreshed.postponed {
                thread::sleep(RETRY_DELAY);
                continue;
            }
            (last, due) = (Instant::now(), refreshed.due);
        }
    }

    /// Returns whether a scan is due that no watcher event triggers.
    fn is_scan_due(&self, watch: &FileWatcher, last: Instant, due: Option<Millis>) -> bool {
        let is_due = due.is_some_and(|due| due <= (self.clock)());
        is_due || (last.elapsed() >= POLL_INTERVAL && is_partial(&watch.state()))
    }

    /// Has the project's worker scan; on failure waits for the retry delay, then `None`.
    fn refresh(&self) -> Option<RefreshOutcome> {
        let (done, wait) = mpsc::sync_channel(1);
        let clock = self.clock;
        let job = ProjectJob::call(move |project| {
            let refreshed = project.and_then(|project| Ok(project.refresh_in_background(clock())?));
            let _ = done.send(refreshed);
        });
        self.jobs.send(job).ok()?;
        match wait.recv() {
            Ok(Ok(refreshed)) => Some(refreshed),
            Ok(Err(failure)) => {
                tracing::debug!(code = %failure.code, "nothing was looked at");
                thread::sleep(TICK_INTERVAL);
                None
            }
            Err(_) => None,
        }
    }
}

/// Debounces: waits until a burst is over, or reached its maximum.
fn debounce(watch: &FileWatcher) {
    while let Some(pending) = watch.pending() {
        let left = DEBOUNCE
            .saturating_sub(pending.latest.elapsed())
            .min(MAX_DEBOUNCE.saturating_sub(pending.first.elapsed()));
        if left.is_zero() {
            return;
        }
        thread::sleep(left);
    }
}

fn is_partial(state: &WatchState) -> bool {
    state.unavailable_reason.is_some() || !state.polled.is_empty()
}
