//! Follows a project's events from a `seq` on.
//!
//! A follower has a connection of its own to the store, and polls its data version. That is cheap
//! while there is no commit, and also sees commits of other processes. The signal of this process
//! only makes it poll sooner.

use std::sync::Arc;
use std::time::{Duration, Instant};

use retake_engine::{JournalEvent, Project};
use retake_service::{ApiError, Masking};
use serde_json::json;

use super::event::{EventRenderer, change_of};
use super::{StreamEvent, StreamFilter};
use crate::ProjectHandle;

/// Events per read; between reads the client's presence is checked.
const EVENTS_PER_PAGE: usize = 64;
/// Poll interval: maximum delay of events that another process recorded.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Where following starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStart {
    /// With what is recorded from now on.
    Now,
    /// With the first event after this place.
    After(u64),
}

/// A reader that follows a project's events.
#[derive(Debug)]
pub struct EventFollower {
    project: Arc<ProjectHandle>,
    reader: Project,
    filter: StreamFilter,
    compat: bool,
    position: u64,
    /// The store's version when it was last read.
    version: i64,
    /// The last page was full.
    has_more: bool,
    /// The signal's counter when it was last waited for.
    signal_seen: u64,
}

impl EventFollower {
    /// Starts to follow; `compat` adds the names that older designs gave to events (C-21).
    pub fn new(
        handle: Arc<ProjectHandle>,
        start: StreamStart,
        filter: StreamFilter,
        compat: bool,
    ) -> Result<Self, ApiError> {
        let reader = handle.reader()?;
        let signal_seen = handle.commits().wait_past(u64::MAX, Duration::ZERO);
        let position = match start {
            StreamStart::Now => reader.last_seq()?,
            StreamStart::After(seq) => seq,
        };
        Ok(Self {
            project: handle,
            reader,
            filter,
            compat,
            position,
            version: 0,
            has_more: true,
            signal_seen,
        })
    }

    /// Up to where the order has been read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns whether the project's streams were closed.
    pub fn is_closed(&self) -> bool {
        self.project.commits().is_closed()
    }

    /// Returns the next events; blocks for them, at most for `timeout`.
    pub fn next_events(&mut self, timeout: Duration) -> Result<Vec<StreamEvent>, ApiError> {
        let began = Instant::now();
        loop {
            // Asked before reading: what is committed in between is found the next time.
            let version = self.reader.data_version()?;
            if self.has_more || version != self.version {
                self.version = version;
                let rendered = self.read_page()?;
                if !rendered.is_empty() {
                    return Ok(rendered);
                }
            }
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() || self.is_closed() {
                return Ok(Vec::new());
            }
            if !self.has_more {
                self.signal_seen =
                    self.project.commits().wait_past(self.signal_seen, left.min(POLL_INTERVAL));
            }
        }
    }

    fn read_page(&mut self) -> Result<Vec<StreamEvent>, ApiError> {
        let page = self.reader.event_page(self.position, EVENTS_PER_PAGE)?;
        // A place that is not in this record: it was put back to an earlier state, or is another.
        let ahead = self.position > page.last;
        if ahead || self.position < page.removed {
            let (after, oldest) = (self.position, if ahead { page.last } else { page.removed });
            self.position = oldest;
            self.has_more = true;
            let data = json!({
                "type": "reset", "project": self.project.id(), "after": after, "oldest": oldest + 1,
            });
            return Ok(vec![StreamEvent { seq: oldest, entries: vec![("reset".into(), data)] }]);
        }
        self.has_more = page.has_more;
        let mut rendered = Vec::new();
        for event in page.events {
            rendered.extend(self.render(&event)?);
            self.position = event.seq;
        }
        Ok(rendered)
    }

    fn render(&self, event: &JournalEvent) -> Result<Option<StreamEvent>, ApiError> {
        let change = change_of(event).map(|id| self.reader.change(id)).transpose()?.flatten();
        if !self.filter.wants(event, change.as_ref()) {
            return Ok(None);
        }
        let masking = Masking::from(&self.reader.settings().api);
        let renderer = EventRenderer { project: &self.reader, compat: self.compat, masking };
        Ok(Some(renderer.render(event, change.as_ref())))
    }
}
