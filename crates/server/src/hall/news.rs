//! Wakes whoever follows a project's events.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Counts the times that something may have been recorded.
#[derive(Debug, Default)]
pub struct News {
    count: Mutex<u64>,
    woken: Condvar,
    over: AtomicBool,
}

impl News {
    /// Something may have been recorded.
    pub fn tell(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.woken.notify_all();
    }

    /// There will be no more news: whoever follows stops.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.tell();
    }

    /// Whether there will be no more.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Waits for more news than these, but no longer than `patience`; gives their number.
    pub fn wait(&self, seen: u64, patience: Duration) -> u64 {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, _) = self
            .woken
            .wait_timeout_while(count, patience, |count| *count == seen)
            .unwrap_or_else(PoisonError::into_inner);
        *count
    }
}
