//! A project's events as clients follow them.
//!
//! The event table is the stream: an event's `id:` is its `seq`, and there is no second model.
//! [`EventFollower`] reads it from any place on, [`StreamFilter`] chooses, [`pump`] writes frames into a
//! bounded `queue` that the connection drains.
//!
//! Invariants:
//! - The order of `seq` is the order of commits: it is given inside the write transaction, under
//!   the project's lock. So "everything after the last id that I have" misses nothing.
//! - A follower never reads ahead of what it has handed on, and never skips silently: if events
//!   that it has not seen were removed, it says so with a `reset`.
//! - A client that does not read costs a bounded queue for a bounded time, then it is let go. It
//!   resumes from the last id that it has.

mod compat;
mod event;
mod filter;
mod follow;
mod frame;
mod limit;
mod pump;
mod queue;

use std::time::Duration;

pub use event::StreamEvent;
pub use filter::StreamFilter;
pub use follow::{EventFollower, StreamStart};
pub use limit::{MAX_STREAMS, StreamLimit, StreamPermit};
pub use pump::pump;
pub use queue::{FrameReceiver, FrameSender, frame_queue};

/// Heartbeat and timeout of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTiming {
    /// Something is sent at least this often, so that both sides know that the other is there.
    pub heartbeat: Duration,
    /// A client that takes nothing for this long while something waits for it is let go.
    pub read_timeout: Duration,
}

impl Default for StreamTiming {
    fn default() -> Self {
        Self { heartbeat: Duration::from_secs(15), read_timeout: Duration::from_secs(10) }
    }
}
