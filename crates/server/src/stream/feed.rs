//! What a stream sends, and the events of one project; [`super::SeveralFeed`] has those of several.

use std::sync::Arc;

use retake_engine::iso_8601;
use retake_engine::model::Millis;
use retake_service::ApiError;
use serde_json::{Value, json};

use super::event::absolute_path;
use super::filter::{FILE_TOUCHED, StreamFilter};
use super::{EventFollower, StreamEvent, StreamNews, StreamSubscription, TouchedFile};

/// An event with the `id:` after which a client resumes.
#[derive(Debug)]
pub(crate) struct FeedEvent {
    pub(super) event: StreamEvent,
    pub(super) cursor: String,
}

/// The source of a stream's events.
pub(crate) trait EventFeed: Send {
    /// The `id:` at which a client that has everything so far resumes.
    fn cursor(&self) -> String;
    /// Reads the next events after these signals; empty if there is nothing new for now.
    fn next_events(
        &mut self,
        news: &StreamNews,
        subscription: &StreamSubscription,
    ) -> Result<Vec<FeedEvent>, ApiError>;
    /// Returns true if there is more to read at once.
    fn has_more(&self) -> bool;
    /// The filter of the client.
    fn filter(&self) -> &StreamFilter;
    /// The hint that a file was saved; `None` if its project is not followed.
    fn touched_hint(&self, file: &TouchedFile, at: Millis) -> Option<Value>;
}

/// The events of one project; the `id:` is the place in its order.
#[derive(Debug)]
pub(crate) struct ProjectFeed {
    follower: EventFollower,
    filter: Arc<StreamFilter>,
}

impl ProjectFeed {
    /// Opens the record, and finds the place if it is now.
    pub(crate) fn start(
        mut follower: EventFollower,
        filter: Arc<StreamFilter>,
    ) -> Result<Self, ApiError> {
        follower.open_reader()?;
        if follower.position().is_none() {
            follower.next_events()?;
        }
        Ok(Self { follower, filter })
    }
}

impl EventFeed for ProjectFeed {
    fn cursor(&self) -> String {
        self.follower.position().unwrap_or_default().to_string()
    }

    fn next_events(
        &mut self,
        _news: &StreamNews,
        _subscription: &StreamSubscription,
    ) -> Result<Vec<FeedEvent>, ApiError> {
        let events = self.follower.next_events()?.into_iter();
        Ok(events.map(|event| FeedEvent { cursor: event.seq.to_string(), event }).collect())
    }

    fn has_more(&self) -> bool {
        self.follower.has_more()
    }

    fn filter(&self) -> &StreamFilter {
        &self.filter
    }

    fn touched_hint(&self, file: &TouchedFile, at: Millis) -> Option<Value> {
        Some(touched_fields(&self.follower, file, at))
    }
}

pub(super) fn touched_fields(follower: &EventFollower, file: &TouchedFile, at: Millis) -> Value {
    json!({
        "type": FILE_TOUCHED, "project": file.project, "at": at, "timestamp": iso_8601(at),
        "path": file.path.to_string(), "file_path": absolute_path(follower.root(), &file.path),
    })
}
