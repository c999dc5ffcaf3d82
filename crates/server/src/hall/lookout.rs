//! Scans a project when its watcher reports changes, without a request.
//!
//! Events are debounced, so that a burst costs one scan; a long burst is scanned in between.
//! Folders that cannot be watched are polled.

use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use retake_engine::model::Millis;
use retake_engine::{Looked, Watch, WatchState};

use super::Life;
use super::worker::Job;

/// Debounce: a burst ends when the watcher is quiet for this long.
const QUIET: Duration = Duration::from_millis(150);
/// Maximum debounce: a longer burst is scanned after this time.
const LONGEST: Duration = Duration::from_millis(600);
/// Timeout of one wait for the watcher, after which due scans and polling are checked.
const TICK: Duration = Duration::from_secs(1);
/// Delay before a retry while git is at work or the project is locked.
const AGAIN: Duration = Duration::from_millis(100);
/// Poll interval of folders that cannot be watched.
const POLL: Duration = Duration::from_secs(20);

/// The watch loop of a project; ends with its watcher.
pub(super) struct Lookout {
    pub(super) watch: Weak<Watch>,
    pub(super) jobs: SyncSender<Job>,
    pub(super) clock: fn() -> Millis,
    pub(super) life: Arc<Life>,
}

impl Lookout {
    /// Starts the loop in its own thread.
    pub(super) fn begin(self) {
        let spawned = thread::Builder::new().spawn(move || self.run());
        if let Err(error) = spawned {
            tracing::warn!("there is no thread to look around: {error}");
        }
    }

    fn run(self) {
        let mut last = Instant::now();
        let mut due = None;
        while let Some(watch) = self.watch.upgrade() {
            let moved = watch.wait(TICK);
            if moved {
                wait_out(&watch);
            } else if !self.is_time(&watch, last, due) {
                continue;
            }
            drop(watch);
            let Some(looked) = self.look() else { continue };
            if moved {
                self.life.touch();
            }
            if looked.postponed {
                thread::sleep(AGAIN);
                continue;
            }
            (last, due) = (Instant::now(), looked.due);
        }
    }

    /// Returns whether a scan is due that no watcher event triggers.
    fn is_time(&self, watch: &Watch, last: Instant, due: Option<Millis>) -> bool {
        let is_due = due.is_some_and(|due| due <= (self.clock)());
        is_due || (last.elapsed() >= POLL && cannot_see_all(&watch.state()))
    }

    /// Has the project's worker scan; on failure waits for the retry delay, then `None`.
    fn look(&self) -> Option<Looked> {
        let (done, wait) = mpsc::sync_channel(1);
        let clock = self.clock;
        let look = Job::work(move |project| {
            let looked = project.and_then(|project| Ok(project.look_around(clock())?));
            let _ = done.send(looked);
        });
        self.jobs.send(look).ok()?;
        match wait.recv() {
            Ok(Ok(looked)) => Some(looked),
            Ok(Err(failure)) => {
                tracing::debug!(code = %failure.code, "nothing was looked at");
                thread::sleep(TICK);
                None
            }
            Err(_) => None,
        }
    }
}

/// Debounces: waits until a burst is over, or reached its maximum.
fn wait_out(watch: &Watch) {
    while let Some(pending) = watch.pending() {
        let left = QUIET
            .saturating_sub(pending.latest.elapsed())
            .min(LONGEST.saturating_sub(pending.first.elapsed()));
        if left.is_zero() {
            return;
        }
        thread::sleep(left);
    }
}

fn cannot_see_all(state: &WatchState) -> bool {
    state.blind.is_some() || !state.polled.is_empty()
}
