//! Looks at a project when something moved in it and nobody asked.
//!
//! A burst is waited out, so that it is one look; what goes on for long is looked at in between.
//! What cannot be watched is looked at from time to time.

use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use retake_engine::model::Millis;
use retake_engine::{Looked, Watch, WatchState};

use super::Life;
use super::worker::Job;

/// A burst is over when nothing has happened for so long.
const QUIET: Duration = Duration::from_millis(150);
/// One that goes on is looked at after this.
const LONGEST: Duration = Duration::from_millis(600);
/// How often it is checked whether there is anything to wait for.
const TICK: Duration = Duration::from_secs(1);
/// git is in the middle of something, or the project is in use: that is over soon.
const AGAIN: Duration = Duration::from_millis(100);
/// How often what cannot be watched is looked at.
const POLL: Duration = Duration::from_secs(20);

/// Whoever looks around in a room, for as long as its watcher lives.
pub(super) struct Lookout {
    pub(super) watch: Weak<Watch>,
    pub(super) jobs: SyncSender<Job>,
    pub(super) clock: fn() -> Millis,
    pub(super) life: Arc<Life>,
}

impl Lookout {
    /// Begins, in a thread of its own.
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

    /// Whether there is something to look for that wakes nobody.
    fn is_time(&self, watch: &Watch, last: Instant, due: Option<Millis>) -> bool {
        let is_due = due.is_some_and(|due| due <= (self.clock)());
        is_due || (last.elapsed() >= POLL && cannot_see_all(&watch.state()))
    }

    /// Has the room's thread look; none if that failed, after a while.
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

/// Waits until a burst is over, or has gone on for long.
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
