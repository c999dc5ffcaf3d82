//! A condition variable with a counter: wakes the followers of a project's events.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Counter of possible commits, which followers wait on.
#[derive(Debug, Default)]
pub struct CommitSignal {
    count: Mutex<u64>,
    woken: Condvar,
    closed: AtomicBool,
}

impl CommitSignal {
    /// Signals that something may have been recorded.
    pub fn notify(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.woken.notify_all();
    }

    /// Closes the signal: followers stop.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.notify();
    }

    /// Returns whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Blocks until the counter differs from `seen` or `timeout` elapses; returns the counter.
    pub fn wait_past(&self, seen: u64, timeout: Duration) -> u64 {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, _) = self
            .woken
            .wait_timeout_while(count, timeout, |count| *count == seen)
            .unwrap_or_else(PoisonError::into_inner);
        *count
    }
}
