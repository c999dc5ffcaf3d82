//! Idle tracking and shutdown of the daemon.
//!
//! Invariants: requests in flight finish before shutdown, within a grace period; no request
//! starts after shutdown was requested.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Interval of the check that the daemon still holds its claim.
const CLAIM_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Returns the time until the next multiple of an interval, by the clock of the system: periodic
/// work of all threads falls on the same moments, so that an idle daemon wakes the machine once for
/// all of it.
pub(crate) fn until_next_tick(interval: Duration) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = Duration::from_nanos((now.as_nanos() % interval.as_nanos().max(1)) as u64);
    interval.saturating_sub(since).max(Duration::from_millis(1))
}

/// Counts requests in flight, and holds the shutdown request.
#[derive(Debug)]
pub struct IdleTracker {
    state: Mutex<IdleState>,
    changed: Condvar,
}

#[derive(Debug)]
struct IdleState {
    busy: usize,
    last_activity: Instant,
    /// Reason of the shutdown, once it is requested.
    shutdown_reason: Option<String>,
}

impl Default for IdleTracker {
    fn default() -> Self {
        let state = IdleState { busy: 0, last_activity: Instant::now(), shutdown_reason: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

/// Keeps the daemon from idling out while it is held.
#[derive(Debug)]
pub struct BusyGuard(Arc<IdleTracker>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        state.last_activity = Instant::now();
        drop(state);
        self.0.changed.notify_all();
    }
}

impl IdleTracker {
    fn lock(&self) -> MutexGuard<'_, IdleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a unit of work; `None` if a shutdown was requested.
    pub fn start_work(self: &Arc<Self>) -> Option<BusyGuard> {
        let mut state = self.lock();
        if state.shutdown_reason.is_some() {
            return None;
        }
        state.busy += 1;
        Some(BusyGuard(Arc::clone(self)))
    }

    /// Resets the idle timer, as when a file was changed.
    pub fn record_activity(&self) {
        self.lock().last_activity = Instant::now();
    }

    /// Requests the shutdown; the first reason counts.
    pub fn request_shutdown(&self, because: &str) {
        self.lock().shutdown_reason.get_or_insert_with(|| because.to_owned());
        self.changed.notify_all();
    }

    /// Returns whether a shutdown was requested.
    pub fn is_shutting_down(&self) -> bool {
        self.lock().shutdown_reason.is_some()
    }

    /// Blocks until a shutdown is requested, the daemon was idle for `idle`, or its claim is
    /// lost; returns the reason.
    pub(crate) fn wait_for_shutdown(&self, idle: Duration, has_place: &dyn Fn() -> bool) -> String {
        let mut state = self.lock();
        loop {
            if let Some(because) = &state.shutdown_reason {
                return because.clone();
            }
            let left = idle.saturating_sub(state.last_activity.elapsed());
            if state.busy == 0 && left.is_zero() {
                let because = "there was nothing to do".to_owned();
                return state.shutdown_reason.insert(because).clone();
            }
            if !has_place() {
                return state.shutdown_reason.insert("its home was removed".to_owned()).clone();
            }
            let check = until_next_tick(CLAIM_CHECK_INTERVAL);
            let pause = if state.busy == 0 { left.min(check) } else { check };
            let waited = self.changed.wait_timeout(state, pause);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Blocks until all work in flight is done; `false` if the timeout elapses first.
    pub(crate) fn drain(&self, timeout: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, |state| state.busy > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.busy == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_idle_while_something_is_done_and_nothing_begins_after_the_end() {
        let tracker = Arc::new(IdleTracker::default());
        let busy = tracker.start_work().unwrap();
        let waiting = Arc::clone(&tracker);
        let wait = std::thread::spawn(move || {
            waiting.wait_for_shutdown(Duration::from_millis(10), &|| true)
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!wait.is_finished(), "somebody is at work");
        drop(busy);
        assert_eq!(wait.join().unwrap(), "there was nothing to do");
        assert!(tracker.start_work().is_none());
        assert!(tracker.drain(Duration::ZERO));
    }
}
