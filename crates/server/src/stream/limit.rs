//! The limit of event streams of one project.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum event streams of one project.
pub const MAX_STREAMS: usize = 64;

/// Counter of a project's open streams.
#[derive(Debug, Default)]
pub struct StreamLimit {
    in_use: AtomicUsize,
}

impl StreamLimit {
    /// Acquires a permit, released when dropped; `None` at the limit.
    pub fn acquire(self: &Arc<Self>) -> Option<StreamPermit> {
        let one_more = |taken| (taken < MAX_STREAMS).then_some(taken + 1);
        let taken = self.in_use.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        taken.is_ok().then(|| StreamPermit(Arc::clone(self)))
    }

    /// Returns the number of open streams.
    pub fn in_use(&self) -> usize {
        self.in_use.load(Ordering::Acquire)
    }
}

/// A permit for one stream.
#[derive(Debug)]
pub struct StreamPermit(Arc<StreamLimit>);

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::AcqRel);
    }
}
