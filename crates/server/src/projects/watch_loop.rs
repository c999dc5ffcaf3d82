//! Scans a project when its watcher reports changes, without a request.
//!
//! Events are debounced, so that a burst costs one scan; a long burst is scanned in between.
//! Folders that cannot be watched are polled. Files that were saved again within their minute are
//! told to followers at once, though they are recorded later.
//!
//! Invariant: while nothing changes and nothing is deferred, the loop sleeps without a timer.

use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use retake_engine::model::Millis;
use retake_engine::{ChangeWaiter, FileWatcher, RefreshOutcome, WaitOutcome, WatchState};

use super::job_queue::JobSender;
use super::worker::ProjectJob;
use super::{CommitSignal, IdleTracker};
use crate::daemon::idle::until_next_tick;

/// Debounce: a burst ends when the watcher is quiet for this long.
const DEBOUNCE: Duration = Duration::from_millis(150);
/// Maximum debounce: a longer burst is scanned after this time.
const MAX_DEBOUNCE: Duration = Duration::from_millis(600);
/// Interval of the check whether a deferred version is due.
const DUE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Delay before a retry while git is at work or the project is locked.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Delay before a retry after a failure, which doubles; after a few of them, the interval.
const FAILURE_DELAY: Duration = Duration::from_secs(1);
const MAX_SHORT_RETRIES: u32 = 3;
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Poll interval of folders that cannot be watched.
const POLL_INTERVAL: Duration = Duration::from_secs(20);

/// The watch loop of a project; ends with its watcher.
pub(super) struct WatchLoop {
    pub(super) watch: Weak<FileWatcher>,
    pub(super) waiter: ChangeWaiter,
    pub(super) jobs: JobSender,
    pub(super) clock: fn() -> Millis,
    pub(super) idle: Arc<IdleTracker>,
    pub(super) commits: CommitSignal,
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
        let mut failures = 0;
        loop {
            let waited = self.waiter.wait(self.pause(due));
            let has_changes = waited == WaitOutcome::Changed;
            let Some(watch) = self.watch.upgrade() else { return };
            if has_changes {
                debounce(&watch);
            } else if !self.is_scan_due(&watch, last, due) {
                continue;
            }
            drop(watch);
            let Some(refreshed) = self.refresh() else {
                thread::sleep(retry_delay(failures));
                failures += 1;
                continue;
            };
            failures = 0;
            if has_changes {
                self.idle.record_activity();
            }
            if refreshed.postponed {
                thread::sleep(RETRY_DELAY);
                continue;
            }
            self.commits.notify_touched(&refreshed.deferred, (self.clock)());
            (last, due) = (Instant::now(), refreshed.due);
        }
    }

    /// The timeout of the next wait; none if only the watcher can have anything to tell.
    fn pause(&self, due: Option<Millis>) -> Option<Duration> {
        if due.is_some() {
            return Some(DUE_CHECK_INTERVAL);
        }
        let watch = self.watch.upgrade()?;
        // All projects are polled at the same moment, so that they wake the machine once.
        is_partial(&watch.state()).then(|| until_next_tick(POLL_INTERVAL))
    }

    /// Returns whether a scan is due that no watcher event triggers.
    fn is_scan_due(&self, watch: &FileWatcher, last: Instant, due: Option<Millis>) -> bool {
        let is_due = due.is_some_and(|due| due <= (self.clock)());
        is_due || (last.elapsed() >= POLL_INTERVAL / 2 && is_partial(&watch.state()))
    }

    /// Has the project's worker scan; `None` on failure.
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
                None
            }
            Err(_) => None,
        }
    }
}

/// The delay after so many failures: a project whose folder is gone fails for ever.
fn retry_delay(failures: u32) -> Duration {
    if failures < MAX_SHORT_RETRIES {
        return FAILURE_DELAY * 2_u32.pow(failures);
    }
    until_next_tick(RETRY_INTERVAL)
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
