//! A work-sharing pool of tasks.
//!
//! Each worker has a stack of its own (last in, first out, so that it stays short) and gives away
//! half of it when another worker is idle: there is little lock contention, and no long idling.
//!
//! Invariant: a worker that panics leaves its tasks to the others, and no worker waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The tasks that any number of workers share.
pub(crate) struct WorkPool<T> {
    state: Mutex<WorkPoolState<T>>,
    wake: Condvar,
    /// A worker waits for work; read without the lock, so it may be stale for a moment.
    has_idle_worker: AtomicBool,
}

struct WorkPoolState<T> {
    waiting: Vec<T>,
    /// Number of workers that may still push tasks.
    busy: usize,
}

/// One worker's own stack of tasks.
pub(crate) struct WorkerQueue<'p, T> {
    pool: &'p WorkPool<T>,
    own: Vec<T>,
    busy: bool,
}

impl<T> WorkPool<T> {
    pub(crate) fn new(waiting: Vec<T>) -> Self {
        let state = Mutex::new(WorkPoolState { waiting, busy: 0 });
        Self { state, wake: Condvar::new(), has_idle_worker: AtomicBool::new(false) }
    }

    /// Adds a worker, with an empty stack.
    pub(crate) fn add_worker(&self) -> WorkerQueue<'_, T> {
        WorkerQueue { pool: self, own: Vec::new(), busy: false }
    }

    fn lock(&self) -> MutexGuard<'_, WorkPoolState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> WorkerQueue<'_, T> {
    /// Returns the next task; blocks while others may push some, `None` when all is done.
    pub(crate) fn next(&mut self) -> Option<T> {
        if self.pool.has_idle_worker.load(Ordering::Relaxed) && self.own.len() > 1 {
            self.give_away_half();
        }
        self.own.pop().or_else(|| self.wait())
    }

    /// Adds a task to this worker's stack.
    pub(crate) fn push(&mut self, work: T) {
        self.own.push(work);
    }

    /// Gives away the lower half: folders near the root have most beneath them.
    fn give_away_half(&mut self) {
        let half = self.own.len() / 2;
        let mut state = self.pool.lock();
        state.waiting.extend(self.own.drain(..half));
        self.pool.has_idle_worker.store(false, Ordering::Relaxed);
        drop(state);
        self.pool.wake.notify_all();
    }

    fn wait(&mut self) -> Option<T> {
        let mut state = self.pool.lock();
        state.busy -= usize::from(self.busy);
        self.busy = false;
        loop {
            if let Some(work) = state.waiting.pop() {
                state.busy += 1;
                self.busy = true;
                return Some(work);
            }
            if state.busy == 0 {
                drop(state);
                self.pool.wake.notify_all();
                return None;
            }
            self.pool.has_idle_worker.store(true, Ordering::Relaxed);
            state = self.pool.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Drop for WorkerQueue<'_, T> {
    fn drop(&mut self) {
        if self.busy {
            let mut state = self.pool.lock();
            state.waiting.append(&mut self.own);
            state.busy -= 1;
            drop(state);
            self.pool.wake.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts down from each number in steps, as a walk goes down into folders.
    fn work(pool: &WorkPool<u32>, panic_at: u32) -> u64 {
        let (mut share, mut done) = (pool.add_worker(), 0);
        while let Some(depth) = share.next() {
            assert_ne!(depth, panic_at, "on purpose");
            done += 1;
            (0..depth).for_each(|below| share.push(below));
        }
        done
    }

    #[test]
    fn everything_is_done_once_by_any_number_of_workers() {
        for workers in 1..5 {
            let pool = WorkPool::new(vec![12, 10]);
            let done: u64 = std::thread::scope(|scope| {
                let spawn = || scope.spawn(|| work(&pool, u32::MAX));
                let workers: Vec<_> = (0..workers).map(|_| spawn()).collect();
                workers.into_iter().map(|worker| worker.join().unwrap()).sum()
            });
            assert_eq!(done, 4096 + 1024);
        }
    }

    #[test]
    fn a_worker_that_panics_keeps_nobody_waiting() {
        let pool = WorkPool::new(vec![12]);
        let failed = std::thread::scope(|scope| {
            let workers = [(); 2].map(|()| scope.spawn(|| work(&pool, 11)));
            workers.into_iter().filter_map(|worker| worker.join().err()).count()
        });
        assert_eq!(failed, 1);
        assert!(pool.lock().waiting.is_empty(), "what it had is done by the other");
    }
}
