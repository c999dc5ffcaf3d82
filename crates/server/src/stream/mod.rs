//! Events as clients follow them: of one project, or of several in one stream.
//!
//! The event table is the stream: an event's `id:` is its `seq`, and there is no second model.
//! [`EventFollower`] reads it from any place on, [`StreamFilter`] chooses, a feed (`ProjectFeed`,
//! `SeveralFeed`) gives each event its `id:`, and `pump` writes frames into a bounded `queue` that the
//! connection drains. [`StreamHub`] says when there may be something to read.
//!
//! Invariants:
//! - The order of `seq` is the order of commits: it is given inside the write transaction, under
//!   the project's lock. So "everything after the last id that I have" misses nothing.
//! - A follower never reads ahead of what it has handed on, and never skips silently: if events
//!   that it has not seen were removed, it says so with a `reset`.
//! - A stream with nothing to send sleeps without a timer; one heartbeat serves all streams.
//! - A client that does not read costs a bounded queue for a bounded time, then it is let go. It
//!   resumes from the last id that it has.

mod compat;
mod cursor;
mod event;
mod feed;
mod filter;
mod follow;
mod frame;
mod hub;
mod limit;
mod pump;
mod queue;
mod record_watch;
mod several;

use std::time::Duration;

pub use cursor::{NotACursor, SeveralCursor};
pub use event::StreamEvent;
pub(crate) use feed::ProjectFeed;
pub use filter::{StreamFilter, StreamKind};
pub use follow::{EventFollower, StreamChoice, StreamStart};
pub use hub::{StreamHub, StreamNews, StreamSubscription, TouchedFile};
pub use limit::{MAX_STREAMS, StreamLimit, StreamPermit};
pub(crate) use pump::pump;
pub use queue::{FrameReceiver, FrameSender, QueueWaker, frame_queue};
pub(crate) use several::SeveralFeed;
pub use several::{MAX_FOLLOWED_PROJECTS, ProjectPredicate, SeveralStart};

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
