//! How many may follow one project at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More than these do not follow one project at once.
pub const MOST_STREAMS: usize = 64;

/// The seats of one project.
#[derive(Debug, Default)]
pub struct Seats {
    taken: AtomicUsize,
}

impl Seats {
    /// Takes a seat, until it is dropped; `None` if all are taken.
    pub fn take(self: &Arc<Self>) -> Option<Seat> {
        let one_more = |taken| (taken < MOST_STREAMS).then_some(taken + 1);
        let taken = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        taken.is_ok().then(|| Seat(Arc::clone(self)))
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

/// A seat that is taken.
#[derive(Debug)]
pub struct Seat(Arc<Seats>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}
