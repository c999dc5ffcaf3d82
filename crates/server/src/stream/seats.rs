//! The limit of event streams of one project.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum event streams of one project.
pub const MOST_STREAMS: usize = 64;

/// Counter of a project's open streams.
#[derive(Debug, Default)]
pub struct Seats {
    taken: AtomicUsize,
}

impl Seats {
    /// Acquires a permit, released when dropped; `None` at the limit.
    pub fn take(self: &Arc<Self>) -> Option<Seat> {
        let one_more = |taken| (taken < MOST_STREAMS).then_some(taken + 1);
        let taken = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        taken.is_ok().then(|| Seat(Arc::clone(self)))
    }

    /// Returns the number of open streams.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

/// A permit for one stream.
#[derive(Debug)]
pub struct Seat(Arc<Seats>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}
